"""A question goes in by HTTP; its answer comes out, whole or as it is decoded; and the page images it was read from."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Header, Query
from starlette.requests import Request
from starlette.responses import Response

from retrieval.errors import UnknownPage

from . import bodies, bodies_answer, wire
from .deps import HouseDep, SettingsDep
from .replies import reply_named
from .stream import Walk, stream, watched
from .types import Done, Event, Failed
from .words import question_text

router = APIRouter(tags=["answers"])
# What nginx writes when nobody is there to read the answer.
CLIENT_WENT_AWAY = 499


@router.post("/ask", response_model=bodies_answer.Answer, responses={200: {"content": {"text/event-stream": {}}}})
async def ask(
    request: Request, asked: bodies.AskRequest, house: HouseDep, accept: Annotated[str, Header()] = ""
) -> bodies_answer.Answer | Response:
    """Answer from a collection. With `stream` (or `Accept: text/event-stream`): events `planned`, `token`, `done`, or `failed`.

    With `conversation`, an id of the client's own choosing: the pages of earlier questions under it stay where they are. Whoever knows
    the id can go on with it, so choose one that nobody guesses.
    """
    from .ask import answer

    question = house.question(question_text(asked.question), asked.collection, **asked.choices())
    walk: Walk[Event] = Walk(lambda cancel: answer(question, house, cancel))
    if asked.stream or "text/event-stream" in accept:
        return await stream(request, walk, wire.event, _refused)
    async with watched(request, walk):
        async for event in walk:
            if isinstance(event, Done):
                return wire.answer(event.answer)
            if isinstance(event, Failed):
                return reply_named(event.type, event.message)
    return Response(status_code=CLIENT_WENT_AWAY)


def _refused(event: Event) -> Response | None:
    return reply_named(event.type, event.message) if isinstance(event, Failed) else None


@router.delete("/conversations/{conversation}", status_code=204, response_class=Response)
def forget(request: Request, house: HouseDep, conversation: str) -> Response:
    """Forget a conversation: its pages, questions and answers. There is no list of them: their ids are secrets."""
    request.scope["path"] = "/v1/conversations/…"  # what the doors write into the log
    house.conversations.drop(conversation)
    return Response(status_code=204)


@router.get("/pages/{key}.png", response_class=Response, responses={200: {"content": {"image/png": {}}}, 304: {}})
def image(
    house: HouseDep,
    settings: SettingsDep,
    key: str,
    dpi: Annotated[int | None, Query()] = None,
    if_none_match: Annotated[str, Header()] = "",
) -> Response:
    """The very image that the model reads. `dpi` left out: the higher of the two."""
    wanted = settings.high if dpi is None else dpi
    if wanted not in house.workshop.dpis:
        raise UnknownPage(f"pages are kept at {' and '.join(map(str, house.workshop.dpis))} DPI, not at {wanted}")
    house.catalogue.page(key)
    path = house.workshop.images.path(f"{key}@{wanted}")
    # The key is a hash of what is on the page, so an image under it never changes. Private: it is somebody's document.
    headers = {"ETag": f'"{key}@{wanted}"', "Cache-Control": "private, max-age=31536000, immutable"}
    if headers["ETag"] in if_none_match:
        return Response(status_code=304, headers=headers)
    try:
        return Response(path.read_bytes(), media_type="image/png", headers=headers)
    except FileNotFoundError:
        raise UnknownPage(f"{key} at {wanted} DPI: the image is missing from the home; `quire repair` draws it again") from None


@router.get("/pages/{key}", response_model=bodies.Page)
def page(house: HouseDep, key: str) -> bodies.Page:
    """A page's lines with their boxes in points, and the documents it stands in."""
    row = house.catalogue.page(key)
    owners = house.catalogue.chunks(house.catalogue.chunk_ids_of_page(key))
    return wire.page(row, sorted({chunk.document for chunk in owners}))
