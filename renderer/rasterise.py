"""A page in points and a DPI in; its image out, each side a whole number of cells, drawn at that size and never resampled."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageDraw, ImageFont

from .errors import PageTooLarge, RendererError
from .typeface import typeface
from .types import Line, Page, PageImage, PageStyle
from .wrap import MARK

DPI_RANGE = (36, 300)
# Glyph's auto-crop: what differs from the background by more than this many of 256 grey levels is ink.
INK_LEVELS = 5

_BLACK, _RED, _WHITE = (0, 0, 0), (255, 0, 0), (255, 255, 255)


def rasterise(page: Page, style: PageStyle, dpi: int, max_pixels: int = 36_000_000) -> PageImage:
    """The page as black on white RGB, `dpi` / 72 pixels to the point.

    The sides follow the sheet, or, for crop "ink", the ink and its margin (Glyph: the width of every page, the height of the
    last). x cells become ceil(x - slack). Two deviations from Glyph, which has the model's processor resample what the crop
    left: the canvas is cut or padded with white to whole cells, and a cut that would take ink is not made.

    Raises RendererError for a native page and for a DPI outside DPI_RANGE, PageTooLarge above `max_pixels`, FontProblem for the font.
    """
    if page.native:
        raise RendererError(f"{page.key}: it is a picture, which its lines cannot draw: take its image from where it is kept")
    if not DPI_RANGE[0] <= dpi <= DPI_RANGE[1]:
        raise RendererError(f"{dpi} DPI is outside {DPI_RANGE[0]} to {DPI_RANGE[1]}: choose one between, such as 72 or 120")
    scale = dpi / 72
    _require_pixels(page.width * scale, page.height * scale, dpi, max_pixels)
    font = typeface(style).at(style.size * scale)
    starts = [(style.left * scale, (style.top + i * style.leading) * scale) for i in range(len(page.lines))]

    # First on a canvas that holds the sheet and all that is drawn: only then is it known where the ink ends.
    width, height = page.width * scale, page.height * scale
    for line, (x, y) in zip(page.lines, starts, strict=True):
        *_, right, bottom = font.getbbox(line.text.replace("\n", MARK))
        width, height = max(width, x + right), max(height, y + bottom)
    _require_pixels(width, height, dpi, max_pixels)
    canvas = Image.new("RGB", (math.ceil(width) + 1, math.ceil(height) + 1), _WHITE)
    draw = ImageDraw.Draw(canvas)
    for line, start in zip(page.lines, starts, strict=True):
        _draw(draw, line, start, font)

    ink = _ink_ends(canvas)
    columns, rows = _cells((page.width * scale, page.height * scale), ink, page.last, style)
    # Pillow's crop fills with black beyond the canvas.
    image = Image.new("RGB", (columns * style.cell, rows * style.cell), _WHITE)
    image.paste(canvas)
    return PageImage(page.key, dpi, style.cell, image)


def _draw(draw: ImageDraw.ImageDraw, line: Line, start: tuple[float, float], font: ImageFont.FreeTypeFont) -> None:
    """The line in one stroke, so that the shaper sees all of it; around each mark it is cut into pieces."""
    x, y = start
    first, *rest = line.text.split("\n")
    draw.text((x, y), first, font=font, fill=_BLACK)
    before = first
    for piece in rest:
        x += font.getlength(before)
        draw.text((x, y), MARK, font=font, fill=_RED)
        x += font.getlength(MARK)
        draw.text((x, y), piece, font=font, fill=_BLACK)
        before = piece


def _ink_ends(canvas: Image.Image) -> tuple[int, int]:
    """(columns, rows) from the top left corner up to and with the last ink; (0, 0) on a blank page."""
    grey: npt.NDArray[np.int16] = np.asarray(canvas.convert("L"), np.int16)
    ink = np.abs(grey - np.median(grey[:2, :2])) > INK_LEVELS
    across, down = np.flatnonzero(ink.any(axis=0)), np.flatnonzero(ink.any(axis=1))
    return (int(across[-1]) + 1, int(down[-1]) + 1) if len(across) else (0, 0)


def _cells(sheet: tuple[float, float], ink: tuple[int, int], last: bool, style: PageStyle) -> tuple[int, int]:
    """(columns, rows) of cells for a sheet in pixels with ink up to `ink`."""
    width, height = sheet
    if style.crop == "ink":
        # The raster of a sheet is rounded up to whole pixels before it is cropped.
        width, height = math.ceil(width - 1e-6), math.ceil(height - 1e-6)
        width = min(width, ink[0] + style.crop_margin_px)
        height = min(height, ink[1] + style.crop_margin_px) if last else height
    columns, rows = (
        max(1, math.ceil(side / style.cell - style.slack), math.ceil(end / style.cell))
        for side, end in zip((width, height), ink, strict=True)
    )
    while columns * rows < style.min_cells:
        columns, rows = (columns + 1, rows) if columns < rows else (columns, rows + 1)
    return columns, rows


def _require_pixels(width: float, height: float, dpi: int, most: int) -> None:
    if width * height > most:
        raise PageTooLarge(
            f"a page at {dpi} DPI would be {math.ceil(width)} x {math.ceil(height)} pixels, more than {most}: "
            "lower the DPI or raise the limit"
        )
