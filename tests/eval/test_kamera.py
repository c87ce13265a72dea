"""What Kamera's experiments share: the draw, the judge, and readings of contexts whose answer is known."""

import pytest
import torch

from cache_compiler.condition import deficit
from cache_compiler.load import load_backbone
from eval.arms import Bench
from eval.kamera import Lab, carried, context_of, cut_to, others
from eval.kamera_depth import depth
from eval.kamera_main import RANKS, Main, arms_of
from eval.kamera_window import TURNOVERS, envelope, orbit, recall, survivors
from eval.records import CARRIED
from renderer import preset

LINES, DPI = 3, 72


@pytest.fixture(scope="module")
def lab() -> Lab:
    torch.set_num_threads(1)
    backbone = load_backbone("reader")
    return Lab(Bench(backbone, preset(backbone.card.style, cell=backbone.cell)), DPI, LINES)


def by_arm(row: dict, setting: str | None = None) -> dict[str, dict]:
    return {reading["arm"]: reading for reading in row["readings"] if setting in (None, reading.get("setting"))}


def test_the_asked_fact_stands_on_the_last_page_alone() -> None:
    drawn = carried(6, 3, LINES, each=1)
    assert len(drawn) == len({context_of(sample) for sample in drawn}) == 6
    for sample in drawn:
        assert sample.hops == CARRIED
        assert [sample.fact in page for page in sample.pages] == [False, False, True]


def test_a_larger_draw_begins_with_the_smaller_one() -> None:
    assert carried(9, 2, LINES)[:4] == carried(4, 2, LINES)


def test_pages_from_elsewhere_are_of_no_asked_context() -> None:
    asked = {line for sample in carried(6, 2, LINES) for page in sample.pages for line in page}
    for pages in others(3, 2, LINES):
        assert not asked & {line for page in pages for line in page}


def test_the_judge_agrees_with_itself_and_another_context_does_not(lab: Lab) -> None:
    one, *_, other = carried(5, 2, LINES, each=1)
    leaves = lab.leaves(one.pages)
    judge = lab.judge(lab.prefilled(leaves), one)
    own, _ = lab.read(lab.linked(lab.conditioned(leaves)), judge)
    assert own["same"]
    assert own["first"] < 1e-8
    assert own["answer"] < 1e-8
    wrong, _ = lab.read(lab.linked([leaf.canonical for leaf in lab.leaves(other.pages)]), judge)
    assert wrong["answer"] > 1e-3


def test_pages_are_encoded_once_and_forgotten_in_their_turn(lab: Lab) -> None:
    few = Lab(lab.bench, DPI, LINES, keep=2)
    first, second = carried(3, 2, LINES, each=1)[:2]
    before = few.leaves(first.pages)
    assert all(a is b for a, b in zip(few.leaves(first.pages), before, strict=True))
    few.leaves(second.pages)
    assert few.leaves(first.pages)[0] is not before[0]


def test_a_rank_that_a_small_page_cannot_have_is_all_of_its_delta(lab: Lab) -> None:
    leaves = lab.leaves(carried(1, 2, LINES)[0].pages)
    page = leaves[-1].canonical
    patch = cut_to(deficit(lab.conditioned(leaves)[-1], page), ["a"], page, 10_000)
    assert patch.key.rank == min(page.length, 128)


def test_the_arms_reach_from_blind_reuse_to_full_prefill(lab: Lab) -> None:
    measure = Main()
    sample = carried(1, 2, LINES)[0]
    row = measure(lab, sample, 0)
    arms = by_arm(row)
    assert arms["full"]["first"] == arms["full"]["answer"] == 0
    assert arms["full"]["same"]
    assert arms["patch full"]["answer"] < 1e-8
    assert arms["blind"]["answer"] > arms["patch r64"]["answer"]
    assert all(arms[f"patch r{rank}"]["bytes"] <= arms["patch full"]["bytes"] for rank in RANKS)
    assert row["control"]["answer"] < 0.5 * arms["isolated"]["answer"]
    assert {reading["arm"] for reading in row["readings"]} == set(arms_of(lab, lab.leaves(sample.pages)))


def test_a_token_method_at_a_patchs_bytes_takes_as_many_rows_as_the_patch_takes_bytes(lab: Lab) -> None:
    arms = arms_of(lab, lab.leaves(carried(1, 2, LINES)[0].pages))
    wanted = min(1.0, arms["patch r32"].bytes)
    for name in ("epic = r32", "cacheblend = r32", "vlcache = r32", "oracle = r32"):
        assert arms[name].rows == pytest.approx(wanted, abs=0.02)


def test_the_orbit_is_tested_as_it_is_stored_and_with_the_order_under_test_held_out(lab: Lab) -> None:
    row = orbit(lab, carried(1, 3, LINES, each=1)[0], 0)
    every, held = by_arm(row, "K = 2, all orders"), by_arm(row, "K = 2, held out")
    assert set(every) == {"full", "blind", "exact", "stored"}
    assert {reading["unit"] for reading in row["readings"] if "all" in reading["setting"]} == {0, 1}
    assert set(held) == {"full", "blind", "exact", "transfer", "orbit"}
    # Two orders: the first one's patch, and the one under test.
    assert len({reading["unit"] for reading in row["readings"] if "held" in reading["setting"]}) == 1
    # The same patch by two ways of summing; a KL of 1e-4 nats in fp32 keeps four of its digits.
    assert held["orbit"]["answer"] == pytest.approx(held["transfer"]["answer"], rel=1e-4, abs=1e-8)
    assert held["exact"]["answer"] <= held["transfer"]["answer"]


def test_a_patch_is_fresh_until_the_window_turns(lab: Lab) -> None:
    row = recall(lab, carried(1, 3, LINES, each=1)[0], 0)
    settings = [f"{turnover:.0%}" for turnover in TURNOVERS]
    assert by_arm(row, settings[0])["stale"]["answer"] == by_arm(row, settings[0])["fresh"]["answer"]
    assert by_arm(row, settings[-1])["stale"]["answer"] != by_arm(row, settings[-1])["fresh"]["answer"]


def test_a_removal_patch_brings_a_survivor_nearer_to_a_prefill_without_the_page_that_left(lab: Lab) -> None:
    arms = by_arm(survivors(lab, carried(1, 3, LINES, each=1)[0], 0))
    assert set(arms) == {"full", "blind", "keep", "removal"}
    assert arms["removal"]["answer"] < arms["keep"]["answer"]


def test_without_distractors_the_stale_patch_is_the_rebuilt_one(lab: Lab) -> None:
    row = envelope(lab, carried(1, 2, LINES, each=1)[0], 0)
    assert by_arm(row, "0")["stale"]["answer"] == by_arm(row, "0")["rebuilt"]["answer"]
    assert by_arm(row, "3")["stale"]["answer"] != by_arm(row, "3")["rebuilt"]["answer"]


def test_depth_runs_from_all_of_delta_to_none_of_it(lab: Lab) -> None:
    row = depth(lab, carried(1, 2, LINES, each=1)[0], 0)
    layers = lab.bench.backbone.layers
    lowest, highest = by_arm(row, "0"), by_arm(row, str(layers))
    assert lowest["from"]["answer"] == highest["below"]["answer"] == 0
    assert lowest["below"]["answer"] == highest["from"]["answer"] == lowest["blind"]["answer"]
    assert lowest["re-prefill from"]["answer"] < 1e-8
    assert highest["sight below"]["answer"] < 1e-8
    assert row["norm"]["keys"][0] == 0
    assert row["e90"]["values"][0] == 0
