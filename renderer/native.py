"""A picture that is a page already goes in: its size in points, and its pixels at each DPI; a native `Page` and its images come out.

A native page is never drawn from its lines. It is scaled down to what the style's sheet holds and keeps its shape: what is left to whole
cells is white, to the right and below, so that a point of the page is the same pixel (point x DPI / 72) as on a page of text.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence

from PIL import Image

from .errors import RendererError
from .types import Line, Page, PageImage, PageStyle

# The reader's sheet has no height of its own (it ends with its lines): a picture may then be as tall as a page of the A series is.
_TALL = math.sqrt(2)
# A strip is no thinner than a thousandth of a point: sizes are kept to so many places.
_LEAST = 0.001
_WHITE = (255, 255, 255)


def fitted(width: float, height: float, style: PageStyle) -> tuple[float, float]:
    """(width, height) in points of a picture of that size on the style's sheet: scaled down where it is larger, never up.

    A sheet with a height of its own may lie on its side. Raises RendererError for a side that is no length.
    """
    if not (0 < width < math.inf and 0 < height < math.inf):
        raise RendererError(f"a picture of {width} x {height} points has no size: give both sides in points, more than 0")
    sheets = [(style.width, style.width * _TALL)] if style.crop == "lines" else [(style.width, style.height), (style.height, style.width)]
    scale = min(1.0, max(min(across / width, down / height) for across, down in sheets))
    return max(_LEAST, round(width * scale, 3)), max(_LEAST, round(height * scale, 3))


def pixels(size: tuple[float, float], dpi: int) -> tuple[int, int]:
    """(width, height) in whole pixels of a page of `size` points; a strip is one pixel high at least."""
    return max(1, round(size[0] * dpi / 72)), max(1, round(size[1] * dpi / 72))


def native_cells(size: tuple[float, float], dpi: int, style: PageStyle) -> tuple[int, int]:
    """(rows, columns) of the model's cells that hold the picture whole, `min_cells` at least."""
    width, height = pixels(size, dpi)
    columns, rows = math.ceil(width / style.cell), math.ceil(height / style.cell)
    while columns * rows < style.min_cells:
        columns, rows = (columns + 1, rows) if columns < rows else (columns, rows + 1)
    return rows, columns


def native_image(key: str, picture: Image.Image, size: tuple[float, float], dpi: int, style: PageStyle) -> PageImage:
    """The page image of an RGB picture that was scaled to `pixels(size, dpi)`. Raises RendererError for one of another size."""
    if picture.size != (wanted := pixels(size, dpi)):
        raise RendererError(f"{key}: the picture is {picture.size} pixels, and at {dpi} DPI its page has {wanted}: scale it to that")
    rows, columns = native_cells(size, dpi, style)
    sheet = Image.new("RGB", (columns * style.cell, rows * style.cell), _WHITE)
    sheet.paste(picture)
    return PageImage(key, dpi, style.cell, sheet)


def native_page(pictures: Mapping[int, Image.Image], size: tuple[float, float], lines: Sequence[Line], style: PageStyle) -> Page:
    """A page of `size` points that shows the RGB pictures, one a DPI. `lines`: what is known to be written on it; they are not part of its key.

    The key is a hash of all that the model may see: the pixels at every DPI, and the cells they lie in. Raises RendererError as `native_image`.
    """
    facts = [list(size), style.cell, style.min_cells, sorted(pictures)]
    digest = hashlib.sha256(json.dumps(["native", *facts]).encode())
    for dpi in sorted(pictures):
        digest.update(native_image("", pictures[dpi], size, dpi, style).image.tobytes())
    return Page(tuple(lines), 0, 0, size[0], size[1], True, digest.hexdigest()[:32], native=True)
