"""What was varied and what was measured go in; coefficients that are not negative come out, with how far the fit is from the measurements."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from .clock import settle


@dataclass(frozen=True)
class Fit:
    """measured ~ sum of coefficient x column. `error` is the median distance from the measurements, relative; `r2` the share explained."""

    coefficients: dict[str, float]
    error: float
    r2: float
    n: int

    def at(self, row: Mapping[str, float]) -> float:
        return sum(value * row[name] for name, value in self.coefficients.items())


def fit(columns: Mapping[str, Sequence[float]], measured: Sequence[float]) -> Fit:
    """Least squares of the relative residuals, so that small measurements count as much as large ones.

    No cost is negative: a column whose coefficient would be is left out (0), the most negative first. Raises ValueError where there are
    fewer measurements than columns.
    """
    wanted = np.array(measured, dtype=np.float64)
    if len(wanted) < len(columns):
        raise ValueError(f"{len(wanted)} measurements for {len(columns)} coefficients: measure more points")
    matrix = np.array([columns[name] for name in columns], dtype=np.float64).T
    names, kept = list(columns), list(range(len(columns)))
    solved = np.zeros(len(names))
    while kept:
        # Scaled, for bytes and seconds are nine powers of ten apart.
        scale = np.abs(matrix[:, kept]).max(axis=0)
        scale[scale == 0] = 1.0
        answer = np.linalg.lstsq(matrix[:, kept] / scale / wanted[:, None], np.ones(len(wanted)), rcond=None)[0] / scale
        worst = int(np.argmin(answer * scale))
        if answer[worst] >= 0:
            solved[kept] = answer
            break
        kept.pop(worst)
    said = matrix @ solved
    spread = float(((wanted - wanted.mean()) ** 2).sum())
    r2 = 1.0 - float(((wanted - said) ** 2).sum()) / spread if spread else math.nan
    return Fit(
        dict(zip(names, map(float, solved), strict=True)),
        float(np.median(np.abs(said - wanted) / wanted)),
        r2 if spread else 0.0,
        len(wanted),
    )


def bandwidth(device: torch.device, size: int = 1 << 28, repeats: int = 5) -> float:
    """Bytes a second that a copy of `size` bytes moves, reading and writing counted each: the best of `repeats`, for it is a limit."""
    source = torch.ones(size, dtype=torch.uint8, device=device)
    target = torch.empty_like(source)
    target.copy_(source)  # pages are given out when they are first written
    best = math.inf
    for _ in range(repeats):
        settle(device)
        begun = time.perf_counter()
        target.copy_(source)
        settle(device)
        best = min(best, time.perf_counter() - begun)
    return 2 * size / best
