"""A typeface is the file its style names, measures without a DPI, and is drawn by Raqm or not at all."""

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import features

from renderer.errors import FontProblem
from renderer.normalise import code_points
from renderer.styles import FONT, preset
from renderer.typeface import typeface

STYLE = preset("reader")


def test_another_file_than_the_style_names_is_refused_with_both_hashes(tmp_path: Path):
    other = tmp_path / "other.ttf"
    other.write_bytes(FONT.read_bytes() + b"\0")
    with pytest.raises(FontProblem, match=rf"SHA-256 [0-9a-f]{{64}}, the page style names {STYLE.font_sha256}"):
        typeface(replace(STYLE, font=other))


def test_a_file_that_is_no_font_is_refused(tmp_path: Path):
    path = tmp_path / "text.ttf"
    path.write_text("not a font")
    with pytest.raises(FontProblem, match="no TrueType or OpenType font"):
        typeface(preset("reader", font=path))


def test_the_font_file_is_opened_once():
    assert typeface(STYLE) is typeface(preset("glyph-a4"))
    assert typeface(STYLE).at(7.0) is typeface(STYLE).at(7.0)


@given(st.text())
@settings(deadline=None, max_examples=30)
def test_a_text_is_as_wide_as_its_characters_one_by_one_and_all_at_once(text: str):
    face = typeface(STYLE)
    assert face.units(text) == int(face.advances[code_points(text)].sum())
    assert face.units(text * 300) == 300 * face.units(text)


def test_points_and_units_are_one_measure():
    face = typeface(STYLE)
    assert face.points(face.units_per_em, 7.0) == 7.0
    assert face.whole_units(7.0, 7.0) == face.units_per_em
    assert face.whole_units(220.0, 7.0) == 64365  # 220 / 7 em of 2048 units, rounded down


@pytest.mark.parametrize("hidden", ["\u0301", "\u200d", "\u202e", "\ufe0f"])
def test_marks_and_hidden_characters_take_no_room(hidden: str):
    assert typeface(STYLE).units(hidden) == 0


def test_drawn_text_is_no_wider_than_measured_but_for_rounding():
    face = typeface(STYLE)
    text = "AVATAR: the first waffle, To Yes; 23,890 fine officers"
    drawn = face.at(float(face.units_per_em)).getlength(text)
    assert 0.9 * face.units(text) < drawn <= face.units(text)


def test_without_raqm_nothing_is_drawn_and_the_cure_is_named(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(features, "check", lambda feature: False)
    with pytest.raises(FontProblem, match="libfribidi0"):
        typeface(STYLE).at(6.25)


def test_the_typeface_knows_its_name():
    assert typeface(STYLE).name == "DejaVu Sans"
