"""Canonicals go in; the most recently used ones stay in memory, up to a number of bytes."""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import replace

from .types import Canonical


class RamLayer:
    """Least recently used out first. A canonical larger than the whole layer passes through without being kept."""

    def __init__(self, limit: int) -> None:
        self.limit, self.bytes = limit, 0
        self._kept: OrderedDict[str, Canonical] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: str) -> Canonical | None:
        with self._lock:
            found = self._kept.get(key)
            if found is not None:
                self._kept.move_to_end(key)
            return found

    def keep(self, canonical: Canonical) -> Canonical:
        """Keep a copy that no longer hangs on the mapped file; returns what the caller should use."""
        if canonical.bytes > self.limit:
            return canonical
        copy = replace(canonical, rotary=canonical.rotary.clone(), plain=canonical.plain.clone())
        with self._lock:
            self._forget(copy.key)
            self._kept[copy.key] = copy
            self.bytes += copy.bytes
            while self.bytes > self.limit:
                self._forget(next(iter(self._kept)))
        return copy

    def drop(self, key: str) -> None:
        with self._lock:
            self._forget(key)

    def _forget(self, key: str) -> None:
        gone = self._kept.pop(key, None)
        if gone is not None:
            self.bytes -= gone.bytes
