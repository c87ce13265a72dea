"""An error goes in; the JSON response with its status comes out. The only place, besides the routes, that knows both sides."""

from __future__ import annotations

import math
from http import HTTPStatus

from fastapi.encoders import jsonable_encoder
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from .errors import BadRequest, body, known, row_named, row_of, shape

RETRY_AFTER = 2.0
WAITING = (HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE)


def reply(error: Exception) -> JSONResponse:
    """A known error's response; a 429 and a 503 say when to come back."""
    return _json(row_of(error).status, body(error), getattr(error, "retry_after", RETRY_AFTER))


def reply_named(kind: str, message: str, retry_after: float | None = None) -> JSONResponse:
    """The response to an error of which only type, sentence and when to come back came through (`Failed`)."""
    return _json(row_named(kind).status, shape(kind, message), RETRY_AFTER if retry_after is None else retry_after)


def reply_internal(request_id: str) -> JSONResponse:
    """A fault of ours: a number to look for in the log, and nothing of what went wrong."""
    return _json(500, shape("InternalError", internal(request_id), {"request": request_id}))


def internal(request_id: str) -> str:
    """What is told of a fault of ours."""
    return f"internal error, request id {request_id}: the server's log has the rest"


def _json(status: int, content: object, retry_after: float = RETRY_AFTER) -> JSONResponse:
    headers = {"Retry-After": str(math.ceil(retry_after))} if status in WAITING else None
    return JSONResponse(content, status, headers)


# -- handlers, as FastAPI calls them -----------------------------------------------------------------------------------------


async def on_error(request: Request, error: Exception) -> Response:
    """Errors of the rooms, and a full disk. Anything else goes on to the door, which logs it."""
    found = known(error)
    if found is None:
        raise error
    request.state.error = type(found).__name__  # what the doors count
    return reply(found)


async def on_http_error(request: Request, error: Exception) -> Response:
    """Starlette's own: no such address, a method that an address does not take, a body that is no JSON."""
    assert isinstance(error, HTTPException)
    phrase = HTTPStatus(error.status_code).phrase
    response = JSONResponse(shape(phrase.title().replace(" ", ""), _sentence(request, error)), error.status_code)
    response.headers.update(error.headers or {})
    return response


async def on_invalid(request: Request, error: Exception) -> Response:
    """A request whose fields are not as /openapi.json says. The values stay out of the answer: they may be a person's words."""
    assert isinstance(error, RequestValidationError)
    fields = {_field(problem["loc"]): str(problem["msg"]) for problem in jsonable_encoder(error.errors(), exclude={"input", "ctx"})}
    if "body" in fields and "json" not in request.headers.get("content-type", ""):
        fields["body"] = "it is read as JSON where the header says content-type: application/json"
    return reply(BadRequest("; ".join(f"{field}: {problem}" for field, problem in fields.items()), fields))


def _field(place: tuple[object, ...]) -> str:
    # The first part says where the field stands (body, query, path); whoever sent it knows.
    return ".".join(str(part) for part in place[1:]) or str(place[0])


def _sentence(request: Request, error: HTTPException) -> str:
    if error.status_code == HTTPStatus.NOT_FOUND:
        return f"there is nothing at {request.url.path}"
    if error.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
        return f"{request.url.path} does not take {request.method}"
    return str(error.detail)
