"""The end of a server: no new question, running answers may end, and what has not ended is handed back in words its client understands."""

import asyncio
import json

import pytest
from starlette.responses import JSONResponse, StreamingResponse

from app.closing import Closing
from app.errors import ShuttingDown


class Carried:
    """One request on its way through a closing, and what its client was sent."""

    def __init__(self, closing: Closing, template: str, app) -> None:
        self.sent, self.first = [], asyncio.Event()
        self.task = asyncio.ensure_future(closing.carry(app, template, {"type": "http", "method": "POST"}, self._receive, self._send))

    async def _receive(self):
        await asyncio.Event().wait()

    async def _send(self, message):
        self.sent.append(message)
        self.first.set()

    @property
    def body(self) -> bytes:
        return b"".join(message.get("body", b"") for message in self.sent)


def streaming(let_go: asyncio.Event, log: list[str] | None = None):
    async def pieces():
        try:
            yield b"event: token\ndata: 1\n\n"
            await let_go.wait()
            yield b"event: done\ndata: 2\n\n"
        finally:
            if log is not None:
                log.append("ended")

    async def app(scope, receive, send):
        await StreamingResponse(pieces(), media_type="text/event-stream")(scope, receive, send)

    return app


def test_an_answer_that_runs_may_end_and_a_new_question_is_turned_away():
    async def go():
        closing, let_go = Closing(), asyncio.Event()
        one = Carried(closing, "/v1/ask", streaming(let_go))
        await one.first.wait()
        closing.begin()
        with pytest.raises(ShuttingDown, match="ask again"):
            await Carried(closing, "/v1/chat/completions", streaming(let_go)).task
        assert closing.answers == 1
        let_go.set()
        await one.task
        assert one.body.endswith(b"event: done\ndata: 2\n\n")
        assert closing.answers == 0

    asyncio.run(go())


@pytest.mark.parametrize(("template", "name"), [("/v1/ask", b"event: failed\n"), ("/v1/chat/completions", b"")])
def test_a_stream_that_has_not_ended_in_time_is_handed_back_behind_a_whole_event(template, name):
    async def go():
        closing, log = Closing(), []
        one = Carried(closing, template, streaming(asyncio.Event(), log))
        await one.first.wait()
        await asyncio.sleep(0)
        closing.begin()
        closing.hand_back()
        await one.task
        head, _, last = one.body.partition(b"data: 1\n\n")
        assert head == b"event: token\n"
        assert last.startswith(name + b"data: ")
        error = json.loads(last.removeprefix(name).removeprefix(b"data: "))["error"]
        assert (error["type"], "ask again" in error["message"]) == ("ShuttingDown", True)
        assert one.sent[-1]["more_body"] is False
        assert log == ["ended"]  # the walk behind the stream was told

    asyncio.run(go())


def test_an_answer_in_one_piece_that_is_not_ready_in_time_becomes_a_503():
    async def slow(scope, receive, send):
        await asyncio.Event().wait()

    async def go():
        closing = Closing()
        one = Carried(closing, "/v1/ask", slow)
        await asyncio.sleep(0.01)
        closing.hand_back()
        await one.task
        assert one.sent[0]["status"] == 503
        assert (b"retry-after", b"5") in one.sent[0]["headers"]
        assert json.loads(one.body)["error"]["type"] == "ShuttingDown"

    asyncio.run(go())


def test_a_watcher_of_jobs_is_let_go_at_once_and_does_not_count_as_an_answer():
    async def go():
        closing = Closing()
        one = Carried(closing, "/v1/jobs/events", streaming(asyncio.Event()))
        await one.first.wait()
        assert closing.answers == 0
        closing.begin()
        await one.task
        assert one.sent[-1] == {"type": "http.response.body", "body": b"", "more_body": False}

    asyncio.run(go())


def test_other_requests_are_not_touched():
    async def app(scope, receive, send):
        await JSONResponse({})(scope, receive, send)

    async def go():
        closing = Closing()
        closing.hand_back()
        one = Carried(closing, "/v1/documents", app)
        await one.task
        assert one.body == b"{}"

    asyncio.run(go())


def test_an_error_of_the_application_is_its_own():
    async def app(scope, receive, send):
        raise ZeroDivisionError

    async def go():
        closing = Closing()
        with pytest.raises(ZeroDivisionError):
            await Carried(closing, "/v1/ask", app).task
        assert closing.answers == 0

    asyncio.run(go())
