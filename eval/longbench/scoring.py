"""Sample scores go in, task by task; task scores, the mean over tasks, LongBench-E's buckets, intervals and paired comparisons come out.

All in per cent, two decimals. Draws are seeded by the task's name, so a number does not hang on which other tasks were run.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy
from numpy.typing import NDArray

DRAWS = 10_000
SEED = 42
# LongBench-E: by the row's `length`, in words.
BUCKETS = ("0-4k", "4-8k", "8k+")

Scores = Mapping[str, Sequence[float]]  # task -> sample scores, 0 to 1, in the rows' order
Interval = tuple[float, float]


@dataclass(frozen=True)
class Difference:
    """a minus b: points, the 95 % interval of the paired bootstrap, and the two-sided p of the sign-flip test."""

    points: float
    interval: Interval
    p: float


def per_cent(scores: Sequence[float]) -> float:
    """LongBench's task score: 100 x sum / count, two decimals. Failed samples are in it, as zeros."""
    return round(100 * sum(scores) / len(scores), 2)


def mean_of_tasks(scores: Scores) -> float:
    """The plain mean of the task scores as they are printed (QV-PIC: within each task, then equally over tasks); LongBench defines none."""
    return round(sum(per_cent(group) for group in scores.values()) / len(scores), 2)


def bucket(length: int) -> str:
    return BUCKETS[0] if length < 4000 else BUCKETS[1] if length < 8000 else BUCKETS[2]


def by_length(scores: Sequence[float], lengths: Sequence[int]) -> dict[str, tuple[float | None, int]]:
    """(score, rows) of each of LongBench-E's three buckets; None where a bucket has no row (theirs prints nan)."""
    groups: dict[str, list[float]] = {name: [] for name in BUCKETS}
    for score, length in zip(scores, lengths, strict=True):
        groups[bucket(length)].append(score)
    return {name: (per_cent(group) if group else None, len(group)) for name, group in groups.items()}


def interval(task: str, scores: Sequence[float]) -> Interval:
    """95 % of a task's score by the percentile bootstrap over its samples (Efron, 1979)."""
    return _middle(_resampled(task, scores))


def interval_of_mean(scores: Scores) -> Interval:
    """The same of the mean over tasks: each task's samples are drawn within it, and every task weighs the same."""
    return _middle(_over_tasks(_resampled(task, group) for task, group in scores.items()))


def compare(a: Scores, b: Scores) -> tuple[dict[str, Difference], Difference]:
    """(each task, the mean over tasks) of a minus b over the same samples, row by row.

    The bootstrap draws samples, each with both its scores; the test flips the sign of each sample's difference (Fisher's randomisation
    test), and counts the flips whose mean is at least as far from 0, the observed one included.
    Raises ValueError where the two are not over the same tasks and rows.
    """
    if {task: len(group) for task, group in a.items()} != {task: len(group) for task, group in b.items()}:
        raise ValueError("two arms are compared over the same tasks and rows")
    gaps = {task: numpy.asarray(a[task]) - numpy.asarray(b[task]) for task in a}
    drawn = {task: _resampled(task, gap) for task, gap in gaps.items()}
    flipped = {task: _flipped(task, gap) for task, gap in gaps.items()}
    each = {task: _difference(float(gap.mean()), drawn[task], flipped[task]) for task, gap in gaps.items()}
    observed = float(numpy.mean([gap.mean() for gap in gaps.values()]))
    return each, _difference(observed, _over_tasks(drawn.values()), _over_tasks(flipped.values()))


def _difference(observed: float, drawn: NDArray[Any], flipped: NDArray[Any]) -> Difference:
    # Rounding must not make two equal means unequal.
    extreme = int((numpy.abs(flipped) >= abs(observed) - 1e-12).sum())
    return Difference(round(100 * observed, 2), _middle(drawn), round((extreme + 1) / (len(flipped) + 1), 4))


def _resampled(task: str, scores: Sequence[float] | NDArray[Any]) -> NDArray[Any]:
    """Means [draws] of as many samples, drawn with replacement. Two arms of a task draw the same places."""
    values = numpy.asarray(scores, dtype=numpy.float64)
    places = _generator(task, 0).integers(0, len(values), size=(DRAWS, len(values)))
    means: NDArray[Any] = values[places].mean(axis=1)
    return means


def _flipped(task: str, gap: NDArray[Any]) -> NDArray[Any]:
    signs = _generator(task, 1).integers(0, 2, size=(DRAWS, len(gap))) * 2 - 1
    means: NDArray[Any] = (signs * gap).mean(axis=1)
    return means


def _over_tasks(groups: Any) -> NDArray[Any]:
    mean: NDArray[Any] = numpy.mean(list(groups), axis=0)
    return mean


def _generator(task: str, purpose: int) -> numpy.random.Generator:
    return numpy.random.default_rng([SEED, purpose, zlib.crc32(task.encode())])


def _middle(means: NDArray[Any]) -> Interval:
    low, high = numpy.percentile(100 * means, (2.5, 97.5))
    return round(float(low), 2), round(float(high), 2)
