"""Traces: a request, its answer's parts and the stages of ingest, one under the other, and no text in any of them."""

import contextvars
import itertools
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from app.settings import Settings
from app.types import Answer, Provenance, Timings
from app.watch import Watch
from ingest.types import Progress
from retrieval.types import Plan

export = pytest.importorskip("opentelemetry.sdk.trace.export.in_memory_span_exporter", reason="the extra otel is not installed")
ROOT = Path(__file__).resolve().parent.parent.parent


@pytest.fixture
def traced():
    from app.tracing import Tracing

    exporter = export.InMemorySpanExporter()
    return Tracing(exporter, at_once=True), exporter


def answer() -> Answer:
    pages = tuple(Provenance(f"secret{n}", 72, tier, 1, 0, 1, 0) for n, tier in enumerate(("ram", "disk", "ram")))
    times = Timings(0.01, 0.02, 0.03, 0.04, 0.05, 0.15, 0.5)
    return Answer("a secret?", "secret", "a secret", "stop", 7, "reader", Plan((), ()), (), pages, times)


def test_an_answers_parts_stand_under_it_in_their_order_and_it_under_its_request(traced):
    tracing, exporter = traced
    with tracing.request("POST", "/v1/ask", "abc") as told:
        thread = threading.Thread(target=contextvars.copy_context().run, args=(Watch(traces=tracing).answered, answer()))
        thread.start()
        thread.join()
        told["http.response.status_code"] = 200
    spans = {span.name: span for span in exporter.get_finished_spans()}
    walk, request = spans["answer"], spans["POST /v1/ask"]
    parts = [spans[name] for name in ("retrieve", "plan", "load", "place", "prefill", "decode")]
    assert walk.parent.span_id == request.context.span_id
    assert all(part.parent.span_id == walk.context.span_id for part in parts)
    assert all(one.end_time == two.start_time for one, two in itertools.pairwise(parts))
    assert [round((part.end_time - part.start_time) / 1e9, 3) for part in parts] == [0.01, 0.02, 0.03, 0.04, 0.05, 0.5]
    assert walk.attributes["quire.pages.ram"] == 2
    assert dict(request.attributes) == {
        "http.request.method": "POST",
        "http.route": "/v1/ask",
        "quire.request_id": "abc",
        "http.response.status_code": 200,
    }


def test_stages_of_ingest_are_spans_and_nothing_that_was_said_or_named_is_in_any(traced):
    tracing, exporter = traced
    watch = Watch(traces=tracing)
    for stage in ("load", "compile", "done"):
        watch.progress(Progress("secret.txt", stage))
    watch.answered(answer())
    spans = exporter.get_finished_spans()
    assert [span.name for span in spans][:2] == ["ingest load", "ingest compile"]
    assert "secret" not in "".join(span.to_json() for span in spans)


def test_nothing_of_it_is_imported_where_nobody_asks_for_it():
    code = (
        "import sys, app.main, app.watch; print([name for name in sys.modules if name in ('opentelemetry.sdk', 'opentelemetry.exporter')])"
    )
    out = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"


def test_the_setting_is_off_unless_it_is_set(tmp_path):
    assert Settings(home=tmp_path).otel is None
