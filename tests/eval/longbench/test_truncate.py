"""A prompt is cut in the middle as LongBench cuts it, and pages are drawn of what is left of the context."""

from dataclasses import replace

import pytest

from eval.longbench.errors import ContextCut
from eval.longbench.truncate import context_left, filled, middle


def test_a_prompt_within_the_limit_is_untouched(backbone, rows) -> None:
    prompt = filled(rows["hotpotqa"][0])
    length = len(backbone.tokenizer(prompt)["input_ids"])
    assert middle(prompt, backbone.tokenizer, length) == prompt
    assert middle(prompt, backbone.tokenizer, length - 1) != prompt


@pytest.mark.parametrize("most", [200, 201])
def test_the_first_and_the_last_half_stay(most, backbone, rows) -> None:
    tokenizer, prompt = backbone.tokenizer, filled(rows["narrativeqa"][0])
    ids = tokenizer(prompt)["input_ids"]
    assert middle(prompt, tokenizer, most) == tokenizer.decode(ids[:100]) + tokenizer.decode(ids[-100:])


@pytest.mark.parametrize("task", ["2wikimqa", "multifieldqa_en", "narrativeqa", "triviaqa"])
def test_what_is_left_of_the_context_is_what_a_text_prompt_would_show(task, backbone, rows) -> None:
    record = rows[task][0]
    left = context_left(record, backbone.tokenizer, 400)
    assert 0 < len(left) < len(record.context)
    assert filled(replace(record, context=left)) == middle(filled(record), backbone.tokenizer, 400)


def test_braces_in_a_context_are_text(rows) -> None:
    assert "{input} and {0}" in filled(replace(rows["musique"][0], context="{input} and {0}"))


def test_a_cut_that_reaches_the_question_is_told(backbone, rows) -> None:
    with pytest.raises(ContextCut, match="64 tokens"):
        context_left(rows["narrativeqa"][0], backbone.tokenizer, 64)
