"""The font reader against the font that Pillow opens, and against bytes that are no font."""

import struct
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import ImageFont

from renderer.errors import FontProblem
from renderer.sfnt import Metrics, read_metrics
from renderer.styles import FONT

DATA = FONT.read_bytes()


@pytest.fixture(scope="module")
def metrics() -> Metrics:
    return read_metrics(DATA, FONT)


@pytest.mark.parametrize("character", "aWil.,0 ~éßЖλ←∑ﬁא")
def test_an_advance_is_what_pillow_measures_at_one_pixel_a_unit(metrics: Metrics, character: str):
    face = ImageFont.truetype(FONT, metrics.units_per_em, layout_engine=ImageFont.Layout.BASIC)
    assert metrics.covered[ord(character)]
    assert metrics.advances[ord(character)] == face.getlength(character)


def test_the_line_is_as_tall_as_pillow_says(metrics: Metrics):
    face = ImageFont.truetype(FONT, metrics.units_per_em)
    assert (metrics.ascent, metrics.descent) == face.getmetrics()


@pytest.mark.parametrize("character", "佐はकก🙂")
def test_a_character_that_the_font_lacks_is_not_covered_and_as_wide_as_the_box_drawn_for_it(metrics: Metrics, character: str):
    assert not metrics.covered[ord(character)]
    assert metrics.advances[ord(character)] == ImageFont.truetype(FONT, metrics.units_per_em).getlength(character)


def test_both_kinds_of_character_map_tell_the_same_of_the_first_plane(metrics: Metrics):
    data = bytearray(DATA)
    count = struct.unpack_from(">H", data, 4)[0]
    records = [struct.unpack_from(">4sIII", data, 12 + 16 * i) for i in range(count)]
    cmap = next(offset for tag, _, offset, _ in records if tag == b"cmap")
    for i in range(struct.unpack_from(">H", data, cmap + 2)[0]):
        table = struct.unpack_from(">I", data, cmap + 4 + 8 * i + 4)[0]
        if struct.unpack_from(">H", data, cmap + table)[0] == 12:
            struct.pack_into(">H", data, cmap + 4 + 8 * i, 9)
    narrow = read_metrics(bytes(data), FONT)
    assert not narrow.covered[0x10000:].any()
    assert metrics.covered[0x10000:].any()
    np.testing.assert_array_equal(narrow.covered[:0x10000], metrics.covered[:0x10000])
    np.testing.assert_array_equal(narrow.advances[:0x10000], metrics.advances[:0x10000])


@given(st.one_of(st.binary(max_size=200), st.integers(0, 20_000).map(lambda n: DATA[:n])))
@settings(deadline=None, max_examples=50)
def test_bytes_that_are_no_font_are_a_font_problem(data: bytes):
    with pytest.raises(FontProblem, match=r"broken\.ttf"):
        read_metrics(data, Path("broken.ttf"))
