"""A server's address and a ledger go in; threads that ask, upload and delete until they are told to stop come out.

Each behaves as a careful client would: it waits as long as Retry-After says, sends an upload again under the same Idempotency-Key when no
reply came, and deletes again until it hears that the document is gone. Whatever a careful client should never meet is a breach.
"""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Iterator
from random import Random
from typing import Any
from uuid import uuid4

from .ledger import Entry, Ledger
from .papers import Paper, paper
from .wire import Heard, Lost, Reply, Wire

COLLECTION = "load"
TRY_LATER = (429, 503)
# What an upload of a bad file may be told at the door.
REFUSED = (400, 413, 415, 422)
FINAL = ("done", "failed", "cancelled")
# A job that takes longer is stuck: the files are a page each, and their number is kept.
JOB_SECONDS = 200.0


class Client(threading.Thread):
    """One client's life: `act` over and over. An error of its own is a breach too: a test that fell silent would pass."""

    def __init__(self, name: str, wire: Wire, ledger: Ledger, stop: threading.Event, seed: int, frail: bool) -> None:
        super().__init__(name=name, daemon=True)
        self.wire, self.ledger, self.over, self.rng, self.frail = wire, ledger, stop, Random(f"{name}-{seed}"), frail

    def run(self) -> None:
        while not self.over.is_set():
            try:
                self.act()
            except Lost as error:
                self.lost(error)
            except Exception as error:
                self.ledger.breach("client", f"{self.name}: {error!r}")
                self.over.wait(1.0)

    def act(self) -> None:
        raise NotImplementedError

    def lost(self, error: Lost) -> None:
        """No reply. While nobody kills the server, that is a breach."""
        self.ledger.status("connection", "lost")
        if not self.frail:
            self.ledger.breach("connection", f"{self.name}: {error}")
        self.over.wait(0.3 + 0.4 * self.rng.random())

    def note(self, route: str, reply: Reply, allowed: tuple[int, ...] = ()) -> bool:
        """Count a reply, hold it against what every reply owes, and wait where it says so. Returns whether it was a success."""
        self.ledger.status(route, reply.status)
        if not reply.headers.get("x-request-id"):
            self.ledger.breach("shape", f"{route} {reply.status}: no X-Request-Id")
        if 200 <= reply.status < 300:
            return True
        if not reply.type:
            self.ledger.breach("shape", f"{route} {reply.status}: the body is no error: {str(reply.body)[:200]}")
        if reply.status in TRY_LATER:
            if "retry-after" not in reply.headers:
                self.ledger.breach("shape", f"{route} {reply.status}: no Retry-After")
            self.over.wait(min(10.0, float(reply.headers.get("retry-after", 1))) * (0.5 + self.rng.random()))
        elif reply.status not in allowed:
            self.ledger.breach("status", f"{route} {reply.status} {reply.type}: {str(reply.body)[:300]}")
        return False

    def until_told(self, route: str, send: Callable[[], Reply], allowed: tuple[int, ...] = (), patient: bool = False) -> Reply | None:
        """Send until the reply is neither "later" nor lost; None when the run is over before. `patient`: go on beyond the run's end."""
        end = time.monotonic() + 120
        while patient or not self.over.is_set():
            try:
                reply = send()
            except Lost as error:
                self.lost(error)
            else:
                self.note(route, reply, allowed)
                if reply.status not in TRY_LATER:
                    return reply
            if self.over.is_set():
                if time.monotonic() > end:
                    return None
                time.sleep(0.3)
        return None


