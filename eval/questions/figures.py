"""Finished lines go in; per arm the score, exact match, time and rows with their intervals come out, and any two arms compared item by item.

Scores are per cent. A failed sample is a 0 in the sum and a 1 in the count; it has no time. Means are within groups, then over groups.
Seconds: the median within a group, then the mean over groups. Their ratio is the geometric mean of the ratios item by item, which a slow
moment of the machine moves less than it moves a mean.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from eval.longbench.records import Record
from eval.longbench.report import score
from eval.longbench.results import Line
from eval.score import exact_match

from .answers import Answered
from .asked import context_of
from .bootstrap import Draws, Interval, Values, exponent
from .plans import is_text

ALL = "all"


@dataclass(frozen=True)
class Item:
    """One sample under one arm: `f1` 0 to 100, `seconds` to the first token, `rows` of context before the question."""

    id: str
    f1: float
    exact: bool
    seconds: float | None
    rows: int
    failed: str = ""  # the kind of error


@dataclass(frozen=True)
class Gap:
    """a against b over the same items: points of F1, and how many times b's seconds a takes. An interval is 95 %, or None."""

    points: float
    interval: Interval | None
    n: int
    ratio: float | None = None
    ratio_interval: Interval | None = None


class Figures:
    """All that a run measured, by (model, arm)."""

    def __init__(self, groups: Mapping[str, Sequence[Record]], answered: Sequence[Answered]) -> None:
        self.groups = tuple(groups)
        self.draws = Draws({group: [context_of(record) for record in records] for group, records in groups.items()})
        self._items: dict[tuple[str, str], dict[str, list[Item]]] = {}
        for model in answered:
            for arm in dict.fromkeys(arm for arm, _, _ in model.lines):
                wanted = {group: [model.lines.get((arm, r.task, r.id)) for r in records] for group, records in groups.items()}
                # An arm of an earlier run over fewer questions has not answered these.
                found = {group: [_item(line) for line in lines if line is not None] for group, lines in wanted.items()}
                if all(len(found[group]) == len(groups[group]) for group in groups):
                    self._items[model.name, arm] = found

    @property
    def measured(self) -> tuple[tuple[str, str], ...]:
        return tuple(self._items)

    def items(self, model: str, arm: str) -> Mapping[str, Sequence[Item]]:
        return self._items[model, arm]

    def lines(self, arms: Sequence[tuple[str, str]]) -> list[dict[str, Any]]:
        """A line for each group of each (model, arm), and one for all groups together."""
        return [
            self._line(model, arm, groups, name)
            for model, arm in arms
            if (model, arm) in self._items
            for name, groups in (*((group, (group,)) for group in self.groups), (ALL, self.groups))
            if name != ALL or len(self.groups) > 1
        ]

    def mean(self, place: tuple[str, str], groups: Sequence[str]) -> float:
        return self.draws.mean(self._f1(place, groups))

    def rows(self, place: tuple[str, str], group: str) -> float:
        return statistics.fmean(item.rows for item in self._items[place][group])

    def seconds(self, place: tuple[str, str], groups: Sequence[str]) -> float | None:
        medians = [statistics.median(found) for group in groups if (found := self._seconds(place, group))]
        return statistics.fmean(medians) if len(medians) == len(groups) else None

    def gap(self, a: tuple[str, str], b: tuple[str, str], groups: Sequence[str]) -> Gap:
        """a minus b. Raises KeyError where one was not measured."""
        ours, theirs = self._f1(a, groups), self._f1(b, groups)
        differences = {group: [x - y for x, y in zip(ours[group], theirs[group], strict=True)] for group in groups}
        n = sum(len(found) for found in differences.values())
        ratio, interval = self._ratio(a, b, groups)
        return Gap(self.draws.mean(differences), self.draws.interval(differences), n, ratio, interval)

    def _ratio(self, a: tuple[str, str], b: tuple[str, str], groups: Sequence[str]) -> tuple[float | None, Interval | None]:
        logs: dict[str, list[float]] = {}
        for group in groups:
            pairs = zip(self._items[a][group], self._items[b][group], strict=True)
            logs[group] = [math.log(x.seconds / y.seconds) if x.seconds and y.seconds else math.nan for x, y in pairs]
            known = [value for value in logs[group] if not math.isnan(value)]
            if not known:
                return None, None
            # A failed sample has no time of its own; the group's mean stands in, so that places still pair.
            logs[group] = [statistics.fmean(known) if math.isnan(value) else value for value in logs[group]]
        return math.exp(self.draws.mean(logs)), exponent(self.draws.interval(logs))

    def _f1(self, place: tuple[str, str], groups: Sequence[str]) -> Values:
        return {group: [item.f1 for item in self._items[place][group]] for group in groups}

    def _seconds(self, place: tuple[str, str], group: str) -> list[float]:
        return [item.seconds for item in self._items[place][group] if item.seconds is not None]

    def _line(self, model: str, arm: str, groups: Sequence[str], name: str) -> dict[str, Any]:
        place = model, arm
        items = [item for group in groups for item in self._items[place][group]]
        exact = {group: [100.0 * item.exact for item in self._items[place][group]] for group in groups}
        f1 = self._f1(place, groups)
        return {
            "model": model,
            "arm": arm,
            "reads": "text" if is_text(arm) else "images",
            "group": name,
            "n": len(items),
            "contexts": sum(self.draws.contexts(group) for group in groups),
            "failed": sum(bool(item.failed) for item in items),
            "f1": _cut(self.draws.mean(f1)),
            "f1_interval": _pair(self.draws.interval(f1)),
            "exact": _cut(self.draws.mean(exact)),
            "exact_interval": _pair(self.draws.interval(exact)),
            "rows": _cut(statistics.fmean(self.rows(place, group) for group in groups)),
            "ttft": _cut(self.seconds(place, groups)),
        }


def _item(line: Line) -> Item:
    failed = line.error is not None
    return Item(
        line.id,
        100 * score(line),
        not failed and exact_match(line.pred, line.answers),
        line.first_token_seconds,
        line.rows,
        (line.error or "").partition(":")[0],
    )


def as_row(a: tuple[str, str], b: tuple[str, str], group: str, gap: Gap) -> dict[str, Any]:
    """A compared pair as JSON and CSV hold it."""
    facts = {name: _pair(value) if isinstance(value, tuple) else _cut(value) for name, value in asdict(gap).items()}
    return {"a": a[1], "b": b[1], "model_a": a[0], "model_b": b[0], "group": group, **facts}


def _cut(value: float | None) -> float | None:
    """Six digits: what lies behind them differs from one machine to the next."""
    return None if value is None else float(f"{value:.6g}")


def _pair(found: Interval | None) -> list[float | None] | None:
    return None if found is None else [_cut(end) for end in found]
