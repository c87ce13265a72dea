"""A server's port and numbers of clients go in; what each client waited for the first text comes out, split into waiting, engine and HTTP.

    waiting     in the lane: the engine's own first token, less its parts
    retrieve, plan, load, place, prefill      as the answer's timings give them
    client      what is left of the client's time: connection, HTTP, threads, and tokens that held no text yet

Clients run in a closed loop: each asks again when its answer has ended. The numbers of clients take turns, so that drift meets all alike.
"""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from eval.errors import EvalError

from .client import Heard, listen
from .clock import percentiles
from .corpus import Corpus

ENGINE = ("retrieve", "plan", "load", "place", "prefill")
PARTS = ("waiting", *ENGINE, "client")


@dataclass(frozen=True)
class Level:
    """All that `clients` clients heard, and the seconds of wall clock that it took."""

    clients: int
    heard: tuple[Heard, ...]
    seconds: float


def crowd(port: int, corpus: Corpus, clients: Sequence[int], n: int, rounds: int, say: Callable[[str], None]) -> list[Level]:
    """`n` answers for each number of clients, in `rounds` turns. Raises EvalError where an ask fails, and where no answer had any text."""
    for number in range(len(corpus.questions)):
        listen(port, corpus.questions[number], corpus.pages, number)  # every cache into the server's memory
    found: dict[int, list[Heard]] = {count: [] for count in clients}
    seconds = dict.fromkeys(clients, 0.0)
    numbers = itertools.count()
    for turn in range(rounds):
        for count in clients:
            share = n // rounds + (turn < n % rounds)
            begun = time.perf_counter()
            found[count] += _together(port, corpus, count, share, numbers)
            seconds[count] += time.perf_counter() - begun
        say(f"turn {turn + 1} of {rounds}")
    levels = [Level(count, tuple(heard for heard in found[count] if heard.client is not None), seconds[count]) for count in clients]
    if not all(level.heard for level in levels):
        raise EvalError("no answer had any text, so there was no first text to wait for; take another model")
    return levels


def _together(port: int, corpus: Corpus, clients: int, n: int, numbers: Iterator[int]) -> list[Heard]:
    """`n` answers, `clients` at a time."""
    left, found, failed, lock = itertools.count(), list[Heard](), list[EvalError](), threading.Lock()

    def client() -> None:
        while next(left) < n and not failed:
            with lock:
                number = next(numbers)
            try:
                heard = listen(port, corpus.questions[number % len(corpus.questions)], corpus.pages, number)
            except EvalError as error:
                failed.append(error)
                return
            with lock:
                found.append(heard)

    threads = [threading.Thread(target=client, name=f"client-{at}", daemon=True) for at in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failed:
        raise failed[0]
    return found


def split(heard: Heard) -> dict[str, float]:
    """Seconds by part; they add up to what the client waited."""
    assert heard.client is not None
    engine = {part: heard.parts[part] for part in ENGINE}
    return {"waiting": heard.engine - sum(engine.values()), **engine, "client": heard.client - heard.engine}


def summary(level: Level, full: float | None) -> dict[str, Any]:
    """Percentiles of the client's wait and of its parts; answers a second; medians over `full`, a full prefill's median without HTTP or waiting."""
    parts = [split(heard) for heard in level.heard]
    first = percentiles([heard.client for heard in level.heard if heard.client is not None])
    alone = percentiles([sum(part.values()) - part["waiting"] for part in parts])
    return {
        "clients": level.clients,
        "first_content": first,
        "parts": {name: percentiles([part[name] for part in parts]) for name in PARTS},
        "answers_a_second": len(level.heard) / level.seconds,
        "ratio_to_full": first["p50"] / full if full else None,
        "ratio_to_full_without_waiting": alone["p50"] / full if full else None,
    }