class Asker(Client):
    """Asks, as JSON and as events, alone and in a conversation; one time in eight it hangs up in the middle."""

    def act(self) -> None:
        entry = self.ledger.pick(self.rng)
        if entry is None:
            self.over.wait(0.5)
            return
        body: dict[str, Any] = {"question": entry.paper.question, "collection": COLLECTION, "max_tokens": 12}
        if self.rng.random() < 0.3:
            body["conversation"] = f"{self.name}-{self.rng.randint(1, 3)}-of-the-load"
        way = self.rng.random()
        if way < 0.06:
            self.wire.hang_up(body, 0.02 + 0.5 * self.rng.random())
            self.ledger.count("hung up")
        elif way < 0.12:
            reply, _ = self.wire.stream(body, stop_after=self.rng.randint(1, 3))
            self.note("POST /v1/ask", reply)
            self.ledger.count("hung up in a stream")
        elif way < 0.56:
            self._streamed(body)
        else:
            self._whole(entry, body)

    def _whole(self, entry: Entry, body: dict[str, Any]) -> None:
        sent = time.monotonic()
        reply = self.wire.send("POST", "/v1/ask", body)
        if self.note("POST /v1/ask", reply):
            self._hold(sent, reply.body)
            self.ledger.count("answered")
            if entry.paper.value in reply.body["text"]:
                self.ledger.count("answered with the value")
            if entry.document in _documents(reply.body):
                self.ledger.count("answered from the document")

    def _streamed(self, body: dict[str, Any]) -> None:
        sent = time.monotonic()
        reply, heard = self.wire.stream(body)
        if not self.note("POST /v1/ask", reply):
            return
        self.ledger.count("streamed")
        if heard.first is not None:
            self.ledger.waited(heard.first)
        self._told(heard)
        if heard.names[-1] == "failed":
            error = heard.last["error"]
            self.ledger.breach("stream", f"a stream failed: {error['type']}: {error['message']}")
            return
        self._hold(sent, heard.planned)
        self._hold(sent, heard.last)

    def _told(self, heard: Heard) -> None:
        if heard.names[-1] == "done" and heard.last["text"] != heard.text.strip():
            self.ledger.breach("stream", f"the tokens say {heard.text!r} and the answer {heard.last['text']!r}")

    def _hold(self, sent: float, answer: dict[str, Any]) -> None:
        lines = [line["text"] for citation in answer["citations"] for line in citation["lines"]]
        for sentence in self.ledger.known_of(sent, _documents(answer), "\n".join([answer.get("text", ""), *lines])):
            self.ledger.breach("deleted", sentence)


class Uploader(Client):
    """Uploads one file after another, watches its job to the end, and keeps the number of documents near `about`."""

    def __init__(self, *args: Any, numbers: Iterator[int], about: int, **named: Any) -> None:
        super().__init__(*args, **named)
        self.numbers, self.about = numbers, about

    def act(self) -> None:
        if len(self.ledger.live()) > self.about:
            self.over.wait(0.5)
            return
        take_in(self, paper(next(self.numbers)))


def take_in(client: Client, given: Paper) -> None:
    """Upload a file until it is acknowledged, and see its job through: from then on the ledger knows its document."""
    key = uuid4().hex

    def send() -> Reply:
        return client.wire.upload(given.name, given.data, {"collection": COLLECTION}, key)

    reply = client.until_told("POST /v1/documents", send, REFUSED if given.bad else ())
    if reply is None:
        return
    if reply.status >= 300:
        client.ledger.count(f"refused at the door: {given.kind}")
        return
    jobs = reply.body["jobs"]
    client.ledger.count(f"uploaded: {given.kind}")
    if client.rng.random() < 0.2:
        again = client.until_told("POST /v1/documents", send)
        if again is not None and [job["id"] for job in again.body.get("jobs", [])] != [job["id"] for job in jobs]:
            client.ledger.breach("idempotency", f"{given.name}: the same key gave {again.body['jobs']} after {jobs}")
    for job in jobs:
        _see_through(client, given, job)


def _see_through(client: Client, given: Paper, job: dict[str, Any]) -> None:
    def look() -> Reply:
        return client.wire.send("GET", f"/v1/jobs/{job['id']}")

    # Beyond the run's end too: what was acknowledged must come to an end.
    end = time.monotonic() + JOB_SECONDS
    while job["state"] not in FINAL and time.monotonic() < end:
        time.sleep(0.5)
        reply = client.until_told("GET /v1/jobs/{id}", look, patient=True)
        if reply is None or reply.status != 200:
            client.ledger.breach("lost upload", f"{given.name}: its job {job['id']} cannot be found: {reply and reply.body}")
            return
        job = reply.body
    settle(client.ledger, given, job)


