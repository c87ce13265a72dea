"""Pages tile their text, hold no more lines than they can, and have a key that only their content decides."""

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from renderer.errors import RendererError
from renderer.paginate import pages, paginate
from renderer.styles import preset

READER, GLYPH = preset("reader"), preset("glyph-a4")
MARKED = replace(READER, newline="mark")

writing = st.text(st.sampled_from("abc m  \n\r\t\f\xad\u200b佐\ud800"), max_size=400)


@given(writing, st.sampled_from([READER, replace(READER, blank_after_break=1), MARKED]))
@settings(deadline=None)
def test_the_pages_tile_the_given_text(text: str, style):
    found = paginate(text, style)
    if found:
        assert (found[0].start, found[-1].end) == (0, len(text))
        assert all(a.end == b.start for a, b in pairwise(found))
        assert [page.last for page in found] == [False] * (len(found) - 1) + [True]
        assert all(page.start <= line.start <= line.end <= page.end for page in found for line in page.lines)
        assert all(1 <= len(page.lines) <= style.lines for page in found)


def test_a_lines_range_is_its_text_in_the_given_text():
    text = "one\ttwo\r\nco\xadop three \r\nfour\u200b\u2028five"
    lines = paginate(text, READER)[0].lines
    assert [line.text for line in lines] == ["one    two", "coop three", "four", "five"]
    assert [text[line.start : line.end] for line in lines] == ["one\ttwo", "co\xadop three", "four", "five"]


def test_every_line_is_found_again_in_a_long_plain_text():
    text = "The owner of the mill is a miller who grinds at night. " * 80
    for page in pages(text, READER):
        assert [text[line.start : line.end] for line in page.lines] == [line.text for line in page.lines]


@pytest.mark.parametrize("text", ["", " ", "\n\n", "\f", " \f\n\f\t", "\xad\u200b"])
def test_a_text_in_which_nothing_can_be_seen_has_no_page(text: str):
    assert paginate(text, READER) == []


def test_a_page_on_which_nothing_would_be_seen_is_not_made():
    found = paginate("a" + "\n" * 40 + "b", READER)
    assert [page.text.strip() for page in found] == ["a", "b"]
    assert (found[0].end, found[1].end) == (found[1].start, 42)


def test_a_form_feed_starts_a_page_and_is_never_on_one():
    found = paginate("a\n\fb\f\fc", GLYPH)
    assert [page.text for page in found] == ["a", "b", "c"]
    assert [(page.start, page.end) for page in found] == [(0, 3), (3, 6), (6, 7)]


def test_a_glyph_page_holds_81_lines_and_a_continuation_one_blank_and_80():
    found = paginate("line\n" * 200, GLYPH)
    assert [len(page.lines) for page in found] == [81, 81, 40]
    assert [page.lines[0].text for page in found] == ["line", "", ""]
    assert [sum(line.text != "" for line in page.lines) for page in found] == [81, 80, 39]


def test_a_reader_page_is_as_tall_as_its_lines():
    assert [page.height for page in paginate("line\n" * 15, READER)] == [112, 16 + 8 * 3]


def test_a_glyph_page_is_the_sheet():
    assert [(page.width, page.height) for page in paginate("line", GLYPH)] == [(595, 842)]


def test_a_marked_newline_stays_in_its_line():
    (page,) = paginate("one\ntwo\n\nthree", MARKED)
    assert [line.text for line in page.lines] == ["one \n two \n \n three"]


def test_the_key_follows_the_lines_the_style_and_being_last():
    first = paginate("one\ntwo", READER)[0]
    again = paginate("one\r\ntwo  ", READER)[0]
    others = [
        paginate("one two", READER)[0],
        paginate("one\ntwo", GLYPH)[0],
        paginate("one\ntwo\fthree", READER)[0],
        paginate("one\ntwo", replace(READER, leading=8.5))[0],
    ]
    assert first.key == again.key
    assert len({first.key, *(page.key for page in others)}) == 5
    assert len(first.key) == 32


def test_a_page_without_room_for_a_line_is_refused():
    with pytest.raises(RendererError, match="make it larger"):
        paginate("a", replace(READER, height=10.0))
    with pytest.raises(RendererError, match="make it larger"):
        paginate("a", replace(READER, left=300.0))
