"""What the house does goes in, as it happens: answers, failures, stages of ingest. It comes out as numbers (`metrics.py`) and as traces."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

from ingest.types import Evicted, Progress

from .metrics import STAGES, Metrics
from .types import Answer


class Traces(Protocol):
    """Where spans go; `tracing.py` has the one that sends them somewhere."""

    def request(self, method: str, route: str, number: str) -> AbstractContextManager[dict[str, Any]]:
        """A span that is open while a request is; what stands in the dictionary at its end becomes its attributes."""

    def answered(self, answer: Answer) -> None:
        """Spans of the parts of an answer that has just ended."""

    def staged(self, stage: str, begun: float, ended: float) -> None:
        """A span of a stage of ingest; unix seconds."""

    def close(self) -> None:
        """Send what is left."""


class Untraced:
    """Traces that go nowhere."""

    @contextmanager
    def request(self, method: str, route: str, number: str) -> Iterator[dict[str, Any]]:
        yield {}

    def close(self) -> None:
        pass

    def answered(self, answer: Answer) -> None:
        pass

    def staged(self, stage: str, begun: float, ended: float) -> None:
        pass


@dataclass(frozen=True)
class _At:
    stage: str
    name: str
    begun: float


class Watch:
    """The one place that is told. It must never fail what it watches: it takes values, and keeps no document's text or name."""

    def __init__(self, metrics: Metrics | None = None, traces: Traces | None = None) -> None:
        self.metrics = metrics or Metrics()
        self.traces: Traces = traces or Untraced()
        self._at = threading.local()

    def answered(self, answer: Answer) -> None:
        """Called in the walk's thread, when the answer is whole or was stopped on the way."""
        self.metrics.answered(answer)
        self.traces.answered(answer)

    def failed(self, kind: str) -> None:
        """`kind`: the error's type."""
        self.metrics.failed(kind)

    def cancelled(self) -> None:
        """A question whose client went away before its turn."""
        self.metrics.cancelled()

    def evicted(self, gone: Evicted) -> None:
        """Caches and patches went to keep to `disk_bytes`."""
        self.metrics.evicted(len(gone.caches) + gone.patches, gone.bytes)

    def progress(self, at: Progress) -> None:
        """Called in the thread that ingests: the stage before ends where the next one, or the next file, begins."""
        before: _At | None = getattr(self._at, "value", None)
        if before is not None and before.stage == at.stage and before.name == at.name:
            return
        now = time.time()
        if before is not None:
            self.metrics.staged(before.stage, now - before.begun)
            self.traces.staged(before.stage, before.begun, now)
        self._at.value = _At(at.stage, at.name, now) if at.stage in STAGES else None
