"""Every HTTP request goes in; it is let through with a number and limits, or turned away, and its response goes out with safe headers.

Plain ASGI, not a wrapper around responses: a stream must reach the client piece by piece, and its disconnect the walk.
"""

from __future__ import annotations

import asyncio
import logging
import time
import uuid

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from .closing import Closing
from .entrance import Entrance
from .errors import AppError, MethodNotAllowed, RequestTooLarge, RequestTooSlow, Unauthorized
from .logs import REQUEST
from .replies import reply, reply_internal
from .scopes import UPLOADS, WATCHES, Place, place
from .settings import Settings
from .traffic import Traffic
from .watch import Traces, Untraced

SAFE = {
    "content-security-policy": (
        "default-src 'self'; img-src 'self' blob:; base-uri 'none'; object-src 'none'; form-action 'self'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
}
# What a multipart form adds to its files: boundaries, headers, the other fields.
FRAMING = 64 * 1024
# Bytes a second that a body must come at, behind its first `body_seconds`: drop by drop it would hold its place for hours.
SLOWEST = 1024
log = logging.getLogger("quire.http")


class Doors:
    """The outermost layer. It logs method, route, status and time, never a path's ids, a query, a body or a name."""

    def __init__(
        self,
        app: ASGIApp,
        settings: Settings,
        entrance: Entrance | None = None,
        closing: Closing | None = None,
        traffic: Traffic | None = None,
        traces: Traces | None = None,
    ) -> None:
        self.app, self.settings = app, settings
        self.entrance, self.closing, self.traffic = entrance or Entrance(settings), closing or Closing(), traffic or Traffic()
        self.traces: Traces = traces or Untraced()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        number = scope.setdefault("state", {})["request_id"] = uuid.uuid4().hex[:12]
        REQUEST.set(number)
        at = place(scope["method"], scope["path"])
        with self.traces.request(scope["method"], at.template, number) as told:
            told["http.response.status_code"] = await self._pass(scope, receive, send, number, at)

    async def _pass(self, scope: Scope, receive: Receive, send: Send, number: str, at: Place) -> int:
        """Let the request through, or turn it away; returns the status, 0 where its client went away before there was one."""
        begun, headers = time.perf_counter(), Headers(scope=scope)
        body, status, key = _Body(receive, self._limit(at), self.settings.body_seconds), 0, ""

        async def guarded(message: Message) -> None:
            nonlocal status
            if body.refused and not status:
                return  # what the app makes of a body that was cut off is not the answer
            if message["type"] == "http.response.start":
                status = message["status"]
                _dress(MutableHeaders(scope=message), number, self.entrance.shared(headers))
            await send(message)

        async def answer(response: Response) -> None:
            body.refused = None
            await response(scope, receive, guarded)

        self.traffic.open.inc()
        try:
            if allowed := self.entrance.preflight(scope["method"], headers):
                await answer(Response(status_code=204, headers=allowed))
                return status
            caller = self.entrance.admit(scope["method"], at, headers, (scope.get("client") or ("",))[0])
            key = scope["state"]["key"] = caller.key
            scope["state"]["recheck"] = lambda: self.entrance.recheck(caller)
            body.check(headers)
            asked = scope
            if scope["method"] == "HEAD" and at.scope is not None and at.template not in WATCHES:
                # Every route that is got has a head; uvicorn, which has seen the method, sends no body. A watch would have no end.
                asked = {**scope, "method": "GET"}
            await self.closing.carry(self.app, at.template, asked, body.receive, guarded)
        except AppError as error:
            if not status and not body.refused:
                scope["state"]["error"] = type(error).__name__
                await answer(_reply(error))
        except ClientDisconnect:
            log.info("the client went away before its request was whole")
        except Exception:
            if not body.refused:
                log.exception("%s %s failed", scope["method"], at.template)
                if status:
                    raise  # half an answer is out: only breaking the connection tells the client so
                scope["state"]["error"] = "InternalError"
                await answer(reply_internal(number))
        finally:
            if body.refused and not status:
                scope["state"]["error"] = type(body.refused).__name__
                await answer(_reply(body.refused))
            self.traffic.open.dec()
            seconds = time.perf_counter() - begun
            self.traffic.seen(at.template, scope["method"], status, seconds, scope["state"].get("error", ""))
            told = {"route": at.template, "method": scope["method"], "status": status, "ms": round(1000 * seconds), "key": key}
            log.info("%s %s %d %.0f ms", scope["method"], at.template, status, 1000 * seconds, extra=told)
        return status

    def _limit(self, at: Place) -> int:
        if at.template in UPLOADS:
            return self.settings.upload_bytes + FRAMING + 1024 * self.settings.request_files
        if at.template == "/v1/documents/text":
            return self.settings.upload_bytes + FRAMING
        # JSON may spell a character in twelve bytes; a question that is too long should reach the walk, which says so in characters.
        return max(2 * 1024 * 1024, 12 * self.settings.question_chars + FRAMING)


class _Body:
    """A request's body on its way in, counted and timed. `refused`: why it was cut off."""

    def __init__(self, receive: Receive, limit: int, patience: float) -> None:
        self._receive, self.limit, self.patience = receive, limit, patience
        self.refused: AppError | None = None
        self._seen, self._more, self._begun = 0, True, time.monotonic()

    def check(self, headers: Headers) -> None:
        """Refuse by the length that the head tells, before a byte is read. Raises RequestTooLarge."""
        length = headers.get("content-length", "0")
        if length.isdecimal() and int(length) > self.limit:
            raise self._too_large()
        # Nothing is waited for where no body comes: a stream's watcher would be cut off as a slow sender.
        self._more = "content-length" in headers or "transfer-encoding" in headers

    async def receive(self) -> Message:
        """Raises RequestTooLarge and RequestTooSlow."""
        if not self._more:
            return await self._receive()  # all that may come is that the client goes away
        left = self._begun + self.patience + self._seen / SLOWEST - time.monotonic()
        try:
            # A second at least: whoever was slow to read may find what came in time.
            message = await asyncio.wait_for(self._receive(), min(self.patience, max(1.0, left)))
        except TimeoutError:
            self.refused = RequestTooSlow(
                f"nothing, or too little, came of the request for {self.patience:g} seconds (body_seconds); send it again"
            )
            raise self.refused from None
        self._seen += len(message.get("body", b""))
        self._more = message.get("more_body", False)
        if self._seen > self.limit:
            self.refused = self._too_large()
            raise self.refused
        return message

    def _too_large(self) -> RequestTooLarge:
        return RequestTooLarge(f"the request has more than {self.limit:,} bytes, its limit (upload_bytes for files); send less at a time")


def _reply(error: AppError) -> Response:
    response = reply(error)
    if isinstance(error, Unauthorized):
        response.headers["www-authenticate"] = "Bearer"
    if isinstance(error, MethodNotAllowed):
        response.headers["allow"] = error.allow
    if isinstance(error, RequestTooSlow):
        response.headers["connection"] = "close"
    return response


def _dress(headers: MutableHeaders, number: str, shared: dict[str, str]) -> None:
    headers["x-request-id"] = number
    for name, value in {**SAFE, **shared}.items():
        headers.setdefault(name, value)
    # Answers and lists hold what documents say: no cache on the way keeps them unless a route says that it may.
    headers.setdefault("cache-control", "no-store")
