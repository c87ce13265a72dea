"""Work goes in; seconds come out, counted until the device is done; and many seconds become percentiles.

On a GPU a call returns when its kernels are queued. A part that is timed without waiting for them would be charged to the part behind it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

import numpy as np
import torch

from app.context import Context
from app.types import Question
from cache_compiler.types import Assembly

Percentiles = dict[str, float]


def settle(device: torch.device) -> None:
    """Wait until the device has done what it was given."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def timed(device: torch.device, work: Callable[[], object]) -> float:
    """Seconds from an idle device to an idle device."""
    settle(device)
    begun = time.perf_counter()
    work()
    settle(device)
    return time.perf_counter() - begun


def percentiles(seconds: Sequence[float]) -> Percentiles:
    """n, mean, p50, p90, p99, min and max; between two values linearly. Raises ValueError on none."""
    if not seconds:
        raise ValueError("no measurement, no percentiles")
    p50, p90, p99 = (float(value) for value in np.percentile(seconds, (50, 90, 99)))
    return {
        "n": len(seconds),
        "mean": float(np.mean(seconds)),
        "p50": p50,
        "p90": p90,
        "p99": p99,
        "min": min(seconds),
        "max": max(seconds),
    }


class Turns(Protocol):
    """What the walk asks of `House.conversations`."""

    def turn(self, question: Question) -> Any: ...


class SettledTurns:
    """The contexts of the served walk, with a wait for the device behind each of their steps: on a GPU its timings are then those of
    its parts. All else is the walk's own."""

    def __init__(self, inner: Turns, wait: Callable[[], None]) -> None:
        self._inner, self._wait = inner, wait

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    @contextmanager
    def turn(self, question: Question) -> Iterator[Any]:
        with self._inner.turn(question) as context:
            yield _Settled(context, self._wait)


class _Settled:
    def __init__(self, inner: Context, wait: Callable[[], None]) -> None:
        self._inner, self._wait = inner, wait

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def load(self) -> None:
        self._inner.load()
        self._wait()

    def place(self, room: int) -> Assembly:
        assembly = self._inner.place(room)
        self._wait()
        return assembly
