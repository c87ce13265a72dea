"""Images are drawn as the reader learned them, whole cells in size, never through ink, and the same each time."""

import hashlib
import json
import math
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageFont

from renderer.errors import PageTooLarge, RendererError
from renderer.paginate import paginate
from renderer.rasterise import rasterise
from renderer.styles import FONT, preset
from renderer.types import PageStyle

ROOT = Path(__file__).resolve().parents[2]
READER, GLYPH = preset("reader"), preset("glyph-a4")
EXAMPLES = json.loads((ROOT / "cache_compiler" / "reader" / "examples.json").read_text())
PROSE = "The quick brown fox jumps over the lazy dog, and 23,890 other things happened to Ágnes. " * 200


def ink(image: Image.Image) -> np.ndarray:
    return np.asarray(image.convert("L")) < 250


@pytest.mark.parametrize("number", range(len(EXAMPLES)))
def test_a_readers_page_is_to_the_pixel_the_page_it_was_trained_on(number: int):
    lines, dpi = EXAMPLES[number]["lines"], EXAMPLES[number]["dpi"]
    (page,) = paginate("\n".join(lines), READER)
    image = rasterise(page, READER, dpi).image
    assert list(image.size) == EXAMPLES[number]["size"]

    scale = dpi / 72
    wanted = Image.new("L", tuple(16 * math.ceil(pt * scale / 16 - 0.2) for pt in (224, 16 + 8 * len(lines))), 255)
    font = ImageFont.truetype(FONT, 7 * scale, layout_engine=ImageFont.Layout.RAQM)
    for i, line in enumerate(lines):
        ImageDraw.Draw(wanted).text((4 * scale, (8 + 8 * i) * scale), line, font=font, fill=0)
    np.testing.assert_array_equal(np.asarray(image), np.stack([np.asarray(wanted)] * 3, axis=-1))


@pytest.mark.parametrize(("dpi", "grid"), [(72, (30, 21)), (96, (40, 28)), (120, (50, 35))])
def test_a_full_a4_page_has_glyphs_grid(dpi: int, grid: tuple[int, int]):
    style = replace(GLYPH, crop="none")
    assert rasterise(paginate(PROSE, style)[0], style, dpi).cells == grid


@pytest.mark.parametrize("style", [READER, GLYPH, preset("glyph-a4", cell=32)], ids=lambda style: f"{style.name}-{style.cell}")
@pytest.mark.parametrize("dpi", [36, 72, 75, 96, 120, 144, 168])
def test_sides_are_whole_cells_and_no_ink_is_cut(style: PageStyle, dpi: int):
    page = paginate(PROSE, style)[0]
    image = rasterise(page, style, dpi)
    assert image.image.width % style.cell == image.image.height % style.cell == 0
    # Judged by a far larger sheet, on which nothing can be cut.
    roomy = replace(page, width=page.width + 100, height=page.height + 100)
    sheet = rasterise(roomy, replace(style, crop="none", width=roomy.width, height=roomy.height), dpi)
    assert ink(image.image).sum() == ink(sheet.image).sum() > 0


def test_a_line_that_shaping_makes_wider_than_the_page_widens_the_image():
    (page,) = paginate("mill", READER)
    long = replace(page, lines=(replace(page.lines[0], text="m" * 60),))
    image = rasterise(long, READER, 72)
    assert image.image.width > 224
    assert not ink(image.image)[:, -1].any()


def test_the_width_is_cropped_to_the_ink_on_every_page_and_the_height_on_the_last():
    first, last = paginate("short\n" * 100, GLYPH)
    wide, short = rasterise(first, GLYPH, 96), rasterise(last, GLYPH, 96)
    assert wide.cells == (40, 2)
    assert short.cells[0] < 40
    across = np.flatnonzero(ink(wide.image).any(axis=0))[-1] + 1
    assert wide.image.width == 28 * math.ceil((across + 10) / 28 - 0.5)


