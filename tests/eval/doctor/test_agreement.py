"""Agreement: the bundled questions on the bundled pages, each page beside one of another document."""

import json
from pathlib import Path

import pytest

from cache_compiler.tiny import random_backbone
from eval.arms import Bench
from eval.doctor.agreement import BLIND, ONE, PATCHED, RANK, Agreement, agreement, pages_of
from eval.samples import RECORDS, drawn
from ingest.policy import Policy
from renderer import preset

SAMPLES = Path(__file__).resolve().parents[3] / "samples"


def test_the_questions_are_the_twenty_of_the_samples() -> None:
    told = [json.loads(line)["question"] for line in (SAMPLES / "questions.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [sample.question for _, seed, pages in RECORDS for sample in drawn(seed, pages)] == told


def test_patches_have_the_rank_that_ingest_gives_them() -> None:
    assert Policy().rank == RANK


def test_figures_count_what_was_seen() -> None:
    seen = Agreement([0.1, 0.3], [True, False], [False, False])
    assert seen.share == 0.5
    assert seen.figures() == {"n": 2, "same": 1, "kl_mean": pytest.approx(0.2), "kl_max": 0.3, "right": 0}


def test_a_full_prefill_of_one_page_is_what_its_cache_is_and_two_pages_lose_without_patches() -> None:
    bench = Bench(random_backbone("tiny", family="llama"), preset("reader"))
    found = agreement(bench, 72, documents=1)
    assert max(found[ONE].first) < 1e-6
    assert all(found[ONE].same)
    assert min(found[BLIND].first) > 1e-3
    assert sum(found[PATCHED].first) < sum(found[BLIND].first)


def test_text_pages_are_runs_of_ids_with_keys_of_their_own() -> None:
    bench = Bench(random_backbone("tiny", family="llama"), preset("reader"))
    one, two, again = pages_of(bench, 72, ["a", "b", "a"])
    assert one.key == again.key != two.key
