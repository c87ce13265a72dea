"""The page's own choices, run by Node without a browser: questions out of record lines and none out of prose; which collection opens."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from eval import world

Node = Callable[..., Any]
ROOT = Path(__file__).resolve().parent.parent.parent


def questions(node: Node, lines: list[str], most: int = 9) -> list[str]:
    return list(node("examples.js", "it.questionsFrom(...given)", lines, most))


def test_questions_are_made_of_lines_that_are_surely_records(node: Node):
    lines = [
        "The owner of Brobo tower is Ana Bel.",
        "Pliwiovai's price is $23,890.",
        "The gray farm has locker OJQ-5852.",
        "Gokal Leap:",
        "  its renewal is 13 May 1990",
        "Red mine:",
        "  floor: 12",
        "words without any such form",
        "The green clinic, status: delayed.",
        "Babouk train: speed 281 knots.",
    ]
    assert questions(node, lines) == [
        "Tell me the owner of Brobo tower.",
        "Tell me the price of Pliwiovai.",
        "Tell me the locker of the gray farm.",
        "Which renewal does Gokal Leap have?",
        "Which floor does the red mine have?",
        "Tell me the status of the green clinic.",
        "Tell me the speed of Babouk train.",
    ]


def test_every_record_of_the_reader_s_world_makes_its_own_question(node: Node):
    rng = random.Random(5)
    facts = [(world.entity(rng), attribute) for attribute in world.ATTRIBUTES for _ in range(4)]
    lines = [world.state(rng, thing, attribute, world.value(rng, attribute)) for thing, attribute in facts]
    rows = [
        line
        for thing, attribute in facts
        for line in (f"{world.sentence_case(thing)}:", world.row(rng, attribute, world.value(rng, attribute)))
    ]
    told = [f"Tell me the {attribute} of {world.definite(thing)}." for thing, attribute in facts]
    which = [f"Which {attribute} does {world.definite(thing)} have?" for thing, attribute in facts]
    assert questions(node, lines, len(lines)) == told
    assert questions(node, rows, len(rows)) == which


def test_prose_makes_no_question(node: Node):
    prose = [
        "Notes for a neighbour who has just bought a hive.",
        "The city of Paris is lovely in spring.",
        "The owner of the house is a man of few words.",
        "My mother's room is upstairs.",
        "Rule 4, floor: do not run on it.",
        "Summer: gate closed early.",
        "The museum has staff who know the way.",
        "Opening hours:",
        "  Monday: 10 to 6",
        "  price: ask at the desk",
        "The end of it all is near.",
    ]
    samples = [path for path in sorted((ROOT / "samples").glob("*.*")) if path.suffix in (".md", ".txt") and "records" not in path.name]
    prose += [line for path in samples for line in path.read_text(encoding="utf-8").splitlines()]
    rng = random.Random(6)
    prose += [world.filler(rng) for _ in range(200)]
    assert questions(node, prose) == []


@pytest.mark.parametrize(
    ("held", "last", "opened"),
    [
        ({"default": 3, "samples": 12}, "samples", "default"),
        ({"default": 0, "alpha": 2, "samples": 12}, "samples", "samples"),
        ({"alpha": 0, "samples": 12}, "alpha", "samples"),
        ({"samples": 12}, "", "samples"),
        ({"alpha": 0}, "alpha", "default"),
        ({}, "", "default"),
    ],
)
def test_without_a_name_in_the_address_a_collection_with_documents_opens(node: Node, held: dict[str, int], last: str, opened: str):
    listed = [{"name": name, "documents": count} for name, count in held.items()]
    assert node("shelves.js", "it.firstToOpen(...given)", listed, last) == opened
