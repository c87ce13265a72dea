"""Finished samples are counted in; a line with the rate and the time left comes out on a terminal, and every half minute in a log."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import TextIO

_LOG_SECONDS = 30.0


class Progress:
    """`before` samples were finished by an earlier run: they count as done and not in the rate."""

    def __init__(self, total: int, before: int = 0, stream: TextIO | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self.total, self.done, self._now = total, before, 0
        self._stream, self._clock = stream or sys.stderr, clock
        self._begun = self._said = clock()

    def step(self) -> None:
        """One more sample is on the disk."""
        self.done += 1
        self._now += 1
        now = self._clock()
        last = self.done == self.total
        if self._stream.isatty():
            print(f"\r\x1b[K{self.line(now)}", end="\n" if last else "", file=self._stream, flush=True)
        elif last or now - self._said >= _LOG_SECONDS:
            self._said = now
            print(self.line(now), file=self._stream, flush=True)

    def line(self, now: float) -> str:
        rate = self._now / max(now - self._begun, 1e-9)
        left = (self.total - self.done) / rate if self._now else 0.0
        return f"{self.done:,} of {self.total:,} samples, {_rate(rate)}, {_time(left)} left"


def _rate(a_second: float) -> str:
    """Of slow models a rate a second has no digits."""
    return f"{a_second:.1f} a second" if a_second >= 1 else f"{a_second * 60:.1f} a minute"


def _time(seconds: float) -> str:
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"
