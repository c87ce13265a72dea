"""What was read from disk goes in by key; the most recently used stays in memory, up to a number of bytes."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, Protocol, TypeVar


class Weighed(Protocol):
    """Something that knows what it takes."""

    @property
    def bytes(self) -> int: ...


T = TypeVar("T", bound=Weighed)


class RamLayer(Generic[T]):
    """Least recently used out first. What is larger than the whole layer passes through without being kept."""

    def __init__(self, limit: int) -> None:
        self.limit, self.bytes = limit, 0
        # How often something that was asked for was here, and was not.
        self.hits = self.misses = 0
        self._kept: OrderedDict[str, T] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: str) -> T | None:
        with self._lock:
            found = self._kept.get(key)
            if found is not None:
                self._kept.move_to_end(key)
                self.hits += 1
            else:
                self.misses += 1
            return found

    def keep(self, key: str, value: T, copied: Callable[[T], T]) -> T:
        """Keep a copy that no longer hangs on the mapped file, as `copied` makes it; returns what the caller should use."""
        if value.bytes > self.limit:
            return value
        copy = copied(value)
        with self._lock:
            self._forget(key)
            self._kept[key] = copy
            self.bytes += copy.bytes
            while self.bytes > self.limit:
                self._forget(next(iter(self._kept)))
        return copy

    def keep_only(self, there: Callable[[str], bool]) -> int:
        """Drop every key that is not `there` any more; returns how many. What another process deleted must not stay until it is asked for."""
        with self._lock:
            keys = list(self._kept)
        gone = [key for key in keys if not there(key)]
        for key in gone:
            self.drop(key)
        return len(gone)

    def drop(self, key: str) -> bool:
        """Returns whether it was there."""
        with self._lock:
            return self._forget(key)

    def _forget(self, key: str) -> bool:
        gone = self._kept.pop(key, None)
        if gone is None:
            return False
        self.bytes -= gone.bytes
        return True
