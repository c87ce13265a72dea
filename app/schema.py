"""What /openapi.json says besides the routes themselves: what can go wrong, with examples; limits from the settings; keys and their scopes."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from . import bodies
from .errors import shape
from .scopes import place
from .settings import Settings

DESCRIPTION = """Quire answers questions about documents from the KV caches of their pages, which were compiled when they came in.

Errors have one shape everywhere: `{"error": {"type", "message", "detail"}}`. Lists come in parts: `limit` rows, and `next`, a cursor to give
as `after`. A reply that says to come back later (429, 503) has `Retry-After` in seconds. Every reply has `X-Request-Id`.
"""
TAGS = {
    "answers": "Questions, answers, searches and conversations.",
    "documents": "Files and texts go in; documents come out, and go without a trace.",
    "collections": "Documents in groups: a question is asked of one of them.",
    "jobs": "An upload's way through ingest.",
    "pages": "The page images that the model reads, and the patches between them.",
    "house": "The model, and what the house holds and does.",
    "openai": "For clients of the OpenAI interface.",
    "health": "For whatever watches over the server.",
}
SECONDS = {"Retry-After": {"description": "Seconds after which to try again.", "schema": {"type": "integer", "minimum": 0}}}
NUMBER = {"X-Request-Id": {"description": "Names the request in the server's log.", "schema": {"type": "string"}}}
# One example for each status; the sentence of each error says what to do.
_EXAMPLES = {
    400: ("BadName", "the name '../a.txt' steps out of its folder with \"..\": send the file's own name"),
    401: ("Unauthorized", "this needs a key: send it as `Authorization: Bearer qk_...`"),
    403: ("Forbidden", "this key cannot do that: it needs the scope write"),
    404: ("UnknownDocument", "no document 5f...: it was deleted or replaced"),
    405: ("MethodNotAllowed", "/v1/ask does not take PUT"),
    408: ("RequestTooSlow", "the request did not come to its end in time; send it again"),
    409: ("IdentityMismatch", "the collection was made for another model; ingest into a new one"),
    413: ("RequestTooLarge", "the request has more bytes than its limit; send less at a time"),
    415: ("UnsupportedType", "files of this kind cannot be read"),
    421: ("ForeignHost", "this server answers to localhost and 127.0.0.1 alone"),
    422: ("BadRequest", "top_k: Input should be less than or equal to 64"),
    429: ("TooManyRequests", "more requests than a minute may have; wait"),
    500: ("InternalError", "internal error, request id 0123456789ab: the server's log has the rest"),
    503: ("Busy", "8 questions are waiting already, the limit (queue); try again in a few seconds"),
    507: ("DiskFull", "there is no room left on the disk that holds the home"),
}
# What any address under /v1 may answer.
EVERYWHERE = (400, 401, 403, 404, 405, 408, 413, 421, 422, 429, 500, 503)
# No type: some readers take the stream for a string, others for its events.
EVENTS: dict[str, Any] = {"schema": {"description": "Server-sent events; comments are heartbeats."}}


def problems(*codes: int) -> dict[int | str, dict[str, Any]]:
    """The responses of a route that may fail with these statuses."""
    return {
        code: {
            "model": bodies.ErrorBody,
            "description": _EXAMPLES[code][0],
            "content": {"application/json": {"example": shape(*_EXAMPLES[code])}},
            **({"headers": SECONDS} if code in (429, 503) else {}),
        }
        for code in codes
    }


def _raw(code: int) -> dict[str, Any]:
    """The same as it stands in a schema."""
    told = dict(problems(code)[code])
    model = told.pop("model")
    content = {"schema": {"$ref": f"#/components/schemas/{model.__name__}"}, **told["content"]["application/json"]}
    return {**told, "content": {"application/json": content}}


def complete(app: FastAPI, settings: Settings) -> dict[str, Any]:
    """The whole schema of the application, made once: with the limits that these settings set, keys, tags and common headers."""
    if app.openapi_schema is None:
        schema = get_openapi(
            title=app.title,
            version=app.version,
            summary="Answers from page caches that were compiled beforehand",
            description=DESCRIPTION,
            routes=app.routes,
            tags=[{"name": name, "description": text} for name, text in TAGS.items()],
            separate_input_output_schemas=False,
        )
        _limit(schema["components"]["schemas"], schema["paths"], settings)
        _lock(schema)
        for path in schema["paths"].values():
            for operation in path.values():
                for code in EVERYWHERE:
                    operation["responses"].setdefault(str(code), _raw(code))
                for response in operation["responses"].values():
                    response["headers"] = {**response.get("headers", {}), **NUMBER}
        app.openapi_schema = schema
    return app.openapi_schema


def _limit(models: dict[str, Any], paths: dict[str, Any], settings: Settings) -> None:
    """Limits that are settings: the code that holds them says so in words of its own, and the schema in numbers."""
    most = {
        ("AskRequest", "question"): settings.question_chars,
        ("SearchRequest", "query"): settings.question_chars,
        ("TextRequest", "text"): settings.text_chars,
    }
    for (model, field), limit in most.items():
        models[model]["properties"][field]["maxLength"] = limit
    files = paths["/v1/documents"]["post"]["requestBody"]
    form = files["content"]["multipart/form-data"]["schema"]["properties"]
    form["files"]["maxItems"] = settings.request_files
    form["files"]["items"]["maxLength"] = int(settings.file_bytes)
    files["description"] = (
        f"{int(settings.file_bytes):,} bytes a file, {int(settings.upload_bytes):,} bytes and {settings.request_files} files a request."
    )


def _lock(schema: dict[str, Any]) -> None:
    """Say which operation needs a key of which scope; none is needed on a server of this machine alone that has no keys."""
    schema["components"]["securitySchemes"] = {
        "key": {
            "type": "http",
            "scheme": "bearer",
            "bearerFormat": "qk_...",
            "description": "A key of `quire key create`. Scopes: read, ask, write. Not needed on loopback while there is no key.",
        }
    }
    for address, path in schema["paths"].items():
        for method, operation in path.items():
            needed = place(method.upper(), address)
            if not needed.public:
                operation["security"] = [{"key": [needed.scope]}, {}]
