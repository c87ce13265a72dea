"""Time to first token: both ways are run on the same pages, and the sums are sums. No test asks how fast."""

import json

from cache_compiler.load import load_backbone
from eval.arms import Bench
from eval.pages import filled_pages, question_of
from eval.ttft import PARTS, Round, measure, summarise
from renderer import preset


def test_rounds_hold_both_ways_and_the_summary_adds_up() -> None:
    backbone = load_backbone("reader")
    bench = Bench(backbone, preset(backbone.card.style, cell=backbone.cell))
    images = filled_pages(bench, 2, 72)
    said: list[str] = []
    rounds = measure(bench, images, question_of(bench, 20), runs=2, warmups=1, report=said.append)
    assert len(rounds) == 2
    assert "warm-up" in said[1]
    assert all(set(each.cached) == set(PARTS) and each.full > 0 for each in rounds)
    settings = {"pages": 2, "dpi": 72, "question_tokens": 20}
    text, line = summarise(bench, rounds, settings, 200, 1.0)
    assert "ratio" in text
    row = json.loads(line)["rows"][0]
    assert row["ratio_range"][0] <= row["ratio"] <= row["ratio_range"][1]


def test_the_ratio_is_cached_over_full() -> None:
    assert Round({"load": 0.1, "place": 0.2, "question": 0.7}, 4.0).ratio == 0.25
