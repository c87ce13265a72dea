"""What clients did and saw goes in, from many threads; what must be true of the server comes out: who is there, who is gone, and what broke.

Order is all that counts here. A document is *gone* from the moment its deletion was acknowledged to a client; a question *sent later* must not
know it. A question that was on its way may still.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from random import Random

from .papers import Paper

# Breaches of one kind that are kept word for word.
KEPT = 20


@dataclass
class Entry:
    """A document the server has acknowledged. Times are of one clock, seconds; `leaving`: its deletion was sent; `gone`: acknowledged."""

    paper: Paper
    document: str
    leaving: float | None = None
    gone: float | None = None
    pages: list[str] = field(default_factory=list)


@dataclass
class Ledger:
    """Thread-safe. `breaches` counts every broken promise by its kind; `examples` keeps the first of each kind in words."""

    entries: dict[str, Entry] = field(default_factory=dict)
    statuses: Counter[str] = field(default_factory=Counter)
    counts: Counter[str] = field(default_factory=Counter)
    breaches: Counter[str] = field(default_factory=Counter)
    examples: dict[str, list[str]] = field(default_factory=dict)
    first_content: list[float] = field(default_factory=list)
    _lock: threading.RLock = field(default_factory=threading.RLock)

    def status(self, route: str, status: int | str) -> None:
        with self._lock:
            self.statuses[f"{route} {status}"] += 1

    def count(self, what: str) -> None:
        with self._lock:
            self.counts[what] += 1

    def waited(self, seconds: float) -> None:
        with self._lock:
            self.first_content.append(seconds)

    def breach(self, kind: str, words: str) -> None:
        with self._lock:
            self.breaches[kind] += 1
            kept = self.examples.setdefault(kind, [])
            if len(kept) < KEPT:
                kept.append(words)

    def arrived(self, paper: Paper, document: str) -> None:
        with self._lock:
            self.entries[document] = Entry(paper, document)

    def live(self) -> list[Entry]:
        with self._lock:
            return [entry for entry in self.entries.values() if entry.leaving is None]

    def gone(self) -> list[Entry]:
        with self._lock:
            return [entry for entry in self.entries.values() if entry.gone is not None]

    def pick(self, rng: Random) -> Entry | None:
        """A document to ask for: three times in ten one that is gone, and then a recent one, for it is there that something may linger."""
        with self._lock:
            gone, live = self.gone(), self.live()
            if gone and (not live or rng.random() < 0.3):
                return rng.choice(gone[-20:])
            return rng.choice(live) if live else None

    def take(self, rng: Random, keep: int) -> Entry | None:
        """A document to delete, marked as leaving; None while there are no more than `keep`."""
        with self._lock:
            live = self.live()
            if len(live) <= keep:
                return None
            entry = rng.choice(live)
            entry.leaving = time.monotonic()
            return entry

    def deleted(self, entry: Entry, pages: list[str]) -> None:
        with self._lock:
            entry.gone, entry.pages = time.monotonic(), pages

    def known_of(self, sent: float, documents: set[str], text: str) -> list[str]:
        """What an answer to a question sent at `sent` should not have known: sentences, none when all is well."""
        found = []
        for entry in self.gone():
            if entry.gone is None or entry.gone >= sent:
                continue
            if entry.document in documents:
                found.append(
                    f"{entry.document} ({entry.paper.name}) is cited {sent - entry.gone:.2f} s after its deletion was acknowledged"
                )
            if entry.paper.value in text:
                found.append(
                    f"{entry.paper.value} of {entry.paper.name} is told {sent - entry.gone:.2f} s after its deletion was acknowledged"
                )
        return found
