"""The experiment: what the table and its JSON say is what was run."""

import json

import pytest

from cache_compiler.load import load_backbone
from eval.arms import Bench
from eval.experiment import Outcome, document, run, summary, table
from eval.records import samples
from renderer import preset

ARMS = ["full", "template"]


@pytest.fixture(scope="module")
def bench() -> Bench:
    backbone = load_backbone("reader")
    return Bench(backbone, preset(backbone.card.style, cell=backbone.cell))


@pytest.fixture(scope="module")
def outcomes(bench: Bench) -> list[Outcome]:
    return run(samples("build", 2, 1, 12, seed=21, each=2), ARMS, "120", bench, None)


def test_every_sample_runs_under_every_arm(outcomes: list[Outcome]) -> None:
    assert len(outcomes) == 8
    assert {outcome.arm for outcome in outcomes} == set(ARMS)
    assert all(outcome.dpis == (120,) for outcome in outcomes)


def test_template_equals_full_on_single_pages(outcomes: list[Outcome]) -> None:
    rows = {row["arm"]: row for row in summary(outcomes, ARMS)}
    assert rows["template"]["same_as_full"] == rows["template"]["n"] == 4
    assert rows["template"]["exact"] == rows["full"]["exact"]


def test_the_table_has_a_line_a_row_and_the_json_says_what_ran(outcomes: list[Outcome], bench: Bench) -> None:
    rows = summary(outcomes, ARMS)
    assert len(table(rows).splitlines()) == 1 + len(rows)
    line = document("records", {"dpi": "120"}, bench, rows, 1.0)
    assert "\n" not in line
    facts = json.loads(line)
    assert facts["rows"] == rows
    assert facts["identity"]["model"] == "glm4v"
    assert len(facts["identity"]["weights"]) == 64
    assert facts["versions"]["torch"]


def test_kinds_of_questions_are_told_apart(bench: Bench) -> None:
    drawn = samples("sections", 1, 2, 6, seed=5, each=None)
    rows = summary(run(drawn[:6], ["template"], "72", bench, None), ["template"])
    assert rows[0]["questions"] == "all"
    assert sum(row["n"] for row in rows[1:]) == rows[0]["n"] == 6


def test_promotion_without_an_embedder_is_a_mistake_of_the_callers(bench: Bench) -> None:
    with pytest.raises(ValueError, match="embedder"):
        run(samples("build", 1, 1, 12, each=1), ARMS, "promote", bench, None)
