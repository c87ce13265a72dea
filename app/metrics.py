"""Answers, failures, evictions and ingest stages go in; counters and histograms come out, as Prometheus reads them and as `/v1/stats` shows them.

Label values come from closed sets alone (outcomes, tiers, stages, types of errors that have a row): a name or a text never becomes one,
so a scrape has the same few hundred lines after a year as after a day.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Sequence

from prometheus_client import CollectorRegistry, Counter, Histogram
from prometheus_client.registry import Collector

from .errors import TABLE
from .types import Answer

# Seconds: a page from memory is placed in a millisecond; a long queue before a large model takes a minute.
SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
STAGE_SECONDS = (0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0, 30.0, 60.0, 300.0, 1800.0, 7200.0)
PARTS = ("retrieve", "plan", "load", "place", "prefill", "first_token")
STAGES = ("load", "chunk", "paginate", "rasterise", "ocr", "compile", "patch", "store", "index")
LATELY = 1000  # answers whose times to the first token are kept for p50 and p99
KINDS = frozenset(kind.__name__ for kind in TABLE)


class Metrics:
    """What one house has done since it was opened. Thread-safe; its memory does not grow."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.begun = time.time()
        self.answered_count = self.failed_count = 0
        self._lock = threading.Lock()
        self._lately: deque[float] = deque(maxlen=LATELY)
        self._questions = Counter("quire_questions", "Questions, by outcome.", ["outcome"], registry=self.registry)
        self._failures = Counter("quire_question_failures", "Questions that failed, by error.", ["error"], registry=self.registry)
        self._pages = Counter("quire_pages_read", "Pages of answers, by where their caches came from.", ["tier"], registry=self.registry)
        self._read = Counter("quire_cache_read_bytes", "Bytes of caches read, by where from.", ["tier"], registry=self.registry)
        self._patches = Counter(
            "quire_patches", "Patches of answers' pages: used, by how they fit, or passed over.", ["use"], registry=self.registry
        )
        self._first = Histogram(
            "quire_first_token_seconds", "Time to the first token, whole and by part.", ["part"], buckets=SECONDS, registry=self.registry
        )
        self._tokens = Counter("quire_answer_tokens", "Tokens of answers.", registry=self.registry)
        self._evicted = Counter("quire_evicted_files", "Caches and patches that went to keep to disk_bytes.", registry=self.registry)
        self._evicted_bytes = Counter("quire_evicted_bytes", "Bytes that went to keep to disk_bytes.", registry=self.registry)
        self._stages = Histogram(
            "quire_ingest_stage_seconds", "Stages of ingest, one file each.", ["stage"], buckets=STAGE_SECONDS, registry=self.registry
        )
        for outcome in ("answered", "failed", "cancelled"):
            self._questions.labels(outcome)
        for tier in ("ram", "disk", "window", "compiled"):
            self._pages.labels(tier), self._read.labels(tier)

    def answered(self, answer: Answer) -> None:
        """A question has its answer; one that was stopped on the way counts as cancelled."""
        cancelled = answer.finish == "cancelled"
        with self._lock:
            if not cancelled:
                self.answered_count += 1
                self._lately.append(answer.timings.first_token)
        self._questions.labels("cancelled" if cancelled else "answered").inc()
        self._tokens.inc(answer.tokens)
        for part in PARTS:
            self._first.labels(part).observe(getattr(answer.timings, part))
        for page in answer.provenance:
            self._pages.labels(page.tier).inc()
            self._read.labels(page.tier).inc(page.bytes_read)
            if page.patch is not None:
                self._patches.labels(page.patch.match).inc()
            elif page.note:
                self._patches.labels("passed over").inc()

    def failed(self, kind: str) -> None:
        """A question failed; `kind` is the error's type, as in `Failed.type`."""
        with self._lock:
            self.failed_count += 1
        self._questions.labels("failed").inc()
        self._failures.labels(kind if kind in KINDS else "InternalError").inc()

    def cancelled(self) -> None:
        """A question whose client went away before its turn came."""
        self._questions.labels("cancelled").inc()

    def evicted(self, files: int, size: int) -> None:
        """Files went to keep to `disk_bytes`: how many, and their bytes."""
        self._evicted.inc(files)
        self._evicted_bytes.inc(size)

    def staged(self, stage: str, seconds: float) -> None:
        """A file has gone through a stage of ingest."""
        if stage in STAGES:
            self._stages.labels(stage).observe(seconds)

    def add(self, collector: Collector) -> None:
        """Numbers that are looked up when they are asked for."""
        self.registry.register(collector)

    def first_token(self) -> tuple[float, float] | None:
        """p50 and p99 of the time to the first token, in seconds, over the last `LATELY` answers; None before the first."""
        with self._lock:
            lately = sorted(self._lately)
        return (_quantile(lately, 0.5), _quantile(lately, 0.99)) if lately else None

    @property
    def uptime(self) -> float:
        """Seconds since the house was opened."""
        return time.time() - self.begun


def _quantile(ordered: Sequence[float], share: float) -> float:
    """The smallest value that `share` of them do not exceed."""
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]
