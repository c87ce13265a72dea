"""Log records go in; lines come out, for people or as JSON, each with the number of the request that it belongs to.

No line holds a question, an answer, a file's name or a document's text. So of an error that nobody drew, its type and its place are logged,
not its own words: they may quote what was being read. QUIRE_DEBUG=1 logs them too, for whoever looks for a fault at home.
"""

from __future__ import annotations

import json
import logging
import os
import sys
import time
import traceback
from contextvars import ContextVar
from types import TracebackType
from typing import Any, Literal

# The request in hand; the walk's thread is started with a copy of its context.
REQUEST: ContextVar[str] = ContextVar("quire_request", default="")
# What a record may carry besides its message.
FIELDS = ("route", "method", "status", "ms", "key")
# Libraries whose news is nobody's: which instruction set is loaded, each request of a client.
_QUIET = ("faiss", "httpx", "httpcore", "opentelemetry", "PIL", "pypdf", "fontTools")

_Told = tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]


class _Lines(logging.Formatter):
    converter = time.gmtime  # type: ignore[assignment]

    def formatException(self, ei: _Told) -> str:  # noqa: N802
        return faults(ei[1]) if ei[1] is not None else ""


class TextLines(_Lines):
    """One line a record, and a traceback below it where there is one."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(name)s %(levelname)s %(request)s%(message)s", "%Y-%m-%dT%H:%M:%SZ")

    def format(self, record: logging.LogRecord) -> str:
        number = REQUEST.get()
        record.request = f"{number} " if number else ""
        return super().format(record)


class JsonLines(_Lines):
    """One JSON object a line: time, level, logger, message; request_id, route, method, status, ms, key and error where there are such."""

    def format(self, record: logging.LogRecord) -> str:
        told: dict[str, Any] = {
            "time": f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(record.created))}.{int(record.msecs):03}Z",
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if number := REQUEST.get():
            told["request_id"] = number
        told.update({name: getattr(record, name) for name in FIELDS if getattr(record, name, None) not in (None, "")})
        if record.exc_info and record.exc_info[1] is not None:
            told["error"] = faults(record.exc_info[1])
        return json.dumps(told, ensure_ascii=False)


def faults(error: BaseException) -> str:
    """Where an error came from and what type it is, with what caused it; its own words only under QUIRE_DEBUG=1."""
    if os.environ.get("QUIRE_DEBUG") == "1":
        return "".join(traceback.format_exception(error)).rstrip()
    parts: list[str] = []
    seen: set[int] = set()
    link: BaseException | None = error
    while link is not None and id(link) not in seen:
        seen.add(id(link))
        kind = type(link)
        frames = "".join(traceback.format_tb(link.__traceback__))
        parts.append(f"Traceback (most recent call last):\n{frames}{kind.__module__}.{kind.__qualname__} (its words are left out)")
        link = link.__cause__ or (None if link.__suppress_context__ else link.__context__)
    return "\n\nbehind which came:\n".join(reversed(parts))


def begin(form: Literal["text", "json"]) -> None:
    """Let all records of this process go to stderr, in that form."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines() if form == "json" else TextLines())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.INFO)
    for name in _QUIET:
        logging.getLogger(name).setLevel(logging.WARNING)
