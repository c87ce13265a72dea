"""A chat request goes in; the question that it asks of a collection comes out. The walk's events go in; completions and chunks come out."""

from __future__ import annotations

import re
import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from itertools import pairwise

from cache_compiler.errors import CacheError, ContextTooLong
from retrieval.errors import EmptyQuestion, RetrievalError

from . import bodies, bodies_chat, wire
from .deps import House
from .errors import BadRequest, UnknownModel
from .types import MOST_TOKENS, Answer, Citation, Done, Event, Failed, Planned, Question, Token
from .words import question_text

# Characters that one token may stand for, seldom more: a history beyond that cannot fit, and is not worth tokenising.
TOKEN_CHARS = 16
# Unknown fields that are named as passed over: so many, with such names.
MOST_NAMED, _PLAIN = 20, re.compile(r"[A-Za-z0-9_.-]{1,64}")


@dataclass(frozen=True)
class Asked:
    """A question, the model id that it was asked of, and what of the request was passed over."""

    question: Question
    model: str
    ignored: tuple[str, ...] = ()


def asked(sent: bodies_chat.ChatRequest, house: House) -> Asked:
    """Raises UnknownModel, BadRequest (collections that differ, no question at the end), EmptyQuestion, ContextTooLong."""
    collection = _collection(sent, house)
    text, history, ignored = _turns(sent.messages)
    told = house.backbone.card.turns if house.backbone.template.turn is not None else 0
    if len(history) > told:
        # The model was not made for more of them.
        history = history[-told:] if told else ()
        ignored = (*ignored, "history")
    size, most = sum(len(asked) + len(answered) for asked, answered in history), TOKEN_CHARS * house.backbone.max_positions
    if size > most:
        raise ContextTooLong(f"the earlier messages have {size:,} characters, more than this model can hold ({most:,}); send fewer")
    wanted = sent.max_completion_tokens or sent.max_tokens
    question = house.question(
        question_text(text),
        collection,
        top_k=sent.top_k,
        alpha=sent.alpha,
        cap=sent.cap,
        max_tokens=None if wanted is None else min(wanted, MOST_TOKENS),
        # Of the likeliest tokens that make up nothing together, there is the first.
        temperature=0.0 if sent.top_p == 0 else sent.temperature or 0.0,
        top_p=sent.top_p or 1.0,
        seed=sent.seed,
        stop=(sent.stop,) if isinstance(sent.stop, str) else tuple(sent.stop or ()),
    )
    if history:
        tokens = len(house.backbone.question_ids(text, history)) + question.sampling.max_tokens
        if tokens > house.backbone.max_positions:
            # Before the lane: room for all of it would be taken first, and then there would be no place for the pages.
            raise ContextTooLong(
                f"the messages and the answer have {tokens:,} tokens, this model has {house.backbone.max_positions:,} positions; send fewer"
            )
    passed = tuple(name for name in bodies_chat.PASSED_OVER if getattr(sent, name) is not None)
    # A header holds few words, and plain ones alone: these are the client's own.
    unknown = tuple(name for name in sorted(sent.model_extra or ()) if _PLAIN.fullmatch(name))[:MOST_NAMED]
    return Asked(replace(question, history=history), f"{house.backbone.name}/{collection}", (*ignored, *passed, *unknown))


def _collection(sent: bodies_chat.ChatRequest, house: House) -> str:
    name = house.backbone.name
    if sent.model != name and not sent.model.startswith(f"{name}/"):
        raise UnknownModel(f"no model {sent.model[:80]!a}: this is {name!a}, or {name}/<collection>; GET /v1/models lists them")
    named = sent.model.removeprefix(name).removeprefix("/")
    if named and sent.collection not in (None, named):
        raise BadRequest(
            f"the model names the collection {named[:80]!a}, and `collection` another one; say it once",
            {"collection": "differs from model"},
        )
    return named or sent.collection or "default"


