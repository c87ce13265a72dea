"""Every HTTP request goes in; it is let through with a number and limits, or turned away, and its response goes out with safe headers.

Plain ASGI, not a wrapper around responses: a stream must reach the client piece by piece, and its disconnect the walk.
"""

from __future__ import annotations

import logging
import time
import uuid
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from .errors import AppError, ForeignHost, ForeignOrigin, RequestTooLarge
from .replies import reply, reply_internal
from .settings import Settings

# "testserver" is what Starlette's TestClient calls itself; no browser can be led to it by a name server.
OWN_NAMES = frozenset(["localhost", "127.0.0.1", "::1", "testserver"])
READING = frozenset(["GET", "HEAD", "OPTIONS"])
SAFE = {
    "content-security-policy": "default-src 'self'; base-uri 'none'; object-src 'none'; form-action 'self'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
}
# What a multipart form adds to its files: boundaries, headers, the other fields.
FRAMING = 64 * 1024
log = logging.getLogger("quire.http")


class Doors:
    """The outermost layer. It logs method, path, status and time, never a query, a body or a name."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self.app, self.settings = app, settings

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        begun = time.perf_counter()
        number = scope.setdefault("state", {})["request_id"] = uuid.uuid4().hex[:12]
        limit = self._limit(scope)
        seen, status, too_large = 0, 0, False

        async def counted() -> Message:
            nonlocal seen, too_large
            message = await receive()
            seen += len(message.get("body", b""))
            if seen > limit:
                too_large = True
                raise self._too_large(limit)
            return message

        async def guarded(message: Message) -> None:
            nonlocal status
            if too_large and not status:
                return  # what the app makes of a body that was cut off is not the answer
            if message["type"] == "http.response.start":
                status = message["status"]
                _dress(MutableHeaders(scope=message), number)
            await send(message)

        async def answer(response: Response) -> None:
            nonlocal too_large
            too_large = False
            await response(scope, receive, guarded)

        try:
            self._check(Headers(scope=scope), scope["method"], limit)
            await self.app(scope, counted, guarded)
        except AppError as error:
            if not status and not too_large:
                await answer(reply(error))
        except ClientDisconnect:
            log.info("request %s: the client went away before its request was whole", number)
        except Exception:
            if not too_large:
                log.exception("request %s: %s %s failed", number, scope["method"], scope["path"])
                if status:
                    raise  # half an answer is out: only breaking the connection tells the client so
                await answer(reply_internal(number))
        if too_large and not status:
            await answer(reply(self._too_large(limit)))
        log.info("%s %s %s %d %.0f ms", number, scope["method"], scope["path"], status, 1000 * (time.perf_counter() - begun))

    def _limit(self, scope: Scope) -> int:
        if scope["path"] == "/v1/documents":
            return self.settings.upload_bytes + FRAMING + 1024 * self.settings.request_files
        # JSON may spell a character in twelve bytes; a question that is too long should reach the walk, which says so in characters.
        return max(2 * 1024 * 1024, 12 * self.settings.question_chars + FRAMING)

    def _too_large(self, limit: int) -> RequestTooLarge:
        return RequestTooLarge(f"the request has more than {limit:,} bytes, its limit (upload_bytes for files); send less at a time")

    def _check(self, headers: Headers, method: str, limit: int) -> None:
        """Refuse by the headers alone, before a byte of the body is read."""
        host = headers.get("host", "")
        if self.settings.loopback and _name(host) not in OWN_NAMES:
            # A name server may point any name at 127.0.0.1; a page under that name would then read everything here.
            raise ForeignHost(
                f"this server answers to localhost and 127.0.0.1 alone, not to {host[:80]!a}; use one of these in the address"
            )
        origin = headers.get("origin")
        if method not in READING and origin is not None and _netloc(origin) != host.lower():
            # A form on any site can post here without asking first; only this server's own page may.
            raise ForeignOrigin(f"a page of {origin[:80]!a} cannot change anything here; use this server's own page")
        length = headers.get("content-length", "0")
        if length.isdecimal() and int(length) > limit:
            raise self._too_large(limit)


def _name(host: str) -> str:
    """`name`, `name:port` or `[::1]:port` -> the name."""
    return host[1:].partition("]")[0] if host.startswith("[") else host.partition(":")[0].lower()


def _netloc(origin: str) -> str:
    """What stands behind the scheme; "" for an origin that is none (`null`, half an IPv6 address), so that it is nobody's own."""
    try:
        return urlsplit(origin).netloc.lower()
    except ValueError:
        return ""


def _dress(headers: MutableHeaders, number: str) -> None:
    headers["x-request-id"] = number
    for name, value in SAFE.items():
        headers.setdefault(name, value)
    # Answers and lists hold what documents say: no cache on the way keeps them unless a route says that it may.
    headers.setdefault("cache-control", "no-store")
