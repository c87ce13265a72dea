"""A blocking iterator goes in; server-sent events come out, with a heartbeat. When the client goes away, the iterator is stopped.

The walk runs in a thread of its own, for it holds the model for seconds; the event loop only carries what it says. A walk
that nobody listens to any more is told so by its `cancel` event, and decodes no further token.
"""

from __future__ import annotations

import asyncio
import contextvars
import logging
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, closing
from typing import Any, Generic, TypeVar

from pydantic import BaseModel
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from .errors import known, shape

T = TypeVar("T")
BEAT = 10.0  # seconds; proxies close connections that are silent for 30 to 60
FIRST = 5.0  # seconds to wait for the first event: until then an error still gets a status of its own
ROOM = 0.1  # seconds between two looks whether a slow client has read on
log = logging.getLogger("quire.http")


class Walk(Generic[T]):
    """A blocking generator on its way in a thread. `run` gets the event that asks it to stop."""

    def __init__(self, run: Callable[[threading.Event], Iterator[T]], ahead: int | None = None) -> None:
        """`ahead`: how many values may wait for a client that reads slowly, for a walk without an end; it stands still meanwhile. An answer
        never does: it would keep the model from everybody else."""
        self.cancel = threading.Event()
        self._ahead = ahead
        self._loop = asyncio.get_running_loop()
        self._said: asyncio.Queue[tuple[str, T | BaseException | None]] = asyncio.Queue()
        # With the request's context: what the walk logs carries the request's number.
        threading.Thread(target=contextvars.copy_context().run, args=(self._work, run), name="quire-walk", daemon=True).start()

    async def next(self, timeout: float | None = None) -> tuple[str, T | None]:
        """("item", value), ("end", None), or ("beat", None) when nothing was said for `timeout` seconds. Raises what the walk raised."""
        try:
            kind, value = await asyncio.wait_for(self._said.get(), timeout)
        except TimeoutError:
            return "beat", None
        if isinstance(value, BaseException):
            raise value
        return kind, value

    async def __aiter__(self) -> AsyncIterator[T]:
        while True:
            kind, value = await self.next()
            if kind == "end":
                return
            yield value  # type: ignore[misc]

    def _work(self, run: Callable[[threading.Event], Iterator[T]]) -> None:
        try:
            steps = run(self.cancel)
            with closing(steps):  # type: ignore[type-var]
                for value in steps:
                    self._say("item", value)
                    while self._ahead is not None and self._said.qsize() >= self._ahead and not self.cancel.wait(ROOM):
                        pass
                    if self.cancel.is_set():
                        break
        except BaseException as error:
            self._say("error", error)
        else:
            self._say("end", None)

    def _say(self, kind: str, value: T | BaseException | None) -> None:
        try:
            self._loop.call_soon_threadsafe(self._said.put_nowait, (kind, value))
        except RuntimeError:
            # The server's loop is closed: there is nobody to tell, and the walk should end too.
            self.cancel.set()


@asynccontextmanager
async def watched(request: Request, walk: Walk[T]) -> AsyncIterator[None]:
    """While open, a client that goes away cancels the walk; so does leaving by an error."""

    async def watch() -> None:
        while (await request.receive())["type"] != "http.disconnect":
            pass
        walk.cancel.set()

    watcher = asyncio.create_task(watch())
    try:
        yield
    except BaseException:
        walk.cancel.set()
        raise
    finally:
        watcher.cancel()


def named(name: str, data: BaseModel) -> str:
    """An event with its name. JSON in one line: a newline inside a string is escaped, so no text can begin an event of its own."""
    return f"event: {name}\ndata: {_line(data)}\n\n"


def unnamed(name: str, data: BaseModel) -> str:
    """An event without a name."""
    return f"data: {_line(data)}\n\n"


async def stream(
    request: Request,
    walk: Walk[T],
    encode: Callable[[T], tuple[str, BaseModel]],
    refuse: Callable[[T], Response | None] = lambda _: None,
    write: Callable[[str, BaseModel], str] = named,
    end: str = "",
    first: float = FIRST,
) -> Response:
    """The walk as a response: `encode` gives each value's name and body, `write` the event, and `end` stands behind the last one. `refuse`
    may turn the first value into another response: a failure with a status of its own; it is waited for `first` seconds before the response
    begins without it.

    Raises what the walk raises before its first value.
    """
    async with watched(request, walk):
        kind, value = await walk.next(first)
    if kind == "item" and (instead := refuse(value)) is not None:  # type: ignore[arg-type]
        walk.cancel.set()
        return instead
    return _Streamed(
        walk,
        _lines(walk, (kind, value), encode, getattr(request.state, "request_id", ""), write, end, getattr(request.state, "recheck", None)),
        media_type="text/event-stream",
        # Proxies (nginx) would gather the pieces otherwise.
        headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"},
    )


class _Streamed(StreamingResponse):
    """A response whose walk ends with it, whole or broken off: also where nothing of it was sent, when its generator was never begun and has
    nothing to clean up."""

    def __init__(self, walk: Walk[T], lines: AsyncIterator[str], **told: Any) -> None:
        super().__init__(lines, **told)
        self._walk = walk

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._walk.cancel.set()


async def _lines(
    walk: Walk[T],
    first: tuple[str, T | None],
    encode: Callable[[T], tuple[str, BaseModel]],
    number: str,
    write: Callable[[str, BaseModel], str] = named,
    end: str = "",
    recheck: Callable[[], None] | None = None,
) -> AsyncIterator[str]:
    """`recheck` raises where whoever listens may not any more; it is asked at least every `BEAT` seconds while there is something to say."""
    checked = time.monotonic()
    try:
        kind, value = first
        while kind != "end":
            if recheck is not None and (kind == "beat" or time.monotonic() - checked >= BEAT):
                recheck()
                checked = time.monotonic()
            yield ": beat\n\n" if kind == "beat" else write(*encode(value))  # type: ignore[arg-type]
            kind, value = await walk.next(BEAT)
        if end:
            yield end
    except Exception as error:
        found = known(error)
        if found is None:
            log.exception("request %s failed in its stream", number)
        told = (type(found).__name__, str(found)) if found else ("InternalError", f"internal error, request id {number}")
        yield write("failed", _Raw(**shape(*told)))


class _Raw(BaseModel):
    error: dict[str, object]


def _line(data: BaseModel) -> str:
    """JSON in one line, for every reader: JSON leaves these three as they are, and to many a client (`str.splitlines`, httpx) they end one."""
    return data.model_dump_json().translate(_ENDS)


_ENDS = {ord(sign): f"\\u{ord(sign):04x}" for sign in "\x85\u2028\u2029"}
