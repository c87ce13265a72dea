"""One document holds all that tables, plots and the page are made of."""

import json

import pytest

from eval.questions.answers import Answered, Asked
from eval.questions.document import document
from eval.questions.plans import PLANS

MACHINE = {"parameters": 1, "dtype": "float32", "threads": 1, "cores": 1, "device": "cpu"}


@pytest.fixture
def made(view, arm):
    plan = PLANS["q3"]
    figures = view({one: {"2 pages": arm([1, 0] * 4), "4 pages": arm([1, 1] * 4)} for one in plan.arms}, text="t").figures
    images = tuple(one for one in plan.arms if not one.startswith("text-"))
    asked = [Asked("/a/path/m", images), Asked("t", ("text-pic",))]
    said = [Answered(name, {}, {"model": name}, MACHINE) for name in ("m", "t")]
    return document(plan, figures, asked, said, {"n": 8, "data": False, "lines": 6}, "quire eval q3")


def test_it_is_json_and_holds_no_path(made) -> None:
    assert "/a/path" not in json.dumps(made)
    assert json.loads(json.dumps(made))["task"] == "q3"


def test_every_item_of_every_arm_is_in_it(made) -> None:
    assert len(made["items"]) == 16 * len(PLANS["q3"].arms)
    assert {item["model"] for item in made["items"] if item["arm"] == "text-pic"} == {"t"}


def test_the_papers_figure_stands_beside_the_line_over_all_groups_alone(made) -> None:
    lines = [line for line in made["lines"] if line["arm"] == "qv-pic"]
    assert [(line["group"], line["theirs"] and line["theirs"]["shown"]) for line in lines] == [
        ("2 pages", None),
        ("4 pages", None),
        ("all", "54.3"),
    ]


def test_every_compared_pair_is_there_for_each_group_and_all(made) -> None:
    assert len(made["pairs"]) == 3 * len(PLANS["q3"].pairs)
    assert {row["model_b"] for row in made["pairs"] if row["b"] == "text-pic"} == {"t"}


def test_a_finding_of_two_models_names_both(made) -> None:
    assert any(found["model"] == "m and t" and found["verdict"] == "not testable" for found in made["findings"])
