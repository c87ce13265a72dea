"""Measurements of a sample, and the size of what was not measured, go in; totals come out, with how far they may be off."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Table = NDArray[np.float64]


@dataclass(frozen=True)
class Amount:
    """A total with the range that it is thought to lie in; of what was counted the three are one number."""

    value: float = 0.0
    low: float = 0.0
    high: float = 0.0

    @classmethod
    def exactly(cls, value: float) -> Amount:
        return cls(value, value, value)

    @property
    def exact(self) -> bool:
        return self.low == self.value == self.high

    def __add__(self, other: Amount) -> Amount:
        """Ends are added to ends: parts that are off are most often off the same way."""
        return Amount(self.value + other.value, self.low + other.low, self.high + other.high)

    def __mul__(self, other: Amount) -> Amount:
        """Neither may be negative."""
        return Amount(self.value * other.value, self.low * other.low, self.high * other.high)

    def scaled(self, by: float) -> Amount:
        return self * Amount.exactly(by)


def extrapolate(sizes: Sequence[float], measured: Table, rest: float) -> tuple[Table, Table]:
    """sizes [n] of the sampled parts and what was measured of them [n, k], to parts of together `rest` that were not sampled:
    totals [k] over both, and their variances [k].

    The ratio estimator, with the variance of its prediction where that of a part grows with its size (Royall, Biometrika 57, 1970); of few
    parts it is made larger, so that two standard deviations hold the truth 19 times in 20 all the same (Student). One part
    alone says nothing of how parts differ: its standard deviation is then taken to be all that it adds.
    """
    total = measured.sum(axis=0)
    if rest <= 0:
        return total, np.zeros_like(total)
    known = float(sum(sizes))
    ratio = total / known
    if len(sizes) == 1:
        return total + ratio * rest, (ratio * rest) ** 2
    x = np.asarray(sizes, np.float64)[:, None]
    scatter = ((measured - ratio * x) ** 2 / x).sum(axis=0) / (len(sizes) - 1)
    return total + ratio * rest, scatter * rest * (known + rest) / known * (_student(len(sizes) - 1) / 2) ** 2


def _student(freedom: int) -> float:
    """The 97.5 % point of Student's t, by the first terms of its expansion in 1/freedom (Abramowitz and Stegun, 26.7.5)."""
    z = 1.96
    return z + (z**3 + z) / (4 * freedom) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * freedom**2)


def within(value: float, variance: float, counted: float = 0.0) -> Amount:
    """Two standard deviations to either side, and never below what was counted."""
    reach = 2 * math.sqrt(variance)
    return Amount(value, max(counted, value - reach), value + reach)


def evenly(count: int, among: int) -> list[int]:
    """`count` of the numbers below `among`, ascending, evenly spread; all of them where there are no more."""
    count = min(count, among)
    return [(2 * number + 1) * among // (2 * count) for number in range(count)]
