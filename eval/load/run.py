"""A plan goes in: minutes, clients of each kind, how often the server is killed. What happened comes out as facts that JSON can hold."""

from __future__ import annotations

import itertools
import os
import platform
import signal
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random
from typing import Any

from eval.bench.clock import percentiles
from eval.errors import EvalError

from .audit import on_disk, over_http
from .child import Child
from .clients import Asker, Client, Deleter, Uploader, take_in
from .ledger import Ledger
from .memory import judged
from .papers import paper
from .wire import Lost

# Documents that are taken in before the clock runs, so that the first question has something to find.
BEFORE = 8
# Small, so that it is full long before the end: a memory that still fills looks like a leak.
RAM_BYTES = 64 * 1024 * 1024
# How a server that shut down in good order may end: by itself, or by the signal it was sent.
ENDED = (0, -signal.SIGTERM)


@dataclass(frozen=True)
class Load:
    """`kill_every` seconds of readiness, None: never. `about`: documents that uploaders and deleters keep the collection near."""

    minutes: float = 10.0
    ask: int = 50
    upload: int = 5
    delete: int = 2
    kill_every: float | None = None
    about: int = 40
    pause: float = 2.0
    seed: int = 1
    model: str = "reader"


def run(load: Load, folder: Path, say: Callable[[str], None]) -> dict[str, Any]:
    """The whole run; its home and the server's log stay in `folder`. Raises EvalError where no server can be started, and where the folder
    holds a home already."""
    home = folder / "home"
    if home.exists():
        raise EvalError(f"{folder} holds the home of another run; give --out another folder")
    folder.mkdir(parents=True, exist_ok=True)
    # No rate limit: all clients come from one address, and what is under test is the model's lane and its queue.
    words = ["--model", load.model, "--ram-bytes", str(RAM_BYTES), "--rate", "0", "--ask-rate", "0"]
    child, ledger, over = Child(home, words, folder / "server.log"), Ledger(), threading.Event()
    numbers = itertools.count()
    begun = time.perf_counter()
    try:
        child.start()
        first = Client("first", child.wire, ledger, over, load.seed, frail=False)
        for _ in range(3 * BEFORE):
            if len(ledger.live()) < min(BEFORE, load.about):
                take_in(first, paper(next(numbers), load.seed))
        if not ledger.live():
            raise EvalError(f"no document could be taken in, so there is nothing to ask: {ledger.examples}")
        say(f"ready after {child.starts[0]:.1f} s; {len(ledger.live())} documents before the clock runs")
        facts = _under_load(load, child, ledger, over, numbers, say)
        facts["audit"] = over_http(child.wire, ledger)
        facts["stopped"] = child.stop()
        if facts["stopped"] not in ENDED:
            ledger.breach("stop", f"SIGTERM ended the server with {facts['stopped']} (None: it had to be killed)")
        facts["verify"] = on_disk(home, ledger)
    except Lost as error:
        raise EvalError(
            f"the server went away while nobody killed it: {error}; {child.log} has its last words: {child.last_words()}"
        ) from error
    finally:
        over.set()
        child.end()
    return _document(load, child, ledger, facts, time.perf_counter() - begun)


def _under_load(
    load: Load, child: Child, ledger: Ledger, over: threading.Event, numbers: Any, say: Callable[[str], None]
) -> dict[str, Any]:
    named: dict[str, Any] = {"wire": child.wire, "ledger": ledger, "stop": over, "seed": load.seed, "frail": load.kill_every is not None}
    clients: list[Client] = [Asker(f"asker-{n}", **named) for n in range(load.ask)]
    clients += [Uploader(f"uploader-{n}", **named, numbers=numbers, about=load.about) for n in range(load.upload)]
    clients += [Deleter(f"deleter-{n}", **named, keep=load.about // 2, pause=load.pause) for n in range(load.delete)]
    watcher = child.watch(over)
    begun = ready = said = time.monotonic()
    rng = Random(load.seed)
    life = load.kill_every or 0.0
    for client in clients:
        client.start()
    while (now := time.monotonic()) - begun < 60 * load.minutes:
        if load.kill_every is not None and now - ready >= life:
            child.kill()
            child.start()
            ready = time.monotonic()
            life = load.kill_every * (0.5 + rng.random())  # in another phase each time: a kill meets other work
        if now - said >= 30:
            said = now
            say(
                f"{(now - begun) / 60:.1f} min: {sum(ledger.statuses.values()):,} replies, {len(ledger.live())} documents, {dict(ledger.breaches)}"
            )
        time.sleep(0.1)
    over.set()
    say("the clock has run out; waiting for the clients")
    end = time.monotonic() + 240
    for client in clients:
        client.join(max(0.0, end - time.monotonic()))
        if client.is_alive():
            ledger.breach("client", f"{client.name} did not come back")
    watcher.join(5)
    return {"seconds": time.monotonic() - begun}


def _document(load: Load, child: Child, ledger: Ledger, facts: dict[str, Any], seconds: float) -> dict[str, Any]:
    memory = judged(child.seen)
    if memory is not None and memory.flat is False:
        ledger.breach(
            "memory", f"{memory.gain / 1048576:+.1f} MiB over the last two thirds of the run, {memory.slope / 1048576:+.2f} MiB a minute"
        )
    if child.orphans:
        ledger.breach("orphans", f"{child.orphans} processes lived on after their server was killed")
    return {
        "task": "load",
        "settings": asdict(load),
        "machine": {"cores": os.cpu_count(), "platform": platform.platform(), "python": platform.python_version()},
        "seconds": seconds,
        **facts,
        "lives": child.lives,
        "starts": child.starts,
        "memory": asdict(memory) if memory else None,
        "seen": child.seen,
        "statuses": dict(sorted(ledger.statuses.items())),
        "counts": dict(sorted(ledger.counts.items())),
        "breaches": dict(sorted(ledger.breaches.items())),
        "examples": ledger.examples,
        "kept": not ledger.breaches,
        "first_content": percentiles(ledger.first_content) if ledger.first_content else None,
    }
