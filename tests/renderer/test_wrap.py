"""Lines cover the text in order, fit the width, and break where writing breaks."""

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from renderer import wrap as wrap_file
from renderer.styles import preset
from renderer.typeface import typeface
from renderer.wrap import wrap

FACE = typeface(preset("reader"))
LIMIT = FACE.units("m" * 10)

writing = st.text(st.sampled_from("abcm  \n\f\u3000\u0301佐藤「」。はハ한"), max_size=200)


def broken(text: str, limit: int = LIMIT) -> list[str]:
    return [text[start:end] for start, end, _ in wrap(text, FACE, limit)]


@given(writing)
@settings(deadline=None)
def test_every_visible_character_is_on_exactly_one_line(text: str):
    assert "".join("".join(broken(text)).split()) == "".join(text.split())
    assert all(a[1] <= b[0] for a, b in pairwise(wrap(text, FACE, LIMIT)))


@given(writing)
@settings(deadline=None)
def test_no_line_is_wider_than_the_limit(text: str):
    assert all(FACE.units(line) <= LIMIT for line in broken(text))


@given(writing)
@settings(deadline=None)
def test_a_wrapped_line_could_not_have_taken_the_next_character_and_its_word(text: str):
    """Greedy: the wrapped line with all that follows it up to the next line's first break is too wide."""
    for (start, end, _), (begin, stop, _) in pairwise(wrap(text, FACE, LIMIT)):
        if not {"\n", "\f"} & set(text[end:begin]):
            assert FACE.units(text[start:stop]) > LIMIT


@given(writing, st.integers(1, 20))
@settings(deadline=None)
def test_measuring_in_stretches_changes_no_line(text: str, stretch: int):
    with pytest.MonkeyPatch.context() as patch:
        whole = [list(wrap(text, FACE, LIMIT, mark)) for mark in (False, True)]
        patch.setattr(wrap_file, "_STRETCH", stretch)
        assert [list(wrap(text, FACE, LIMIT, mark)) for mark in (False, True)] == whole


def test_words_stay_whole_and_the_space_between_hangs():
    assert broken("mmmmm mmmmm mmmm") == ["mmmmm", "mmmmm mmmm"]


def test_a_word_longer_than_a_line_is_split():
    assert broken("m" * 25) == ["m" * 10, "m" * 10, "m" * 5]


def test_spaces_keep_their_width_and_a_line_still_breaks_at_them():
    assert broken("  a   b") == ["  a   b"]
    assert broken("mmmmmm   mmmmmm") == ["mmmmmm", "mmmmmm"]


def test_a_no_break_space_does_not_break():
    assert broken("mmm mmmm\u00a0mmmm") == ["mmm", "mmmm\u00a0mmmm"]


@pytest.mark.parametrize("character", "佐はハ한")
def test_ideographs_kana_and_hangul_break_between_any_two(character: str):
    fits = LIMIT // FACE.units(character)
    assert [len(line) for line in broken(character * (2 * fits + 1))] == [fits, fits, 1]


def test_latin_words_stay_whole_beside_ideographs():
    assert broken("佐" * 7 + "mmmmmm mm") == ["佐" * 7, "mmmmmm mm"]


def test_no_line_begins_with_a_full_stop_or_ends_with_an_opening_bracket():
    fits = LIMIT // FACE.units("佐")
    assert broken("佐" * fits + "。佐")[0] == "佐" * (fits - 1)
    assert broken("佐" * (fits - 1) + "「佐」")[0] == "佐" * (fits - 1)


def test_a_combining_mark_stays_with_its_letter():
    assert broken("m" * 9 + "m\u0301m") == ["m" * 9 + "m\u0301", "m"]


def test_a_character_wider_than_the_line_stands_alone():
    assert broken("mm", limit=1) == ["m", "m"]


def test_a_last_newline_opens_no_line_and_blank_lines_count():
    assert broken("a\n\nb\n") == ["a", "", "b"]
    assert broken("") == []
    assert broken("\n") == [""]


def test_a_form_feed_opens_a_page_and_is_no_line():
    assert list(wrap("a\fb\n\fc\f", FACE, LIMIT)) == [(0, 1, False), (2, 3, True), (5, 6, True)]


def test_a_marked_newline_is_a_word_as_wide_as_it_is_drawn():
    assert list(wrap("m \n m", FACE, FACE.units("m \\n m"), mark=True)) == [(0, 5, False)]
    assert list(wrap("m \n m", FACE, FACE.units("m \\n m") - 1, mark=True)) == [(0, 3, False), (4, 5, False)]
