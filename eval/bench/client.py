"""A home goes in; the product's own server answers over it in a child process, and what a client waits for the first text comes out.

The one file of this room that speaks HTTP, and only as a client: the server is `python -m app serve`.
"""

from __future__ import annotations

import http.client
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from eval.errors import EvalError

from .corpus import COLLECTION, RAM_BYTES, Corpus
from .pages import RANDOM

ROOT = Path(__file__).resolve().parent.parent.parent
# Tokens of an answer: the first one must reach the client while the server still decodes.
ANSWER_TOKENS = 8
START_SECONDS = 180.0
READ_SECONDS = 120.0


@dataclass(frozen=True)
class Heard:
    """One request as its client saw it, seconds: from before the connection to the first text, and the engine's own first token in it.

    `client` is None where the answer had no text at all. `parts`: all timings of the answer, by name.
    """

    number: int
    client: float | None
    engine: float
    parts: dict[str, float] = field(default_factory=dict)

    @property
    def overhead(self) -> float | None:
        return None if self.client is None else self.client - self.engine


def hear(corpus: Corpus, requests: int, warmups: int, report: Callable[[str], None]) -> list[Heard]:
    """Ask the corpus's questions of a server over its home, one after the other, a connection each.

    Raises EvalError where the model has no directory that a server could load, where the server does not come up, and where no
    answer had any text.
    """
    if corpus.model in RANDOM:
        raise EvalError(f"--http: {corpus.model} is drawn in memory, and no server can load it; take 'reader' or a directory")
    found = []
    with server(words_of(corpus)) as port:
        # Every question once, so that all their caches are in the server's memory.
        for number in range(max(warmups, min(requests, len(corpus.questions)))):
            listen(port, corpus.questions[number % len(corpus.questions)], corpus.pages, number)
        for number in range(requests):
            found.append(listen(port, corpus.questions[number % len(corpus.questions)], corpus.pages, number))
        report(f"{requests} requests over HTTP")
    if all(heard.client is None for heard in found):
        raise EvalError("--http: no answer had any text, so there was no first text to wait for; take another model")
    return found


def words_of(corpus: Corpus) -> list[str]:
    """The command line of a server over the corpus's home, as it was taken in."""
    settings = corpus.house.settings
    words = ["--home", str(settings.home), "--model", corpus.model, "--low", str(settings.low), "--high", str(settings.high)]
    return [*words, "--ram-bytes", str(RAM_BYTES), "--patch-policy", settings.patch_policy]


@contextmanager
def server(words: list[str]) -> Iterator[int]:
    """The product's server as a child process on a free port of this machine, ready to answer; stopped at the end."""
    # What is set for this machine's own server must not decide a measurement.
    clean = {name: value for name, value in os.environ.items() if not name.startswith("QUIRE_")}
    command = [sys.executable, "-m", "app", "serve", "--host", "127.0.0.1", "--port", "0", *words]
    with tempfile.TemporaryFile("w+") as log:
        child = subprocess.Popen(command, cwd=ROOT, env=clean, stdout=subprocess.PIPE, stderr=log, text=True)
        try:
            yield _ready(child, log)
        finally:
            child.terminate()
            try:
                child.wait(15)
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()
            assert child.stdout is not None
            child.stdout.close()


def _ready(child: subprocess.Popen[str], log: Any) -> int:
    """The port, once the model is loaded. Raises EvalError with the server's last words."""
    assert child.stdout is not None
    line = child.stdout.readline()  # "Quire is at http://127.0.0.1:40123  (...", or nothing when it has ended
    if "http://127.0.0.1:" not in line:
        child.wait(15)
        raise EvalError(f"the server did not start: {_last_words(log)}")
    port = int(line.split("http://127.0.0.1:")[1].split()[0])
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end:
        if child.poll() is not None:
            raise EvalError(f"the server stopped before it was ready: {_last_words(log)}")
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=READ_SECONDS)
        try:
            connection.request("GET", "/readyz")
            if connection.getresponse().status == 200:
                return port
        except OSError:
            pass  # it listens, but does not answer yet: the loop has an end
        finally:
            connection.close()
        time.sleep(0.1)
    raise EvalError(f"the server was not ready after {START_SECONDS:.0f} seconds: {_last_words(log)}")


def _last_words(log: Any) -> str:
    log.seek(0)
    lines = [line.strip() for line in log if line.strip()]
    return lines[-1] if lines else "it said nothing"


def listen(port: int, question: str, pages: int, number: int = 0, collection: str = COLLECTION) -> Heard:
    """Ask, and read the events until the answer is done. Raises EvalError where it fails."""
    body = {"question": question, "collection": collection, "top_k": pages, "max_tokens": ANSWER_TOKENS, "stream": True}
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=READ_SECONDS)
    first = None
    begun = time.perf_counter()
    try:
        connection.request("POST", "/v1/ask", json.dumps(body), {"Content-Type": "application/json", "Accept": "text/event-stream"})
        response = connection.getresponse()
        if response.status != 200:
            raise EvalError(f"the server answered {response.status}: {response.read(2000).decode(errors='replace')}")
        for name, data in events(iter(response.readline, b"")):
            if name == "token" and data["text"] and first is None:
                first = time.perf_counter() - begun
            elif name == "failed":
                raise EvalError(f"{question!r} was not answered: {data['error']['message']}")
            elif name == "done":
                return Heard(number, first, data["timings"]["first_token"], data["timings"])
    except OSError as error:
        raise EvalError(f"the server went away: {error}") from error
    finally:
        connection.close()
    raise EvalError(f"{question!r}: the stream ended before the answer was done")


def events(lines: Iterator[bytes]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Lines of a stream of server-sent events -> (name, data), as this server writes them: one line each. Comments are passed over."""
    name = ""
    for line in lines:
        field, _, value = line.decode().rstrip("\r\n").partition(": ")
        if field == "event":
            name = value
        elif field == "data":
            yield name, json.loads(value)
