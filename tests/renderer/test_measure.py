"""`Measure` counts exactly what `paginate` lays out."""

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from renderer.measure import Measure, count_lines
from renderer.paginate import pages
from renderer.styles import preset

READER = preset("reader")
MARKED = replace(READER, newline="mark")

words = st.text(st.sampled_from("abcdefgh mw  \t\xad佐"), max_size=300)


@given(words.map(lambda text: text + "x"), st.sampled_from([READER, MARKED]))
@settings(deadline=None)
def test_as_many_lines_are_counted_as_the_pages_hold(text: str, style):
    assert count_lines(text, style) == sum(len(page.lines) for page in pages(text, style))


@given(st.lists(words, max_size=6))
@settings(deadline=None)
def test_lines_of_texts_that_end_in_a_newline_add_up(texts: list[str]):
    measure = Measure(READER)
    ended = [text + "\n" for text in texts]
    assert measure.lines("".join(ended)) == sum(map(measure.lines, ended))


def test_no_text_takes_no_line():
    assert count_lines("", READER) == 0


def test_a_width_is_in_points_and_counts_what_will_be_drawn():
    measure = Measure(READER)
    assert measure.width("m" * 20) == 20 * measure.width("m")
    assert measure.width("co\xadop\tx") == measure.width("coop    x")
    assert Measure(replace(READER, size=14.0)).width("mill") == 2 * measure.width("mill")


def test_a_line_of_just_the_width_of_the_page_is_one_line():
    measure = Measure(READER)
    fits = int(READER.text_width / measure.width("m"))
    assert measure.lines("m" * fits) == 1
    assert measure.lines("m" * (fits + 1)) == 2


def test_five_million_characters_without_a_space_are_measured():
    measure = Measure(READER)
    fits = int(READER.text_width / measure.width("m"))
    assert measure.lines("m" * (fits * 100_000 + 1)) == 100_001
