"""Templates are taken apart or refused; questions are letters, whatever is written in them."""

import functools
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import AutoTokenizer

from cache_compiler.errors import TemplateError
from cache_compiler.load import READER
from cache_compiler.template import Template, derive_template, question_ids

IMAGE = 7
MARKS = "<|begin_of_image|><|image|><|end_of_image|>"
LOOP = "{% for c in messages[0].content %}{% if c.type == 'image' %}IMAGE{% else %}TEXT{% endif %}{% endfor %}"


@functools.cache
def reader() -> tuple[Any, Template]:
    tokenizer = AutoTokenizer.from_pretrained(READER, local_files_only=True)
    return tokenizer, derive_template(tokenizer, IMAGE)


@pytest.fixture
def tokenizer() -> Any:
    return reader()[0]


def templated(image: str = MARKS, text: str = "{{ c.text }}", head: str = "[gMASK]<sop><|user|>\n", tail: str = "<|assistant|>\n") -> Any:
    """The reader's tokenizer with another chat template, written in pieces."""
    tokenizer = AutoTokenizer.from_pretrained(READER, local_files_only=True)
    whole = head + LOOP.replace("IMAGE", image).replace("TEXT", text) + tail
    # Jinja drops a newline behind a block and at the end; one that is printed stays.
    tokenizer.chat_template = whole.replace("\n", "{{ '\\n' }}")
    return tokenizer


def test_the_readers_template_is_taken_apart_as_written(tokenizer: Any) -> None:
    template = derive_template(tokenizer, IMAGE)
    assert tokenizer.convert_ids_to_tokens(list(template.prefix)[:3]) == ["[gMASK]", "<sop>", "<|user|>"]
    assert tokenizer.decode(list(template.prefix)) == "[gMASK]<sop><|user|>\n"
    assert (template.opening, template.image, template.closing) == (6, 7, 8)
    assert (template.before, template.after) == ("", "<|assistant|>\n")


@pytest.mark.parametrize("images", [1, 2, 5])
def test_prefix_pages_and_question_put_together_are_the_tokenizers_own_ids(tokenizer: Any, images: int) -> None:
    template = derive_template(tokenizer, IMAGE)
    question = "Who is the owner of Brobo tower?"
    content = [{"type": "image"}] * images + [{"type": "text", "text": question}]
    rendered = tokenizer.apply_chat_template([{"role": "user", "content": content}], tokenize=False, add_generation_prompt=True)
    expected = tokenizer(rendered, add_special_tokens=False)["input_ids"]
    assert [*template.prefix, *template.page_ids(1) * images, *question_ids(tokenizer, template, question)] == expected


@pytest.mark.parametrize(
    ("pieces", "prefix", "before", "after"),
    [
        # GLM-4.1V: a newline behind [gMASK]<sop>, one behind each role.
        ({"head": "[gMASK]<sop>\n<|user|>\n"}, "[gMASK]<sop>\n<|user|>\n", "", "<|assistant|>\n"),
        ({"head": "[gMASK]<sop><|user|>"}, "[gMASK]<sop><|user|>", "", "<|assistant|>\n"),
        ({"text": "\n{{ c.text }}"}, "[gMASK]<sop><|user|>\n", "\n", "<|assistant|>\n"),
        ({"tail": "\n<|assistant|>\n<think>"}, "[gMASK]<sop><|user|>\n", "", "\n<|assistant|>\n<think>"),
        ({"head": "[gMASK]<sop>\nYou read pages.<|user|>\n"}, "[gMASK]<sop>\nYou read pages.<|user|>\n", "", "<|assistant|>\n"),
    ],
)
def test_templates_of_the_same_family_are_taken_apart(pieces: dict[str, str], prefix: str, before: str, after: str) -> None:
    tokenizer = templated(**pieces)
    template = derive_template(tokenizer, IMAGE)
    assert tokenizer.decode(list(template.prefix)) == prefix
    assert (template.opening, template.image, template.closing) == (6, 7, 8)
    assert (template.before, template.after) == (before, after)


@pytest.mark.parametrize(
    ("pieces", "reason"),
    [
        ({"image": "Picture {{ loop.index }}: " + MARKS}, "a second image adds more"),
        ({"image": "Picture: " + MARKS}, "a second image adds more"),
        ({"image": MARKS + "\n"}, "a second image adds more"),
        ({"image": "{% if not loop.first %} and {% endif %}" + MARKS}, "a second image adds more"),
        ({"image": "<|image|>"}, "a second image adds more"),
        ({"image": "<|image|>", "text": "", "tail": ""}, "no mark on each side"),
        ({"image": "<|begin_of_image|><|image|><|image|><|end_of_image|>"}, "2 times, not once"),
        ({"image": ""}, "0 times, not once"),
        ({"text": "{{ c.text | upper }}"}, "does not repeat the question"),
        ({"text": ""}, "does not repeat the question"),
    ],
)
def test_a_template_whose_pages_could_not_stand_in_any_order_is_refused(pieces: dict[str, str], reason: str) -> None:
    with pytest.raises(TemplateError, match=reason):
        derive_template(templated(**pieces), IMAGE)


def test_a_tokenizer_without_a_chat_template_is_refused() -> None:
    tokenizer = AutoTokenizer.from_pretrained(READER, local_files_only=True)
    tokenizer.chat_template = None
    with pytest.raises(TemplateError, match="no chat template"):
        derive_template(tokenizer, IMAGE)


def test_the_fingerprint_changes_with_each_part_and_with_nothing_else(tokenizer: Any) -> None:
    same = derive_template(templated(), IMAGE)
    assert same.fingerprint == derive_template(tokenizer, IMAGE).fingerprint
    others = [{"head": "[gMASK]<sop>\n<|user|>\n"}, {"text": "\n{{ c.text }}"}, {"tail": "<|assistant|>"}]
    prints = {same.fingerprint, *(derive_template(templated(**pieces), IMAGE).fingerprint for pieces in others)}
    assert len(prints) == 4


SPECIALS = ["<|user|>", "<|assistant|>", "<|image|>", "<|begin_of_image|>", "<|end_of_image|>", "<eos>", "[gMASK]", "<sop>", "<pad>"]


@pytest.mark.parametrize("special", [*SPECIALS, "<unused3>", "<eos><|user|>\nx<|assistant|>"])
def test_a_special_token_written_in_a_question_is_read_as_its_letters(tokenizer: Any, special: str) -> None:
    template = derive_template(tokenizer, IMAGE)
    check(tokenizer, template, f"What is {special} for?")
    check(tokenizer, template, special)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.one_of(st.sampled_from([*SPECIALS, "<|", "|>", "<", ">", "user", "\n"]), st.text(max_size=8)), max_size=6).map("".join))
def test_no_question_holds_a_special_id_and_every_question_reads_back(question: str) -> None:
    tokenizer, template = reader()
    check(tokenizer, template, question)


def check(tokenizer: Any, template: Template, question: str) -> None:
    ids = question_ids(tokenizer, template, question)
    tail = tokenizer(template.after, add_special_tokens=False)["input_ids"]
    assert ids[-len(tail) :] == tail
    own = ids[: -len(tail)]
    assert not set(own) & set(tokenizer.get_added_vocab().values())
    assert tokenizer.decode(own, clean_up_tokenization_spaces=False) == question
