"""Items of several groups with the context each was asked of go in; means over groups and their 95 % intervals come out.

Contexts are drawn, not items: questions over the same pages stand and fall together, and drawn one by one they would make an interval too narrow.
One set of draws serves all arms, so a difference of two arms is paired. Groups (tasks, or page counts) are drawn apart and weigh alike
(QV-PIC, Experiments, Datasets: "first averaged within each task and then equally averaged across tasks").
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy
from numpy.typing import NDArray

DRAWS = 4000
SEED = 42

Interval = tuple[float, float]
Values = Mapping[str, Sequence[float]]  # group -> a value an item, in the items' order


class Draws:
    """Resampled contexts of each group, drawn once and seeded by the group's name: a figure does not hang on which other groups there are."""

    def __init__(self, contexts: Mapping[str, Sequence[str]]) -> None:
        self._members: dict[str, NDArray[Any]] = {}  # group -> the number of each item's context
        self._weights: dict[str, NDArray[Any]] = {}  # group -> [draws, contexts], how often each context was drawn
        for group, names in contexts.items():
            numbers = {name: number for number, name in enumerate(dict.fromkeys(names))}
            self._members[group] = numpy.array([numbers[name] for name in names])
            generator = numpy.random.default_rng([SEED, zlib.crc32(group.encode())])
            n = len(numbers)
            self._weights[group] = generator.multinomial(n, [1 / n] * n, size=DRAWS).astype(numpy.float64)

    def contexts(self, group: str) -> int:
        return int(self._weights[group].shape[1])

    def mean(self, values: Values) -> float:
        """Within each group, then over the groups."""
        return float(numpy.mean([numpy.mean(found) for found in values.values()]))

    def interval(self, values: Values) -> Interval | None:
        """Of that mean; None where a group has a single context, which says nothing of others."""
        if any(self.contexts(group) < 2 for group in values):
            return None
        drawn = numpy.mean([self._drawn(group, found) for group, found in values.items()], axis=0)
        low, high = numpy.percentile(drawn, (2.5, 97.5))
        return float(low), float(high)

    def _drawn(self, group: str, found: Sequence[float]) -> NDArray[Any]:
        members, weights = self._members[group], self._weights[group]
        sums = numpy.bincount(members, weights=numpy.asarray(found, dtype=numpy.float64), minlength=weights.shape[1])
        counts = numpy.bincount(members, minlength=weights.shape[1])
        means: NDArray[Any] = (weights @ sums) / (weights @ counts)
        return means


def exponent(found: Interval | None) -> Interval | None:
    """The interval of a mean logarithm as that of the ratio."""
    return None if found is None else (math.exp(found[0]), math.exp(found[1]))
