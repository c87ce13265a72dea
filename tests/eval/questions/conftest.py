"""Made-up answers: what each arm scores and how long it takes is said, and all that is computed of it is the product's own."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import pytest
import torch

from eval.longbench.records import Record
from eval.longbench.results import Line
from eval.questions.answers import Answered
from eval.questions.claims import View
from eval.questions.figures import Figures

# Two right words of four, and so on: an answer of n of these words has a known F1.
GOLD = "one two three four"


@dataclass(frozen=True)
class Arm:
    """Scores an item (0 to 1: 1 is the gold answer to the letter, 0 another word, else half of it), seconds and rows of every item."""

    scores: Sequence[float]
    seconds: float = 0.1
    rows: int = 100
    failed: bool = False


MACHINE = {
    "cores": 2,
    "threads": 1,
    "device": "cpu (x86_64)",
    "dtype": "float32",
    "parameters": 4_500_000,
    "template_tokens": 4,
    "versions": {"python": "3.13", "torch": "2", "transformers": "5"},
    "commit": "0",
}


def records(group: str, count: int, each: int = 1) -> list[Record]:
    """`each` questions on a context; a group like "2 pages" is of the records world."""
    task, name = ("records", f"build-{group.split()[0]}x6-1") if group.endswith("pages") else (group, group)
    return [
        Record(task, f"{name}-{i // each}-{i % each}", f"question {i}?", f"page {i // each} of {group}", (GOLD,), 4) for i in range(count)
    ]


def answered(model: str, arms: Mapping[str, Mapping[str, Arm]], groups: Mapping[str, Sequence[Record]]) -> Answered:
    lines = {}
    for arm, by_group in arms.items():
        for group, one in by_group.items():
            for record, score in zip(groups[group], one.scores, strict=True):
                text = {1.0: GOLD, 0.0: "nothing"}.get(score, "one two")
                error = "ContextTooLong: /a/path says so" if one.failed else None
                lines[arm, record.task, record.id] = Line(
                    arm, record.task, record.id, record.digest, text, record.answers, 4, text, 2, one.rows, one.seconds, 1.0, error
                )
    return Answered(model, lines, {"model": model}, MACHINE)


@pytest.fixture(scope="session", autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)


@pytest.fixture(scope="session")
def arm() -> type[Arm]:
    return Arm


@pytest.fixture
def view() -> Callable[..., View]:
    """A view of one group of arms; `text`: the text model, which answers the text arms where it is another."""

    def make(arms: Mapping[str, Arm | Mapping[str, Arm]], text: str = "m", each: int = 1) -> View:
        split = {name: one if isinstance(one, Mapping) else {"2 pages": one} for name, one in arms.items()}
        sizes = {group: len(one.scores) for by_group in split.values() for group, one in by_group.items()}
        groups = {group: records(group, count, each) for group, count in sizes.items()}
        images = {name: one for name, one in split.items() if text == "m" or not name.startswith("text-")}
        texts = {name: one for name, one in split.items() if name not in images}
        said = [answered("m", images, groups)] + ([answered(text, texts, groups)] if texts else [])
        return View(Figures(groups, said), "m", text, tuple(groups))

    return make
