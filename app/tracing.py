"""An OTLP address goes in; spans of requests, answers and ingest go out to it: when things began and ended, and how many, never what was said.

Only with the extra `otel`, and only where the setting asks for it: nothing of OpenTelemetry is imported otherwise.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from .errors import BadSettings
from .types import Answer
from .watch import Untraced

if TYPE_CHECKING:
    from opentelemetry.sdk.trace.export import SpanExporter

# Parts of an answer's time, in their order: prefill stands behind what the pages took, and decode is what comes after the first token.
_PARTS = ("retrieve", "plan", "load", "place", "prefill", "rest")
_NAMES = {"rest": "decode"}


class Tracing(Untraced):
    """Where spans go. `request` opens one that what follows in the same context, and in the walk's thread, stands under."""

    def __init__(self, exporter: SpanExporter, at_once: bool = False) -> None:
        """`at_once`: send each span as it ends; otherwise in batches, beside the work."""
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor, SimpleSpanProcessor

        self._provider = TracerProvider(resource=Resource({"service.name": "quire"}))
        self._provider.add_span_processor(SimpleSpanProcessor(exporter) if at_once else BatchSpanProcessor(exporter))
        self._tracer = self._provider.get_tracer("quire")

    @contextmanager
    def request(self, method: str, route: str, number: str) -> Iterator[dict[str, Any]]:
        """A span of one request; what stands in the dictionary at its end becomes its attributes."""
        with self._tracer.start_as_current_span(f"{method} {route}") as span:
            span.set_attributes({"http.request.method": method, "http.route": route, "quire.request_id": number})
            told: dict[str, Any] = {}
            try:
                yield told
            finally:
                span.set_attributes(told)

    def answered(self, answer: Answer) -> None:
        """The parts are told behind the last of them: the walk measures them anyway, and nothing is added to its way."""
        seconds = [(part, max(0.0, getattr(answer.timings, part))) for part in _PARTS]
        end = time.time_ns()
        begun = end - sum(_ns(taken) for _, taken in seconds)
        walk = self._tracer.start_span("answer", start_time=begun)
        tiers = [page.tier for page in answer.provenance]
        walk.set_attributes(
            {
                "quire.pages": len(tiers),
                "quire.patched": sum(page.patch is not None for page in answer.provenance),
                "quire.rows": answer.plan.rows,
                "quire.tokens": answer.tokens,
                "quire.finish": answer.finish,
                "quire.first_token": answer.timings.first_token,
                **{f"quire.pages.{tier}": tiers.count(tier) for tier in sorted(set(tiers))},
            }
        )
        from opentelemetry.trace import set_span_in_context

        under, at = set_span_in_context(walk), begun
        for part, taken in seconds:
            self._tracer.start_span(_NAMES.get(part, part), context=under, start_time=at).end(at + _ns(taken))
            at += _ns(taken)
        walk.end(end)

    def staged(self, stage: str, begun: float, ended: float) -> None:
        self._tracer.start_span(f"ingest {stage}", start_time=_ns(begun)).end(_ns(ended))

    def close(self) -> None:
        """Send what is left."""
        with contextlib.suppress(Exception):  # who cannot be reached at the end must not keep the server from ending
            self._provider.shutdown()


def tracing(endpoint: str) -> Tracing:
    """Traces that go to an OTLP collector by HTTP. Raises BadSettings where the extra is not installed."""
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    except ImportError as error:
        raise BadSettings("otel is set, and OpenTelemetry is not installed: pip install 'quire[otel]', or leave otel unset") from error
    return Tracing(OTLPSpanExporter(endpoint=endpoint))


def _ns(seconds: float) -> int:
    return int(seconds * 1e9)
