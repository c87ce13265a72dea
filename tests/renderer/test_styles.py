"""The presets are the protocols' numbers, and what is asked wrongly is refused by name."""

from pathlib import Path

import pytest

from renderer.errors import FontProblem, RendererError, UnknownStyle
from renderer.styles import FONT, FONT_SHA256, preset
from renderer.typeface import read_font


def test_glyph_a4_has_the_geometry_of_the_protocol():
    style = preset("glyph-a4")
    assert (style.text_width, style.lines, style.cell, style.crop, style.crop_margin_px) == (563, 81, 28, "ink", 10)
    assert not style.sentence_lines


def test_the_readers_page_has_twelve_lines_of_220_points():
    style = preset("reader")
    assert (style.text_width, style.lines, style.cell, style.crop, style.slack) == (220, 12, 16, "lines", 0.2)
    assert style.sentence_lines


def test_a_page_of_text_is_small_and_its_picture_is_for_people():
    style = preset("text-a6")
    assert (style.text_width, style.lines, style.cell, style.newline) == (388, 26, 1, "break")
    assert not style.sentence_lines


def test_the_bundled_font_is_the_one_the_presets_name():
    assert read_font(FONT)[1] == FONT_SHA256


def test_an_unknown_name_is_answered_with_the_known_ones():
    with pytest.raises(UnknownStyle, match=r"'a5'.*glyph-a4, reader"):
        preset("a5")


def test_another_cell_is_another_style():
    assert preset("glyph-a4", cell=32).fingerprint != preset("glyph-a4").fingerprint


def test_a_cell_of_no_pixels_is_refused():
    with pytest.raises(RendererError, match="cell of 0 px"):
        preset("reader", cell=0)


def test_the_same_font_elsewhere_is_the_same_style_and_another_font_is_not(tmp_path: Path):
    copy, other = tmp_path / "copy.ttf", tmp_path / "other.ttf"
    copy.write_bytes(FONT.read_bytes())
    other.write_bytes(FONT.read_bytes() + b"\0")
    assert preset("reader", font=copy).fingerprint == preset("reader").fingerprint
    assert preset("reader", font=other).fingerprint != preset("reader").fingerprint


def test_a_missing_font_file_is_named(tmp_path: Path):
    with pytest.raises(FontProblem, match=r"gone\.ttf"):
        preset("reader", font=tmp_path / "gone.ttf")
