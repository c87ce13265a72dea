"""Requests that take long go in; they come out as they are, until the server is told to stop: then new questions are turned away, those that
run may end, and what has not ended in time is handed back in words that its client understands."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Iterator
from contextlib import contextmanager

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from .errors import ShuttingDown, body
from .replies import reply
from .scopes import ANSWERS, WATCHES

SAYS = "the server is shutting down: ask again in a few seconds"


class Closing:
    """Whether the server stops, and what is still open. `begin` and `hand_back` may be called by a signal's handler."""

    def __init__(self) -> None:
        self.begun = self.over = False
        self._open: dict[asyncio.Future[None], bool] = {}

    @property
    def answers(self) -> int:
        """Questions that are being answered."""
        return sum(answer for answer in self._open.values())

    def begin(self) -> None:
        """Take no new question; streams that never end by themselves end now."""
        self.begun = True
        self._end(answers=False)

    def hand_back(self) -> None:
        """End what is still open."""
        self.begun = self.over = True
        self._end(answers=True)

    def _end(self, answers: bool) -> None:
        for told, answer in list(self._open.items()):
            if answers or not answer:
                told.get_loop().call_soon_threadsafe(_settle, told)

    @contextmanager
    def _entered(self, answer: bool) -> Iterator[asyncio.Future[None]]:
        told: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._open[told] = answer
        try:
            yield told
        finally:
            del self._open[told]

    async def carry(self, app: ASGIApp, template: str, scope: Scope, receive: Receive, send: Send) -> None:
        """Run the application on this request, and end it in good order where the server stops before it does.

        Raises what the application raises, and ShuttingDown for a question that comes too late.
        """
        if template not in ANSWERS and template not in WATCHES:
            await app(scope, receive, send)
            return
        if self.begun:
            raise ShuttingDown(SAYS)
        sending, started, cut, streamed = asyncio.Lock(), False, False, False

        async def out(message: Message) -> None:
            nonlocal started, streamed
            async with sending:  # an event is whole, or not there
                if cut:
                    return
                if message["type"] == "http.response.start":
                    started = True
                    streamed = Headers(raw=message["headers"]).get("content-type", "").startswith("text/event-stream")
                await send(message)

        with self._entered(template in ANSWERS) as told:
            work = asyncio.ensure_future(app(scope, receive, out))
            try:
                await asyncio.wait({work, told}, return_when=asyncio.FIRST_COMPLETED)
            except BaseException:
                await _cancel(work)
                raise
            if work.done() or (started and not streamed):
                await work  # an answer that is out, or on its way in one piece
                return
            async with sending:
                cut = True
            # The application's own end stops the walk behind it.
            await _cancel(work)
            if not started:
                await reply(ShuttingDown(SAYS))(scope, receive, send)
            else:
                await send({"type": "http.response.body", "body": _last_words(template), "more_body": False})


def _last_words(template: str) -> bytes:
    """What a stream ends with. A watcher of jobs needs no words: it comes again, and sees where they stand."""
    if template in WATCHES:
        return b""
    name = b"" if template == "/v1/chat/completions" else b"event: failed\n"
    return name + b"data: " + json.dumps(body(ShuttingDown(SAYS))).encode() + b"\n\n"


def _settle(told: asyncio.Future[None]) -> None:
    if not told.done():
        told.set_result(None)


async def _cancel(work: asyncio.Future[None]) -> None:
    work.cancel()
    with contextlib.suppress(asyncio.CancelledError, Exception):
        await work
