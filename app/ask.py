"""Walk 2, ask: a question goes in, events stream out. No page is rendered or encoded, and no context is prefilled, while a person waits."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Generator, Iterator

from cache_compiler.errors import CacheError
from ingest.errors import IngestError
from renderer.errors import RendererError
from retrieval.errors import EmptyCollection, EmptyQuestion, RetrievalError, UnknownDocument, UnknownPage
from retrieval.plan import make_plan

from .citations import cite, mark
from .context import Context, keys_of
from .engine import Decode
from .errors import AppError, QuestionTooLong
from .house import House
from .types import Answer, Compiling, Done, Event, Failed, Planned, Question, Timings, Token

# How often a question is begun before a deletion that took its page is its error.
_TRIES = 3
DOMAIN_ERRORS = (AppError, CacheError, IngestError, RendererError, RetrievalError)


def answer(question: Question, house: House, cancel: threading.Event | None = None) -> Iterator[Event]:
    """Retrieve, plan, fetch caches and patches, place, prefill the question, decode.

    Ends with `Done`, or with `Failed` for every error that a person can act on. Setting `cancel` stops the decoding: what was said
    so far is in the answer, its finish is "cancelled"; while the question still waits for its turn, it ends without a word. Closing
    the generator stops it where it is.
    """
    cancel = cancel or threading.Event()
    try:
        yield from _walk(question, house, cancel)
    except DOMAIN_ERRORS as error:
        house.watch.failed(type(error).__name__)
        yield Failed(type(error).__name__, str(error), getattr(error, "retry_after", None))


def _walk(question: Question, house: House, cancel: threading.Event) -> Iterator[Event]:
    arrived = time.perf_counter()
    _check(question, house)
    with house.lane.turn(cancel) as ours:
        if not ours:
            house.watch.cancelled()
            return
        done = yield from _until_it_stands(question, house, cancel, arrived)
    # Behind the lane: whoever forms a patch of it now finds the model free.
    house.patch_worker.note(keys_of(done.answer.plan))
    house.watch.answered(done.answer)
    yield done


def _until_it_stands(question: Question, house: House, cancel: threading.Event, arrived: float) -> Generator[Event, None, Done]:
    """The answer; begun anew, with another `Planned`, where a deletion took a page between the search and the fetch. That is nothing a person
    should hear of: the same question a moment later would not have found it. Every such error comes before the first word."""
    for tries_left in reversed(range(_TRIES)):
        generation = house.catalogue.generation(question.collection)
        try:
            with house.conversations.turn(question) as context:
                return (yield from _answer(question, house, context, cancel, arrived))
        except (UnknownDocument, UnknownPage):
            if not tries_left or house.catalogue.generation(question.collection) == generation:
                raise  # nobody deleted it: the home is not what the catalogue says
    raise AssertionError("the last try returns or raises")


def _answer(question: Question, house: House, context: Context, cancel: threading.Event, arrived: float) -> Generator[Event, None, Done]:
    begun = time.perf_counter()
    hits = house.retriever.search(question.text, question.collection, question.budget.top_k)
    retrieved = time.perf_counter()
    if not hits:
        # Without a page the model would still say something, and it would come from nowhere.
        raise EmptyCollection(f"collection {question.collection!r} has no documents; take some in first")
    plan = context.settle(make_plan(hits, question.budget))
    pages = {pick.page.key: house.catalogue.page(pick.page.key) for pick in plan.picks}
    documents = {pick.chunk.document: house.catalogue.document(pick.chunk.document) for pick in plan.picks}
    citations = cite(plan, documents, pages, "image" if house.backbone.reads_images else "text")
    planned = time.perf_counter()
    yield Planned(plan, citations)

    fetching = time.perf_counter()
    missing = context.fetch()
    if missing:
        yield Compiling(missing)
    context.load()
    loaded = time.perf_counter()
    ids = house.backbone.question_ids(question.text, context.history or question.history)
    assembly = context.place(len(ids) + question.sampling.max_tokens)
    placed = time.perf_counter()
    decode = Decode(house.backbone, assembly, ids, question.sampling, cancel)
    said: list[str] = []
    for piece in decode:
        if piece.text:
            said.append(piece.text)
            yield Token(piece.text)

    text = "".join(said).strip()
    if decode.finish != "cancelled":
        context.done(question.text, text)
    timings = Timings(
        retrieve=retrieved - begun,
        plan=planned - retrieved,
        load=loaded - fetching,
        place=placed - loaded,
        prefill=decode.seconds["prefill"],
        first_token=(planned - arrived) + (placed - fetching) + decode.seconds["prefill"],
        rest=decode.seconds["rest"],
    )
    provenance = context.provenance()
    logging.getLogger("quire.ask").info(
        "answered pages=%d patched=%d rows=%d first_token=%.4f finish=%s",
        len(plan.picks),
        sum(origin.patch is not None for origin in provenance),
        plan.rows,
        timings.first_token,
        decode.finish,
    )
    return Done(
        Answer(
            question=question.text,
            collection=question.collection,
            text=text,
            finish=decode.finish,
            tokens=len(decode.ids),
            model=house.backbone.name,
            plan=plan,
            citations=mark(citations, pages, question.text, text),
            provenance=provenance,
            timings=timings,
            conversation=context.turn,
            full_prefill=house.spared.of(assembly.length),
            prompt_tokens=assembly.length + len(ids),
        )
    )


def _check(question: Question, house: House) -> None:
    """Refuse before the lane is entered: an unknown collection, another model's collection, a question without text or too long."""
    if not question.text.strip():
        raise EmptyQuestion("the question is empty; ask something")
    limit = house.settings.question_chars
    if len(question.text) > limit:
        raise QuestionTooLong(
            f"the question has {len(question.text):,} characters, the limit is {limit:,} (question_chars); ask a shorter one"
        )
    house.workshop.collection(question.collection)
    if question.conversation is not None:
        house.conversations.require(question.conversation, question.collection)
