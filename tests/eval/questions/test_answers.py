"""Who answers what; and the journal that a stop cannot shorten."""

import pytest

from cache_compiler.tiny import random_backbone
from eval.longbench.drawn import with_drawn
from eval.longbench.house import House
from eval.longbench.tasks import OFFICIAL
from eval.questions.answers import Asked, answer, division
from eval.questions.asked import Drawn

ARMS = ("image-pic@72", "text-pic", "qv-pic")


def test_text_arms_go_to_the_text_model_and_the_others_to_each_model() -> None:
    assert division(["a", "b"], "t", ARMS) == [
        Asked("a", ("image-pic@72", "qv-pic")),
        Asked("b", ("image-pic@72", "qv-pic")),
        Asked("t", ("text-pic",)),
    ]


def test_a_model_that_is_the_text_model_answers_both() -> None:
    assert division(["a"], "same", ARMS) == [Asked("a", ("image-pic@72", "qv-pic", "text-pic"))]
    assert division(["a", "b"], "b", ARMS)[1] == Asked("b", ("image-pic@72", "qv-pic", "text-pic"))


def test_no_text_arm_loads_no_text_model() -> None:
    assert [one.model for one in division(["a"], "t", ("image-pic@72",))] == ["a"]


@pytest.fixture(scope="module")
def tiny():
    return random_backbone("tiny")


def ask(tiny, folder, arms):
    rows = {"records": Drawn(3, (2,), lines=3, each=2).rows()}
    return answer(
        Asked("../tiny\n<b>", arms), rows, lambda backbone: House(backbone, with_drawn(OFFICIAL), max_tokens=2), lambda _: tiny, folder
    )


def test_a_run_that_was_stopped_goes_on_and_asks_nothing_twice(tiny, tmp_path, monkeypatch) -> None:
    from eval.longbench import arms as made

    asked = []
    own = made.ContextArm.answer

    def counted(self, task, record):
        asked.append((self.name, record.id))
        if len(asked) == 4:
            raise KeyboardInterrupt
        return own(self, task, record)

    monkeypatch.setattr(made.ContextArm, "answer", counted)
    arms = ("image-pic@72", "image-pic@72:free")
    with pytest.raises(KeyboardInterrupt):
        ask(tiny, tmp_path, arms)
    said = ask(tiny, tmp_path, arms)
    assert len(said.lines) == 6
    assert len(asked) == 6 + 1
    assert len(set(asked)) == 6
    assert all(line.error is None and line.rows > 0 for line in said.lines.values())


def test_a_journal_is_named_by_letters_and_digits_alone(tiny, tmp_path) -> None:
    ask(tiny, tmp_path, ("image-pic@72",))
    (folder,) = tmp_path.iterdir()
    assert folder.name.startswith("random-tiny-0-")
    assert set(folder.name) <= set("abcdefghijklmnopqrstuvwxyz0123456789-")
