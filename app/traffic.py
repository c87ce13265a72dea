"""Requests go in as they end; counters by route, method and status come out, and what the process takes of memory and time."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector

from .metrics import KINDS, SECONDS

METHODS = frozenset(["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS"])


class Traffic:
    """HTTP as one application has seen it. Routes are templates of a table, and methods a closed set: whoever knocks cannot make a series."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._requests = Counter(
            "quire_http_requests", "Requests, by route, method and status.", ["route", "method", "status"], registry=self.registry
        )
        self._seconds = Histogram(
            "quire_http_request_seconds", "Seconds from a request's head to the end of its answer.", ["route"], buckets=SECONDS,
            registry=self.registry,
        )  # fmt: skip
        self._errors = Counter("quire_http_errors", "Requests that were refused or failed, by error.", ["error"], registry=self.registry)
        self.open = Gauge("quire_http_requests_open", "Requests in hand.", registry=self.registry)
        ProcessCollector(registry=self.registry)

    def seen(self, route: str, method: str, status: int, seconds: float, error: str = "") -> None:
        """A request has ended; status 0 where its client went away before there was one. `error`: the type of what it was refused for."""
        self._requests.labels(route, method if method in METHODS else "other", str(status)).inc()
        self._seconds.labels(route).observe(seconds)
        if error:
            self._errors.labels(error if error in KINDS else "InternalError").inc()
