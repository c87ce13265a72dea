"""Log lines: one JSON object each, with the request's number also from the walk's thread, and never an error's own words."""

import asyncio
import io
import json
import logging
import threading

import pytest

from app.logs import REQUEST, JsonLines, TextLines, faults
from app.stream import Walk


@pytest.fixture
def written(request):
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(request.param())
    log = logging.getLogger("quire.test")
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    log.propagate = False
    yield log, stream
    log.removeHandler(handler)
    log.propagate = True


def lines(stream: io.StringIO) -> list[dict]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


@pytest.mark.parametrize("written", [JsonLines], indirect=True)
def test_a_line_is_one_json_object_with_what_is_known_of_the_request(written):
    log, stream = written
    log.info("plain\nand two")
    log.info("GET /v1/model 200", extra={"route": "/v1/model", "method": "GET", "status": 200, "ms": 0, "key": ""})
    first, second = lines(stream)
    assert first["message"] == "plain\nand two"
    assert (first["level"], first["logger"]) == ("info", "quire.test")
    assert first["time"].endswith("Z")
    assert {name: second[name] for name in ("route", "method", "status", "ms")} == {
        "route": "/v1/model",
        "method": "GET",
        "status": 200,
        "ms": 0,
    }
    assert "request_id" not in first
    assert "key" not in second


@pytest.mark.parametrize("written", [JsonLines], indirect=True)
def test_what_the_walks_thread_logs_has_the_requests_number(written):
    log, stream = written

    def steps(cancel: threading.Event):
        log.info("from %s", threading.current_thread().name)
        yield 1

    async def request(number: str):
        REQUEST.set(number)
        async for _ in Walk(steps):
            pass

    async def go():
        await asyncio.gather(*(asyncio.create_task(request(f"n{n}")) for n in range(3)))

    asyncio.run(go())
    assert sorted(line["request_id"] for line in lines(stream)) == ["n0", "n1", "n2"]


@pytest.mark.parametrize("written", [JsonLines, TextLines], indirect=True)
def test_an_errors_own_words_stay_out_of_the_log(written, monkeypatch):
    log, stream = written

    words = ("a sentence of the document", "secret.pdf: page 3")

    def read():
        try:
            raise ValueError(words[0])
        except ValueError as error:
            raise RuntimeError(words[1]) from error

    try:
        read()
    except RuntimeError:
        log.exception("it failed")
    said = stream.getvalue()
    assert "builtins.RuntimeError" in said
    assert "builtins.ValueError" in said
    assert "in read" in said
    assert not [word for word in words if word in said]
    monkeypatch.setenv("QUIRE_DEBUG", "1")
    assert "secret words" in faults(KeyError("secret words"))


def test_errors_that_caused_each_other_in_a_ring_end():
    one, two = ValueError(), KeyError()
    one.__cause__, two.__cause__ = two, one
    assert faults(one).count("its words are left out") == 2