def test_an_image_is_never_so_small_that_a_processor_would_enlarge_it():
    (page,) = paginate("hi", GLYPH)
    assert rasterise(page, GLYPH, 72).tokens >= 16
    assert rasterise(page, replace(GLYPH, min_cells=1), 72).tokens < 16


@pytest.mark.parametrize("style", [READER, GLYPH], ids=lambda style: style.name)
@pytest.mark.parametrize("dpi", [72, 120])
def test_a_lines_box_encloses_its_ink(style: PageStyle, dpi: int):
    page = paginate("Ágnes jumps (fix) AVATAR To Wy {gjpqy}\n" + PROSE[:900], style)[0]
    scale = dpi / 72
    for kept in page.lines:
        lines = tuple(line if line is kept else replace(line, text="") for line in page.lines)
        down, across = np.nonzero(ink(rasterise(replace(page, lines=lines), style, dpi).image))
        assert across.min() >= kept.x0 * scale - 1
        assert across.max() + 1 <= kept.x1 * scale + 1
        assert down.min() >= kept.y0 * scale - 1
        assert down.max() + 1 <= kept.y1 * scale + 1


def test_a_marked_newline_is_a_red_backslash_n():
    style = replace(GLYPH, newline="mark")
    (page,) = paginate("one\ntwo", style)
    pixels = np.asarray(rasterise(page, style, 144).image).astype(int)
    red = (pixels[..., 0] > 200) & (pixels[..., 1] < 100)
    (plain,) = paginate("one\\ntwo", style)
    plain_pixels = np.asarray(rasterise(plain, style, 144).image).astype(int)
    assert red.any()
    assert not ((plain_pixels[..., 0] > 200) & (plain_pixels[..., 1] < 100)).any()
    # Black words stand on either side of it.
    black = np.flatnonzero((pixels.max(axis=-1) < 100).any(axis=0))
    columns = np.flatnonzero(red.any(axis=0))
    assert black[0] < columns[0] < columns[-1] < black[-1]
    assert not ((black > columns[0]) & (black < columns[-1])).any()


def test_right_to_left_writing_is_drawn_from_right_to_left():
    style = replace(READER, crop="none")

    def at(text: str) -> np.ndarray:
        return ink(rasterise(paginate(text, style)[0], style, 144).image)

    # Logical order alef, shin; alef must come out on the right.
    both, reversed_order = at("אש"), at("\u202dשא\u202c")
    np.testing.assert_array_equal(both, reversed_order)


def test_a_page_is_the_same_twice_and_in_another_process():
    script = (
        "import hashlib\n"
        "from renderer import paginate, preset, rasterise\n"
        "style = preset('glyph-a4')\n"
        "page = paginate('Some words,\\nÁgnes said.', style)[0]\n"
        "print(page.key, hashlib.sha256(rasterise(page, style, 120).png()).hexdigest())\n"
    )
    ran = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True, timeout=120)
    page = paginate("Some words,\nÁgnes said.", GLYPH)[0]
    images = [rasterise(page, GLYPH, 120) for _ in range(2)]
    assert images[0].png() == images[1].png()
    assert ran.stdout.split() == [page.key, hashlib.sha256(images[0].png()).hexdigest()]


def test_the_key_of_an_image_is_its_pages_and_its_dpi():
    (page,) = paginate("mill", READER)
    assert rasterise(page, READER, 72).key == f"{page.key}@72"


@pytest.mark.parametrize("dpi", [0, 35, 301])
def test_a_dpi_out_of_range_is_refused(dpi: int):
    with pytest.raises(RendererError, match=f"{dpi} DPI is outside 36 to 300"):
        rasterise(paginate("mill", READER)[0], READER, dpi)


def test_too_many_pixels_are_refused_before_they_are_made():
    with pytest.raises(PageTooLarge, match="2480 x 3509 pixels, more than 1000000"):
        rasterise(paginate("mill", GLYPH)[0], GLYPH, 300, max_pixels=1_000_000)
