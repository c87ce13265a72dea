"""Clients of a real server: what it answers is counted, and what it must not do is a breach."""

import itertools
import threading
import time
import zipfile

import pytest

from eval.load.audit import left_behind, over_http
from eval.load.clients import Asker, Client, Deleter, Uploader, settle, take_in
from eval.load.ledger import Ledger
from eval.load.papers import paper
from eval.load.wire import Lost, Reply, Wire


@pytest.fixture
def named(live_server: str) -> dict:
    return {"wire": Wire(int(live_server.rpartition(":")[2])), "ledger": Ledger(), "stop": threading.Event(), "seed": 1, "frail": False}


def test_a_document_goes_in_is_asked_for_and_goes_without_a_trace(named) -> None:
    ledger = named["ledger"]
    uploader = Uploader("uploader", **named, numbers=itertools.count(7), about=10)
    for _ in range(3):
        uploader.act()  # 7 and 8 are good, 9 is bad
    assert [entry.paper.number for entry in ledger.live()] == [7, 8]
    asker = Asker("asker", **named)
    for _ in range(12):
        asker.act()
    assert ledger.counts["answered"] + ledger.counts["streamed"] > 3
    deleter = Deleter("deleter", **named, keep=0, pause=0.01)
    deleter.act()
    deleter.act()
    assert ledger.live() == []
    assert len(ledger.gone()) == 2
    take_in(Client("last", **named), paper(1))
    facts = over_http(named["wire"], ledger)
    assert (facts["live"], facts["gone"], facts["waiting"], facts["unheard_of"]) == (1, 2, 0, 0)
    assert not ledger.breaches, ledger.examples


def test_a_status_that_is_none_of_the_promised_ones_is_a_breach(named) -> None:
    client, ledger = Client("c", **named), named["ledger"]
    head = {"x-request-id": "1"}
    assert client.note("GET /", Reply(200, head))
    assert not client.note("GET /", Reply(404, head, {"error": {"type": "NotFound"}}), (404,))
    assert not ledger.breaches
    client.note("GET /", Reply(500, head, {"error": {"type": "InternalError"}}))
    client.note("GET /", Reply(503, {**head, "retry-after": "0"}, {"error": {"type": "Busy"}}))
    assert dict(ledger.breaches) == {"status": 1}
    client.note("GET /", Reply(429, {}, None))
    assert dict(ledger.breaches) == {"status": 1, "shape": 3}


def test_a_broken_connection_is_a_breach_unless_the_server_is_being_killed(named) -> None:
    Client("c", **named).lost(Lost("reset"))
    assert dict(named["ledger"].breaches) == {"connection": 1}
    Client("c", **{**named, "frail": True}).lost(Lost("reset"))
    assert dict(named["ledger"].breaches) == {"connection": 1}
    with pytest.raises(Lost):
        Wire(1).send("GET", "/livez")


def test_a_good_file_that_fails_and_a_bad_one_that_goes_in_are_breaches() -> None:
    ledger = Ledger()
    job = {"id": "j", "state": "failed", "document": "", "error": "a.txt: no", "detail": {}}
    settle(ledger, paper(0), job)
    settle(ledger, paper(9), {**job, "state": "done", "document": "d"})
    assert dict(ledger.breaches) == {"lost upload": 1, "bad file": 1}
    settle(ledger, paper(9), job)
    settle(ledger, paper(0), {**job, "state": "done", "document": "d"})
    assert dict(ledger.breaches) == {"lost upload": 1, "bad file": 1}
    assert [entry.document for entry in ledger.live()] == ["d"]


def test_an_answer_that_knows_what_is_gone_is_a_breach(named) -> None:
    ledger = named["ledger"]
    ledger.arrived(paper(1), "gone")
    entry = ledger.take(Asker("a", **named).rng, keep=0)
    ledger.deleted(entry, [])
    answer = {"text": "", "plan": {"picks": []}, "citations": [{"document": "gone", "lines": [{"text": f"It is {entry.paper.value}."}]}]}
    Asker("a", **named)._hold(time.monotonic(), answer)
    assert dict(ledger.breaches) == {"deleted": 2}


def test_a_byte_of_a_deleted_value_in_any_file_is_found(tmp_path) -> None:
    ledger = Ledger()
    for number in (1, 2):
        ledger.arrived(paper(number), f"d{number}")
    entry = ledger.entries["d1"]
    ledger.deleted(entry, [])
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "file").write_bytes(b"\0" * 100 + entry.paper.value.encode() + ledger.entries["d2"].paper.value.encode())
    with zipfile.ZipFile(tmp_path / "kept.zip", "w", zipfile.ZIP_DEFLATED) as container:
        container.writestr("a.txt", f"The code is {entry.paper.value}. " * 20)
    assert list(left_behind(tmp_path, ledger.gone())) == [
        (tmp_path / "deep" / "file", entry.paper.value),
        (tmp_path / "kept.zip", entry.paper.value),
    ]
