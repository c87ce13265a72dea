"""A folder and a size go in; the rows of Kamera's experiments come out, each written down as soon as it is measured.

A row is one item of one run. The file holds a line of settings, then one JSON line a row; the same command run again goes on where it stopped.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from .errors import OtherRun
from .kamera import Lab, carried, context_of
from .kamera_depth import depth
from .kamera_main import Main
from .kamera_window import envelope, orbit, recall, survivors
from .records import Sample

Row = dict[str, Any]


class Measure(Protocol):
    def __call__(self, lab: Lab, sample: Sample, number: int) -> Row: ...


@dataclass(frozen=True)
class Part:
    """Items of one shape: pages of a context, questions of one context at most, and how many there are where n is 100."""

    pages: int
    each: int | None
    share: float

    def samples(self, n: int, lines: int) -> list[Sample]:
        return carried(max(1, math.ceil(n * self.share)), self.pages, lines, self.each)


@dataclass(frozen=True)
class Run:
    parts: tuple[Part, ...]
    measure: Callable[[], Measure]


# K! orderings make an item of the orbit dear: fewer items there. The others ask one question of a context, so that items are independent.
RUNS: dict[str, Run] = {
    "main": Run((Part(2, None, 1.0),), Main),
    "orbit": Run((Part(3, 1, 0.25), Part(4, 1, 0.12), Part(5, 1, 0.04)), lambda: orbit),
    "recall": Run((Part(3, 1, 0.5),), lambda: recall),
    "survivors": Run((Part(3, 1, 0.5),), lambda: survivors),
    "envelope": Run((Part(2, 1, 0.4),), lambda: envelope),
    "depth": Run((Part(2, 1, 0.5),), lambda: depth),
}


class Journal:
    """The rows of a run that may be stopped: a line each, whole or absent."""

    def __init__(self, path: Path, settings: dict[str, Any]) -> None:
        """Opens or begins the file. Raises OtherRun when it holds rows of other settings: one table of two measurements would be neither."""
        self.path = path
        self.rows: dict[tuple[str, str], Row] = {}
        head = json.dumps({"settings": settings}, sort_keys=True)
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(head + "\n", encoding="utf-8")
            return
        # A process that was killed may have left half a line.
        whole, _, _ = path.read_text(encoding="utf-8").rpartition("\n")
        lines = whole.split("\n")
        if lines[0] != head:
            raise OtherRun(_difference(path, lines[0], settings))
        with path.open("r+b") as file:
            # Cut, not written anew: a process that is killed here must not take the rows with it.
            file.truncate(len(whole.encode()) + 1)
        for row in map(json.loads, lines[1:]):
            self.rows[row["run"], row["id"]] = row

    def add(self, row: Row) -> None:
        """Append a row; its numbers are cut to six digits, so that a run that was stopped reports what an unbroken one does."""
        row = json.loads(json.dumps(row), parse_float=lambda digits: float(f"{float(digits):.6g}"))
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row, sort_keys=True) + "\n")
        self.rows[row["run"], row["id"]] = row


def _difference(path: Path, head: str, settings: dict[str, Any]) -> str:
    try:
        there = json.loads(head)["settings"]
        names = sorted(name for name in {*there, *settings} if there.get(name) != settings.get(name))
        said = ", ".join(f"{name} {there.get(name)!r}, not {settings.get(name)!r}" for name in names)
    except (ValueError, KeyError, TypeError, AttributeError):
        said = "no settings that can be read"
    return f"{path} holds a run with {said}; give another folder with --out, or remove that file"


def run(name: str, lab: Lab, n: int, journal: Journal, report: Callable[[int, int, float], None]) -> list[Row]:
    """Measure what of a run is not in the journal yet; returns all its rows in their order. `report` gets done, total, items a second."""
    measure = RUNS[name].measure()
    items = [(number, sample) for part in RUNS[name].parts for number, sample in enumerate(part.samples(n, lab.lines))]
    begun, made = time.perf_counter(), 0
    for done, (number, sample) in enumerate(items, 1):
        if (name, sample.id) in journal.rows:
            continue
        row = measure(lab, sample, number)
        made += 1
        journal.add({"run": name, "id": sample.id, "context": context_of(sample), "gold": sample.answer, **row})
        report(done, len(items), made / (time.perf_counter() - begun))
    return [journal.rows[name, sample.id] for _, sample in items]


def chosen(text: str) -> Sequence[str]:
    """`main,orbit` -> names in the order of `RUNS`. Raises ValueError on a name that is none."""
    names = [word.strip() for word in text.split(",") if word.strip()]
    if unknown := [word for word in names if word not in RUNS]:
        raise ValueError(f"{unknown[0]!r}: it is one of {', '.join(RUNS)}")
    return [name for name in RUNS if name in names]
