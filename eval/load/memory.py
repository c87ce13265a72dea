"""Looks at a process's memory go in; its slope over the last two thirds, its peak and whether it was flat come out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

MIB = 1024 * 1024
# Flat: what the fitted line gains over the window it was fitted to is within this share of its mean, or within these bytes.
SHARE = 0.05
LEAST = 24 * MIB
# A server that was just started still fills what it may fill; a shorter look says nothing.
MINUTES = 5.0


@dataclass(frozen=True)
class Memory:
    """`slope` in bytes a minute, by least squares over the last two thirds; `gain` is slope times that window; `flat` is None where the
    run was too short to say, or the server was killed in it."""

    first: int
    last: int
    peak: int
    slope: float
    gain: float
    flat: bool | None


def judged(seen: Sequence[tuple[float, int, int]]) -> Memory | None:
    """Of (seconds, bytes, life) in order of time; None without two looks."""
    if len(seen) < 2:
        return None
    sizes = [size for _, size, _ in seen]
    begun, ended = seen[0][0], seen[-1][0]
    window = [(at, size) for at, size, _ in seen if at >= begun + (ended - begun) / 3]
    times = np.array([at for at, _ in window]) / 60
    kept = np.array([size for _, size in window], dtype=np.float64)
    slope = float(np.polyfit(times, kept, 1)[0]) if len(window) > 1 and times[-1] > times[0] else 0.0
    gain = slope * float(times[-1] - times[0])
    long_enough = (ended - begun) / 60 >= MINUTES and len({life for _, _, life in seen}) == 1
    return Memory(sizes[0], sizes[-1], max(sizes), slope, gain, gain <= max(SHARE * float(kept.mean()), LEAST) if long_enough else None)
