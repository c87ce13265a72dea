"""Asks go in; they come out one at a time, in order of arrival: the model is one, and a bounded number may wait for it."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from .errors import Busy, ShuttingDown


class Lane:
    """A turn at the model. `waiting` asks at most stand in line; one more is turned away at once rather than kept for minutes."""

    def __init__(self, waiting: int = 8) -> None:
        self.waiting = waiting
        self._changed = threading.Condition()
        self._line: list[object] = []
        self._closed = False

    @property
    def length(self) -> int:
        """Asks in the lane, the one being answered included."""
        return len(self._line)

    @contextmanager
    def turn(self, cancel: threading.Event | None = None, patience: float | None = None) -> Iterator[bool]:
        """Wait for the turn; yields False when `cancel` was set while waiting.

        `patience`: for what takes no time itself, and may come next, before all questions that wait; after so many seconds it goes without,
        and False is yielded.

        Raises:
            Busy: more asks wait than may.
            ShuttingDown: the lane is closed, also for those that wait.
        """
        ticket = object()
        with self._changed:
            self._refuse()
            if patience is None and len(self._line) > self.waiting:
                raise Busy(f"{len(self._line) - 1} questions are waiting already, the limit (queue); try again in a few seconds")
            self._line.insert(len(self._line) if patience is None else 1, ticket)
        end = None if patience is None else time.monotonic() + patience
        try:
            with self._changed:
                while self._line[0] is not ticket:
                    self._refuse()
                    if (cancel is not None and cancel.is_set()) or (end is not None and time.monotonic() >= end):
                        break
                    self._changed.wait(0.1)
                ours = self._line[0] is ticket
            yield ours
        finally:
            with self._changed:
                self._line.remove(ticket)
                self._changed.notify_all()

    def close(self, timeout: float = 5.0) -> bool:
        """Give no more turns, and wait for the one that is taken; whether it ended in time. What it works with can be closed then."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
            return self._changed.wait_for(lambda: not self._line, timeout)

    @contextmanager
    def spare(self) -> Iterator[bool]:
        """The turn, if nobody wants it now: for work that can wait. Yields False at once where somebody does."""
        ticket = object()
        with self._changed:
            ours = not self._line and not self._closed
            if ours:
                self._line.append(ticket)
        try:
            yield ours
        finally:
            if ours:
                with self._changed:
                    self._line.remove(ticket)
                    self._changed.notify_all()

    def _refuse(self) -> None:
        if self._closed:
            raise ShuttingDown("the house is being closed: ask again in a few seconds")
