"""What `normalise` promises for every text, and what its table says character by character."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from renderer.normalise import TABLE, is_normal, normalise, with_marks

# Surrogates, controls and separators far more often than chance would draw them.
anything = st.text(
    st.one_of(st.sampled_from("\r\n\t\v\f\x00\x85\xa0\xad \u200b\u200c\u2028\ufeff\ud800\udfffa佐"), st.characters(codec=None))
)


@given(anything)
@settings(deadline=None)
def test_no_text_is_refused_and_a_second_time_changes_nothing(text: str):
    once = normalise(text)
    assert is_normal(once.text)
    assert normalise(once.text).text == once.text
    once.text.encode("utf-8")


@given(anything)
@settings(deadline=None)
def test_offsets_never_decrease_and_end_at_the_end_of_the_given_text(text: str):
    found = normalise(text)
    offsets = list(found.offsets)
    assert len(offsets) == len(found.text) + 1
    assert offsets == sorted(offsets)
    assert offsets[-1] == len(text)


@given(anything)
@settings(deadline=None)
def test_a_character_that_the_table_does_not_name_stands_unchanged_at_its_offset(text: str):
    found = normalise(text)
    for character, offset in zip(found.text, found.offsets, strict=False):
        given_there = text[offset]
        assert character == given_there or any(first <= ord(given_there) <= last and character in becomes for first, last, becomes in TABLE)


@pytest.mark.parametrize(
    ("given_text", "text"),
    [
        ("a\r\nb", "a\nb"),
        ("a\rb\r\r\nc", "a\nb\n\nc"),
        ("a\u2028b\u2029c\x85d\x0be", "a\nb\nc\nd\ne"),
        ("a\tb", "a    b"),
        ("a   b", "a   b"),
        ("a\x0cb", "a\x0cb"),
        ("a\x00\x1b\x7f\x9fb", "ab"),
        ("co\xadop\u200b\u2060\ufefferate", "cooperate"),
        ("a\ud800b\udfff", "a\ufffdb\ufffd"),
        ("می\u200cخواهم", "می\u200cخواهم"),
    ],
)
def test_the_table_says_what_becomes_of_a_character(given_text: str, text: str):
    assert normalise(given_text).text == text


def test_a_newline_made_from_cr_lf_stands_where_the_pair_begins():
    assert list(normalise("a\r\nb").offsets) == [0, 1, 3, 4]


def test_the_four_spaces_of_a_tab_all_stand_where_the_tab_stood():
    assert list(normalise("a\tb").offsets) == [0, 1, 1, 1, 1, 2, 3]


def test_marks_have_a_space_on_each_side_and_one_between_two():
    marked = with_marks(normalise("a\nb\r\n\nc"))
    assert marked.text == "a \n b \n \n c"
    assert list(marked.offsets) == [0, 1, 1, 1, 2, 3, 3, 5, 5, 5, 6, 7]


@given(anything)
@settings(deadline=None)
def test_marks_lose_no_character_and_no_offset(text: str):
    plain = normalise(text)
    marked = with_marks(plain)
    assert marked.text.replace(" ", "") == plain.text.replace(" ", "")
    assert len(marked.offsets) == len(marked.text) + 1
    assert list(marked.offsets) == sorted(marked.offsets)
    assert marked.offsets[-1] == len(text)
