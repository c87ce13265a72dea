"""A question goes in by HTTP; its answer comes out, whole or as it is decoded; or what a search finds, without an answer."""

from __future__ import annotations

from contextlib import suppress
from typing import Annotated

from fastapi import APIRouter, Header
from starlette.requests import Request
from starlette.responses import Response

from retrieval.errors import UnknownDocument

from . import bodies_answer, bodies_documents, wire
from .deps import HouseDep, SettingsDep
from .errors import QuestionTooLong
from .replies import reply_named
from .schema import EVENTS, problems
from .stream import Walk, stream, watched
from .types import Done, Event, Failed
from .words import question_text

router = APIRouter(tags=["answers"])
# What nginx writes when nobody is there to read the answer.
CLIENT_WENT_AWAY = 499


@router.post(
    "/ask",
    response_model=bodies_answer.Answer,
    operation_id="ask",
    responses={200: {"content": {"text/event-stream": EVENTS}}, **problems(404, 409)},
)
async def ask(
    request: Request, asked: bodies_answer.AskRequest, house: HouseDep, accept: Annotated[str, Header()] = ""
) -> bodies_answer.Answer | Response:
    """Answer from a collection. With `stream` (or `Accept: text/event-stream`): events `planned`, `compiling`, `token`, `done`, or `failed`.

    With `conversation`, an id of the client's own choosing: the pages of earlier questions under it stay where they are. Whoever knows
    the id can go on with it, so choose one that nobody guesses.
    """
    from .ask import answer

    question = house.question(question_text(asked.question), asked.collection, **asked.choices())
    house.spared.wanted()
    walk: Walk[Event] = Walk(lambda cancel: answer(question, house, cancel))
    if asked.stream or "text/event-stream" in accept:
        return await stream(request, walk, wire.event, refused)
    async with watched(request, walk):
        async for event in walk:
            if isinstance(event, Done):
                return wire.answer(event.answer)
            if isinstance(event, Failed):
                return reply_named(event.type, event.message, event.retry_after)
    return Response(status_code=CLIENT_WENT_AWAY)


def refused(event: Event) -> Response | None:
    """A failure before anything else was said has a status of its own."""
    return reply_named(event.type, event.message, event.retry_after) if isinstance(event, Failed) else None


@router.post("/search", response_model=bodies_documents.Hits, operation_id="search", responses=problems(404, 409))
def search(house: HouseDep, settings: SettingsDep, sought: bodies_documents.SearchRequest) -> bodies_documents.Hits:
    """The pages that fit a query best, by meaning and by words in turn, without an answer: the model is not asked, and nobody waits for it."""
    limit = settings.question_chars
    if len(sought.query) > limit:
        raise QuestionTooLong(f"the query has {len(sought.query):,} characters, the limit is {limit:,} (question_chars); shorten it")
    found = house.retriever.search(sought.query, sought.collection, sought.top_k)
    high, hits = max(house.workshop.dpis), []
    for hit in sorted((hit for hit in found if hit.chunk.pages), key=lambda hit: hit.rank):
        with suppress(UnknownDocument):  # deleted since it was found
            hits.append(wire.hit(hit, house.catalogue.document(hit.chunk.document).name, high))
    return bodies_documents.Hits(hits=hits)


@router.delete(
    "/conversations/{conversation}",
    status_code=204,
    response_class=Response,
    operation_id="forget_conversation",
    responses=problems(404),
)
def forget(house: HouseDep, conversation: str) -> Response:
    """Forget a conversation: its pages, questions and answers. There is no list of them: their ids are secrets."""
    house.conversations.drop(conversation)
    return Response(status_code=204)
