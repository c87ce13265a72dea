"""Native pages: a picture keeps its shape and its place, and its key is what the model may see of it."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from renderer import RendererError, fitted, image_key, native_cells, native_image, native_page, pixels, preset, rasterise
from renderer.types import Line

A4 = preset("glyph-a4")
READER = preset("reader")
sides = st.floats(0.01, 100_000)


def picture(size: tuple[int, int], colour: str = "navy") -> Image.Image:
    return Image.new("RGB", size, colour)


@given(sides, sides)
def test_a_picture_is_scaled_down_to_the_sheet_never_up_and_never_stretched(width: float, height: float) -> None:
    for style, sheets in ((A4, [(595.0, 842.0), (842.0, 595.0)]), (READER, [(224.0, 224.0 * 2**0.5)])):
        across, down = fitted(width, height, style)
        assert any(across <= most[0] + 0.01 and down <= most[1] + 0.01 for most in sheets)
        assert across <= max(width, 0.001) + 0.001
        # A thousandth of a point is what sizes are rounded to.
        assert abs(across * height - down * width) <= 0.001 * (width + height) + 1e-6 * width * height


def test_a_sheet_that_lies_on_its_side_is_used_on_its_side() -> None:
    assert fitted(1684, 1190, A4) == (842.0, 595.0)
    assert fitted(100, 50, A4) == (100.0, 50.0)


@pytest.mark.parametrize("size", [(0.0, 10.0), (10.0, -1.0), (float("nan"), 1.0), (float("inf"), 1.0)])
def test_a_picture_without_a_size_is_refused(size: tuple[float, float]) -> None:
    with pytest.raises(RendererError, match="has no size"):
        fitted(*size, A4)


@given(sides, sides, st.sampled_from([72, 120]))
def test_sides_are_whole_cells_that_hold_the_picture_and_hardly_more(width: float, height: float, dpi: int) -> None:
    for style in (A4, READER):
        size = fitted(width, height, style)
        across, down = pixels(size, dpi)
        rows, columns = native_cells(size, dpi, style)
        assert columns * style.cell >= across
        assert rows * style.cell >= down
        assert rows * columns >= style.min_cells
        if rows * columns > style.min_cells:
            assert (columns - 1) * style.cell < across or rows * (columns - 1) < style.min_cells
            assert (rows - 1) * style.cell < down or (rows - 1) * columns < style.min_cells


def test_what_is_left_to_whole_cells_is_white_and_lies_to_the_right_and_below() -> None:
    size = (100.0, 50.0)
    image = native_image("k", picture(pixels(size, 72)), size, 72, A4).image
    assert image.size == (112, 112)
    assert image.getpixel((0, 0)) == image.getpixel((99, 49)) == (0, 0, 128)
    assert image.getpixel((100, 0)) == image.getpixel((0, 50)) == (255, 255, 255)


def test_a_picture_of_another_size_is_refused() -> None:
    with pytest.raises(RendererError, match="scale it to that"):
        native_image("k", picture((10, 10)), (100.0, 50.0), 72, A4)


def test_the_key_follows_every_pixel_and_the_cells_but_not_the_text() -> None:
    size = (40.0, 30.0)
    pictures = {dpi: picture(pixels(size, dpi)) for dpi in (72, 120)}
    page = native_page(pictures, size, (), A4)
    assert native_page(dict(reversed(pictures.items())), size, (Line("seen", 0, 0, 0, 0, 1, 1),), A4).key == page.key
    other = {**pictures, 120: pictures[120].copy()}
    other[120].putpixel((5, 5), (0, 0, 129))
    keys = {page.key, native_page(other, size, (), A4).key, native_page(pictures, size, (), replace(A4, cell=14)).key}
    assert len(keys) == 3
    assert image_key(page.key, 72) == native_image(page.key, pictures[72], size, 72, A4).key


def test_a_native_page_is_not_drawn_from_its_lines() -> None:
    size = (40.0, 30.0)
    page = native_page({72: picture(pixels(size, 72))}, size, (), A4)
    with pytest.raises(RendererError, match="cannot draw"):
        rasterise(page, A4, 72)
