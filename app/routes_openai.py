"""Chat completions and models, for clients that speak the OpenAI interface."""

from __future__ import annotations

from fastapi import APIRouter
from fastapi.concurrency import run_in_threadpool
from pydantic import BaseModel
from starlette.requests import Request
from starlette.responses import Response

from . import bodies, bodies_chat
from .completions import Reply, asked, models
from .deps import HouseDep
from .errors import UnknownModel
from .replies import reply_named
from .routes_ask import CLIENT_WENT_AWAY
from .schema import problems
from .stream import Walk, stream, unnamed, watched
from .types import Done, Event, Failed

router = APIRouter(tags=["openai"])
IGNORED = "X-Quire-Ignored"
_CHUNKS = {
    "schema": {"type": "string", "description": "`data: ` and a chunk each, `data: [DONE]` at the end; comments are heartbeats."},
}
_HEADERS = {IGNORED: {"description": "What of the request was passed over, separated by commas.", "schema": {"type": "string"}}}


@router.post(
    "/chat/completions",
    response_model=bodies_chat.ChatCompletion,
    operation_id="create_chat_completion",
    responses={200: {"content": {"text/event-stream": _CHUNKS}, "headers": _HEADERS}, **problems(404, 409)},
)
async def complete(request: Request, response: Response, sent: bodies_chat.ChatRequest, house: HouseDep) -> object:
    """Answer the last user message from a collection. The message, or the last chunk, carries `citations`."""
    from .ask import answer

    wanted = await run_in_threadpool(asked, sent, house)
    headers = {IGNORED: ", ".join(wanted.ignored)} if wanted.ignored else {}
    reply = Reply(wanted.model, house.workshop.identity.fingerprint[:16])
    if sent.stream:
        usage = sent.stream_options is not None and bool(sent.stream_options.include_usage)
        chunks: Walk[bodies.Wire] = Walk(lambda cancel: reply.chunks(answer(wanted.question, house, cancel), usage))
        streamed = await stream(request, chunks, lambda chunk: ("", chunk), _refused, unnamed, "data: [DONE]\n\n")
        streamed.headers.update(headers)
        return streamed
    response.headers.update(headers)
    walk: Walk[Event] = Walk(lambda cancel: answer(wanted.question, house, cancel))
    async with watched(request, walk):
        async for event in walk:
            if isinstance(event, Done):
                return reply.whole(event.answer)
            if isinstance(event, Failed):
                return reply_named(event.type, event.message, event.retry_after)
    return Response(status_code=CLIENT_WENT_AWAY)


def _refused(first: BaseModel) -> Response | None:
    if not isinstance(first, bodies.ErrorBody):
        return None
    return reply_named(first.error.type, first.error.message, first.error.detail.get("retry_after"))


@router.get("/models", response_model=bodies_chat.ModelCards, operation_id="list_models")
def listed(house: HouseDep) -> bodies_chat.ModelCards:
    """The loaded model, alone (the collection "default") and with each of its collections."""
    return bodies_chat.ModelCards(data=models(house))


@router.get("/models/{model:path}", response_model=bodies_chat.ModelCard, operation_id="get_model_card", responses=problems(404))
def card(house: HouseDep, model: str) -> bodies_chat.ModelCard:
    """One of them."""
    for found in models(house):
        if found.id == model:
            return found
    raise UnknownModel(f"no model {model[:80]!a}: GET /v1/models lists those there are")
