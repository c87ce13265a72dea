"""Metrics: what a house has done, in numbers whose labels are closed sets."""

from dataclasses import replace

import pytest
from prometheus_client import generate_latest

from app.metrics import LATELY, Metrics
from app.types import Answer, PatchUse, Provenance, Timings
from app.watch import Watch
from ingest.types import Progress
from retrieval.types import Plan


def answer(first_token: float = 0.5, finish: str = "stop", tiers: tuple[str, ...] = ("ram", "disk"), patched: bool = False) -> Answer:
    patch = PatchUse("exact", 32, "subset", ("a@72",), (), 10, "ram") if patched else None
    provenance = tuple(Provenance(f"p{i}", 72, tier, 100, 0, 1, 0, patch) for i, tier in enumerate(tiers))
    return Answer(
        "a secret question", "private", "a secret answer", finish, 7, "reader", Plan((), ()), (), provenance,
        Timings(0.01, 0.001, 0.002, 0.003, 0.004, first_token, 0.1),
    )  # fmt: skip


def value(metrics: Metrics, name: str, **labels: str) -> float:
    return metrics.registry.get_sample_value(name, labels) or 0.0


def test_an_answer_counts_its_pages_by_tier_and_its_time_by_part():
    metrics = Metrics()
    metrics.answered(answer(tiers=("ram", "ram", "disk", "window", "compiled"), patched=True))
    assert [value(metrics, "quire_pages_read_total", tier=tier) for tier in ("ram", "disk", "window", "compiled")] == [2, 1, 1, 1]
    assert value(metrics, "quire_cache_read_bytes_total", tier="ram") == 200
    assert value(metrics, "quire_patches_total", use="subset") == 5
    assert value(metrics, "quire_questions_total", outcome="answered") == 1
    assert value(metrics, "quire_answer_tokens_total") == 7
    assert value(metrics, "quire_first_token_seconds_sum", part="first_token") == 0.5
    assert value(metrics, "quire_first_token_seconds_bucket", part="plan", le="0.001") == 1
    assert value(metrics, "quire_first_token_seconds_bucket", part="first_token", le="0.25") == 0
    assert value(metrics, "quire_first_token_seconds_bucket", part="first_token", le="0.5") == 1


def test_a_patch_that_was_passed_over_is_counted_as_that():
    metrics = Metrics()
    told = answer(tiers=("ram", "ram"))
    metrics.answered(replace(told, provenance=(replace(told.provenance[0], note="its file is damaged"), told.provenance[1])))
    assert value(metrics, "quire_patches_total", use="passed over") == 1


def test_an_answer_that_was_stopped_is_cancelled_and_no_measure_of_speed():
    metrics = Metrics()
    metrics.answered(answer(finish="cancelled"))
    assert (metrics.answered_count, metrics.first_token()) == (0, None)
    assert value(metrics, "quire_questions_total", outcome="cancelled") == 1


def test_failures_are_counted_by_errors_that_have_a_row_and_by_no_other_word():
    metrics = Metrics()
    for kind in ("Busy", "EmptyQuestion", "a file's name"):
        metrics.failed(kind)
    assert metrics.failed_count == 3
    assert value(metrics, "quire_question_failures_total", error="InternalError") == 1
    assert value(metrics, "quire_question_failures_total", error="Busy") == 1
    assert "file's name" not in generate_latest(metrics.registry).decode()


def test_p50_and_p99_are_of_the_last_answers():
    metrics = Metrics()
    for number in range(LATELY + 500):
        metrics.answered(answer(first_token=float(number)))
    assert metrics.first_token() == (500 + LATELY / 2, 500 + 0.99 * LATELY)


def test_a_stage_ends_where_the_next_one_begins_and_a_file_leaves_no_name():
    watch = Watch()
    for at in (
        Progress("a secret.txt", "load"),
        Progress("a secret.txt", "compile", 1, 8),
        Progress("a secret.txt", "compile", 8, 8),
        Progress("a secret.txt", "done"),
        Progress("b.txt", "load"),
        Progress("b.txt", "failed"),
    ):
        watch.progress(at)
    assert value(watch.metrics, "quire_ingest_stage_seconds_count", stage="load") == 2
    assert value(watch.metrics, "quire_ingest_stage_seconds_count", stage="compile") == 1
    assert "secret" not in generate_latest(watch.metrics.registry).decode()


@pytest.mark.parametrize("rounds", [1, 50])
def test_a_scrape_does_not_grow_with_what_was_done(rounds):
    metrics = Metrics()
    for number in range(rounds):
        metrics.answered(answer(patched=True))
        metrics.failed(f"Error{number}")
        metrics.staged(f"stage {number}", 1.0)
    metrics.staged("load", 1.0)
    assert len(generate_latest(metrics.registry).splitlines()) < 250
