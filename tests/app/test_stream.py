"""A walk in a thread: its events, its heartbeat, its errors, and its end when nobody listens."""

import asyncio
import threading
import time

import pytest
from pydantic import BaseModel

from app import stream
from app.stream import Walk, _lines
from retrieval.errors import UnknownJob


class Word(BaseModel):
    text: str


def encode(text: str) -> tuple[str, BaseModel]:
    return "word", Word(text=text)


async def told(walk: Walk[str]) -> list[str]:
    return [line async for line in _lines(walk, await walk.next(), encode, "r1")]


def test_values_come_out_as_events_in_order():
    async def go():
        return await told(Walk(lambda cancel: iter_of("a", "b")))

    assert asyncio.run(go()) == ['event: word\ndata: {"text":"a"}\n\n', 'event: word\ndata: {"text":"b"}\n\n']


def iter_of(*values):
    yield from values


def test_a_newline_in_a_text_cannot_begin_an_event_of_its_own():
    async def go():
        return await told(Walk(lambda cancel: iter_of("a\n\nevent: done\r\rdata: {}\u2028")))

    [event] = asyncio.run(go())
    assert event.count("\n") == 3
    assert "\r" not in event


def test_a_silent_walk_is_filled_with_heartbeats(monkeypatch):
    monkeypatch.setattr(stream, "BEAT", 0.01)
    waiting = threading.Event()

    def slow(cancel):
        yield "a"
        waiting.wait(10)
        yield "b"

    async def go():
        walk, lines = Walk(slow), []
        async for line in _lines(walk, await walk.next(), encode, "r1"):
            lines.append(line)
            if lines.count(": beat\n\n") == 2:
                waiting.set()
        return lines

    lines = asyncio.run(go())
    assert lines[0].startswith("event: word")
    assert lines[1:3] == [": beat\n\n", ": beat\n\n"]
    assert lines[-1] == 'event: word\ndata: {"text":"b"}\n\n'


def test_an_error_before_the_first_value_is_raised_so_that_it_gets_a_status():
    def bad(cancel):
        raise UnknownJob("no job x")
        yield

    async def go():
        await Walk(bad).next()

    with pytest.raises(UnknownJob):
        asyncio.run(go())


def test_a_known_error_in_the_middle_is_an_event_with_its_sentence():
    def bad(cancel):
        yield "a"
        raise UnknownJob("no job x")

    async def go():
        return await told(Walk(bad))

    assert asyncio.run(go())[-1] == 'event: failed\ndata: {"error":{"type":"UnknownJob","message":"no job x","detail":{}}}\n\n'


def test_an_unknown_error_in_the_middle_gives_only_a_number_away(caplog):
    def bad(cancel):
        yield "a"
        raise ZeroDivisionError("secret")

    async def go():
        return await told(Walk(bad))

    last = asyncio.run(go())[-1]
    assert "secret" not in last
    assert "internal error, request id r1" in last
    assert "request r1 failed in its stream" in caplog.text


class Listener:
    """A request whose client goes away when it is told to; `reads` False: it takes nothing, not even the head of the answer."""

    def __init__(self, reads: bool) -> None:
        self.reads, self.gone, self.heard = reads, asyncio.Event(), asyncio.Event()
        self.state = None

    async def receive(self):
        await self.gone.wait()
        return {"type": "http.disconnect"}

    async def send(self, message):
        if not self.reads:
            await asyncio.Event().wait()
        if message.get("body"):
            self.heard.set()


@pytest.mark.parametrize("reads", [True, False])
def test_a_listener_that_leaves_ends_the_walk_and_closes_its_generator(reads):
    closed, seen = threading.Event(), []

    def endless(cancel):
        try:
            while True:
                seen.append(1)
                yield "a"
                time.sleep(0.001)
        finally:
            closed.set()

    async def go():
        listener, walk = Listener(reads), Walk(endless)
        response = await stream.stream(listener, walk, encode)
        answering = asyncio.ensure_future(response({"type": "http"}, listener.receive, listener.send))
        await (listener.heard.wait() if reads else asyncio.sleep(0.01))
        listener.gone.set()
        await answering
        assert walk.cancel.is_set()
        assert await asyncio.to_thread(closed.wait, 10)

    asyncio.run(go())
    count = len(seen)
    time.sleep(0.02)
    assert len(seen) == count


def test_a_walk_without_an_end_stands_still_for_a_listener_that_does_not_read():
    made = []

    def endless(cancel):
        while not cancel.is_set():
            made.append(1)
            yield "a"

    async def go():
        walk = Walk(endless, ahead=3)
        while len(made) < 3:
            await asyncio.sleep(0)
        await asyncio.sleep(0.05)
        before = len(made)
        await asyncio.sleep(0.05)
        assert len(made) == before
        for _ in range(before + 1):  # it goes on when it is read
            await walk.next(10)
        walk.cancel.set()

    asyncio.run(go())