def _turns(messages: Sequence[bodies_chat.Message]) -> tuple[str, tuple[tuple[str, str], ...], tuple[str, ...]]:
    """(question, earlier pairs of question and answer, roles that are passed over). A turn that nobody answered, or asked, is no pair."""
    said = [message for message in messages if message.role in ("user", "assistant")]
    ignored = tuple(sorted({message.role for message in messages} - {"user", "assistant"}))
    if not said or said[-1].role != "user":
        raise BadRequest("the last message must be the user's: it is the question", {"messages": "no question at the end"})
    if not said[-1].text.strip():
        raise EmptyQuestion("the question is empty; ask something")
    pairs = [(first.text, second.text) for first, second in pairwise(said) if (first.role, second.role) == ("user", "assistant")]
    return said[-1].text, tuple(pairs), ignored


# -- what goes out ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Reply:
    """What all chunks of one completion have in common."""

    model: str
    fingerprint: str
    id: str = field(default_factory=lambda: f"chatcmpl-{uuid.uuid4().hex}")
    created: int = field(default_factory=lambda: int(time.time()))

    def whole(self, answer: Answer) -> bodies_chat.ChatCompletion:
        said = bodies_chat.Said(content=answer.text, citations=_cited(answer.citations))
        return bodies_chat.ChatCompletion(
            id=self.id,
            created=self.created,
            model=self.model,
            system_fingerprint=self.fingerprint,
            choices=[bodies_chat.Choice(message=said, finish_reason=_finished(answer))],
            usage=_usage(answer),
        )

    def chunks(self, events: Iterator[Event], usage: bool) -> Iterator[bodies.Wire]:
        """Chunk by chunk; a failure is an error's body."""
        begun = False
        with closing(events):  # type: ignore[type-var]
            for event in events:
                if isinstance(event, Planned) and not begun:
                    begun = True
                    yield self._chunk(bodies_chat.Delta(role="assistant", content=""))
                elif isinstance(event, Token):
                    yield self._chunk(bodies_chat.Delta(content=event.text))
                elif isinstance(event, Done):
                    yield self._chunk(bodies_chat.Delta(citations=_cited(event.answer.citations)), _finished(event.answer))
                    if usage:
                        yield self._chunk(None, usage=_usage(event.answer))
                elif isinstance(event, Failed):
                    yield wire.event(event)[1]

    def _chunk(
        self,
        delta: bodies_chat.Delta | None,
        finish: bodies_chat.Finished | None = None,
        usage: bodies_chat.Usage | None = None,
    ) -> bodies_chat.Chunk:
        return bodies_chat.Chunk(
            id=self.id,
            created=self.created,
            model=self.model,
            system_fingerprint=self.fingerprint,
            choices=[bodies_chat.ChunkChoice(delta=delta, finish_reason=finish)] if delta is not None else [],
            usage=usage,
        )


def models(house: House) -> list[bodies_chat.ModelCard]:
    """The loaded model over its default collection, and over each collection that was made for it."""
    born, name = int(house.watch.metrics.begun), house.backbone.name
    cards = [bodies_chat.ModelCard(id=name, created=born)]
    for row in house.catalogue.collections():
        try:
            house.workshop.collection(row.name)
        except (CacheError, RetrievalError):
            continue  # another model's: it cannot be asked here
        cards.append(bodies_chat.ModelCard(id=f"{name}/{row.name}", created=born))
    return cards


def _cited(citations: Sequence[Citation]) -> list[bodies_chat.Cited]:
    return [bodies_chat.Cited.model_validate(wire.citation(item).model_dump()) for item in citations]


def _finished(answer: Answer) -> bodies_chat.Finished:
    # A loop that was cut off is not an end that the model came to.
    return "stop" if answer.finish == "stop" else "length"


def _usage(answer: Answer) -> bodies_chat.Usage:
    prompt, completion = answer.prompt_tokens, answer.tokens
    return bodies_chat.Usage(prompt_tokens=prompt, completion_tokens=completion, total_tokens=prompt + completion)
