"""What the font cannot draw is counted and said."""

from renderer.coverage import describe_undrawable, undrawable
from renderer.styles import preset

STYLE = preset("glyph-a4")


def test_characters_without_a_glyph_are_counted_the_most_frequent_first():
    assert list(undrawable("藤佐は佐, plain words", STYLE).items()) == [("佐", 2), ("は", 1), ("藤", 1)]


def test_what_draws_nothing_or_is_put_together_is_not_missing():
    assert undrawable("e\u0301 \u200d\u200e\u202e\ufe0f\u00a0\u3000\t\r\n\f\x00\xad", STYLE) == {}


def test_a_lone_surrogate_is_drawn_as_the_replacement_character():
    assert undrawable("\ud800", STYLE) == {}


def test_the_sentence_names_the_font_the_characters_and_how_many():
    assert describe_undrawable({"佐": 3, "藤": 1}, STYLE) == "4 characters have no glyph in DejaVu Sans: 佐 x3, 藤 x1."
    assert describe_undrawable({"佐": 1}, STYLE) == "1 character has no glyph in DejaVu Sans: 佐 x1."
    assert describe_undrawable({}, STYLE) == ""


def test_a_long_list_is_cut_and_says_so():
    found = {chr(0x4E00 + i): 1 for i in range(12)}
    assert describe_undrawable(found, STYLE).endswith("x1, and 2 others.")
