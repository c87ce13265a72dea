"""The prompts are LongBench's to the letter, the limits theirs, and each protocol cleans in its own way."""

import hashlib

import pytest

from eval.longbench.errors import LongBenchError, UnknownTask
from eval.longbench.tasks import GLYPH, OFFICIAL, PROMPTS, ROWS, TASKS, protocol_named, tasks_named

# SHA-256, 16 digits, of the values in THUDM/LongBench, config/dataset2prompt.json.
PUBLISHED = {
    "2wikimqa": "9ec4ae308865bd0c",
    "hotpotqa": "9ec4ae308865bd0c",
    "musique": "9ec4ae308865bd0c",
    "multifieldqa_en": "20b4666a2de8a1f7",
    "narrativeqa": "aada7ed24b06abac",
    "triviaqa": "00a802e6377e72fc",
}


def test_the_text_prompts_are_longbenchs_to_the_letter() -> None:
    assert {task: hashlib.sha256(prompt.encode()).hexdigest()[:16] for task, prompt in PROMPTS.items()} == PUBLISHED


def test_the_published_misprint_stands_twice_and_is_not_mended() -> None:
    assert PROMPTS["narrativeqa"].count("asconcisely") == 2


def test_limits_rows_and_the_template_exception_are_longbenchs() -> None:
    assert OFFICIAL.limits == {"2wikimqa": 32, "hotpotqa": 32, "musique": 32, "multifieldqa_en": 64, "narrativeqa": 128, "triviaqa": 32}
    assert OFFICIAL.bare == {"triviaqa"}
    assert sum(ROWS.values()) == 1150


def test_glyph_has_its_own_limits_a_penalty_no_cut_and_a_turn_for_every_task() -> None:
    assert set(GLYPH.limits.values()) == {8192}
    assert (GLYPH.penalty, GLYPH.truncates, GLYPH.bare) == (1.1, False, frozenset())
    assert GLYPH.marked == {"hotpotqa", "narrativeqa", "triviaqa"}


@pytest.mark.parametrize("protocol", [OFFICIAL, GLYPH], ids=lambda protocol: protocol.name)
@pytest.mark.parametrize("task", TASKS)
def test_behind_the_images_stands_the_question_and_no_place_for_a_context(protocol, task) -> None:
    text = protocol.behind[task].format(input="Who {was} it?")
    assert "Who {was} it?" in text
    assert "{context}" not in text


@pytest.mark.parametrize("task", [task for task in TASKS if task != "triviaqa"])
def test_the_official_words_behind_the_images_are_those_behind_the_context(task) -> None:
    assert PROMPTS[task].endswith("{context}\n\n" + OFFICIAL.behind[task])


def test_official_answers_are_scored_as_they_are() -> None:
    assert OFFICIAL.clean(" <think>x</think>\n a <|b|>") == " <think>x</think>\n a <|b|>"


@pytest.mark.parametrize(
    ("said", "clean"),
    [
        ("<think>long\nthought</think> <answer>Paul\n Simon</answer>", "<answer>Paul Simon</answer>"),
        ("thought whose opening the template wrote</think>Paul", "Paul"),
        ("<|begin_of_box|>Paul<|end_of_box|>", "Paul"),
        ("\n\nPaul\nPassage:", "Paul Passage:"),
        ("<think>never finished", "<think>never finished"),
    ],
)
def test_glyph_drops_thinking_and_marks_and_collapses_white_space(said, clean) -> None:
    assert GLYPH.clean(said) == clean


def test_tasks_come_in_longbenchs_order_and_once() -> None:
    assert tasks_named("triviaqa, hotpotqa,triviaqa") == ("hotpotqa", "triviaqa")


@pytest.mark.parametrize("text", ["hotpot", "hotpotqa,qasper", "", ","])
def test_a_task_that_is_none_is_refused_with_the_six(text) -> None:
    with pytest.raises(UnknownTask, match="narrativeqa"):
        tasks_named(text)


def test_a_protocol_that_is_none_is_refused() -> None:
    with pytest.raises(LongBenchError, match="official or glyph"):
        protocol_named("ours")
