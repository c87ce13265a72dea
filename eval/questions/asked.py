"""The shape of the records world goes in; the questions that all arms of a run share come out, and any rows in groups that weigh alike.

LongBench: a group is a task. Records: a group is a number of pages, and the pages of a context are divided by form feeds.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from eval import records as world
from eval.longbench.drawn import DRAWN
from eval.longbench.records import Record

_PAGES = re.compile(r"[a-z]+-(\d+)x")


@dataclass(frozen=True)
class Drawn:
    """The shape of drawn records: n questions for each number of pages, `each` of one context."""

    n: int
    pages: tuple[int, ...]
    lines: int = 6
    each: int = 4
    kind: world.Kind = "build"
    seed: int = world.HELD_OUT

    def rows(self) -> list[Record]:
        samples = [s for pages in self.pages for s in world.first(self.n, self.kind, pages, self.lines, self.seed, each=self.each)]
        return [Record(DRAWN, s.id, s.question, s.context, (s.answer,), len(s.context.split())) for s in samples]


def group_of(record: Record) -> str:
    """The group whose mean a record is part of."""
    if record.task != DRAWN:
        return record.task
    said = _PAGES.match(record.id)
    return f"{said[1]} pages" if said else DRAWN


def context_of(record: Record) -> str:
    """Names the pages: questions of the same context are drawn together."""
    return hashlib.sha256(record.context.encode("utf-8", "replace")).hexdigest()[:16]


def grouped(rows: Mapping[str, Sequence[Record]]) -> dict[str, list[Record]]:
    """Group -> records, in their order."""
    found: dict[str, list[Record]] = {}
    for record in (record for group in rows.values() for record in group):
        found.setdefault(group_of(record), []).append(record)
    return found