def settle(ledger: Ledger, given: Paper, job: dict[str, Any]) -> None:
    """Hold a job's end against what its file was: documents into the ledger, everything unexpected a breach."""
    members = job["detail"].get("members") or []
    documents = [member["document"] for member in members if member.get("document")] or ([job["document"]] if job["document"] else [])
    ledger.count(f"{given.kind}: {job['state']}")
    if given.bad:
        if job["state"] != "failed" or not job["error"]:
            ledger.breach("bad file", f"{given.name} ({given.kind}) ended {job['state']}: {job['error'] or 'without a reason'}")
        return
    # Of a zip one member is sound and one is empty: the job has failed, and says so; what went in stays.
    right = (job["state"], len(documents)) == ("failed" if given.kind == "zip" else "done", 1)
    if not right or (given.kind == "zip" and "-empty.txt" not in job["error"]):
        ledger.breach("lost upload", f"{given.name} ended {job['state']} with {len(documents)} documents: {job['error']} {members}")
        return
    ledger.arrived(given, documents[0])


class Deleter(Client):
    """Deletes documents, one by one or two together, and asks at once for what it has deleted."""

    def __init__(self, *args: Any, keep: int, pause: float, **named: Any) -> None:
        super().__init__(*args, **named)
        self.keep, self.pause = keep, pause

    def act(self) -> None:
        entry = self.ledger.take(self.rng, self.keep)
        if entry is None:
            self.over.wait(0.5)
            return
        receipt = self._remove(entry)
        if receipt is None:
            return
        self.ledger.deleted(entry, receipt.get("removed_pages", []))
        self._look(entry)
        self.over.wait(self.pause * (0.5 + self.rng.random()))

    def _remove(self, entry: Entry) -> dict[str, Any] | None:
        """The receipt; {} where an earlier try had done it and its reply was lost; None where it was not deleted."""
        together = self.rng.random() < 0.2
        for attempt in itertools.count():
            lost_before = attempt > 0
            try:
                if together:
                    reply = self.wire.send("POST", "/v1/documents/delete", {"ids": [entry.document]})
                    self.note("POST /v1/documents/delete", reply)
                    if reply.status == 200 and reply.body["receipts"]:
                        return dict(reply.body["receipts"][0])
                    gone = reply.status == 200 and reply.body["failed"][0]["error"]["type"] == "UnknownDocument"
                else:
                    reply = self.wire.send("DELETE", f"/v1/documents/{entry.document}")
                    self.note("DELETE /v1/documents/{id}", reply, (404,) if lost_before else ())
                    if reply.status == 200:
                        return dict(reply.body)
                    gone = reply.status == 404
                if reply.status not in TRY_LATER:
                    if gone and lost_before:
                        return {}
                    self.ledger.breach("deletion", f"{entry.document} could not be deleted: {reply.status} {reply.body}")
                    return None
            except Lost as error:
                self.lost(error)
            if self.over.is_set() and attempt > 200:
                self.ledger.breach("deletion", f"{entry.document}: no reply to its deletion by the end")
                return None
            if self.over.is_set():
                time.sleep(0.3)
        return None

    def _look(self, entry: Entry) -> None:
        """The document's own addresses must know nothing of it any more."""
        for path in [
            f"/v1/documents/{entry.document}",
            *(f"/v1/pages/{key}" for key in entry.pages),
            *(f"/v1/pages/{key}.png" for key in entry.pages),
        ]:
            route = "GET " + path.rpartition("/")[0] + "/{id}"
            reply = self.until_told(route, lambda path=path: self.wire.send("GET", path), (404,))  # type: ignore[misc]
            if reply is not None and reply.status != 404:
                self.ledger.breach("deleted", f"GET {path} is {reply.status} after {entry.document} was deleted")


def _documents(answer: dict[str, Any]) -> set[str]:
    """Every document that an answer, or its plan, names."""
    return {one["document"] for one in (*answer["citations"], *answer["plan"]["picks"])}
