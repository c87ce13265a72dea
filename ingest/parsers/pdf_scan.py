"""A PDF goes in; those of its pages that are pictures come out drawn by MuPDF, at a bounded size whatever theirs is.

Beside `pdf.py` this is the only file that imports PyMuPDF (AGPL); `pdfium_scan.py` does the same with PDFium.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ingest.errors import DamagedFile, TooLarge
from ingest.types import Limits

# A page is drawn at this resolution, which text recognition wants, or where it is larger at one that makes so many pixels.
_DPI = 200.0
_PIXELS = 8_000_000


def scans(data: bytes, limits: Limits) -> Callable[[int], Any]:
    """A page's number -> its picture in RGB, turned as the page is. The call raises TooLarge where a picture within has more than
    `image_pixels`, before it is decoded, and DamagedFile."""
    import pymupdf

    pymupdf.TOOLS.mupdf_display_errors(False)
    pymupdf.TOOLS.mupdf_display_warnings(False)
    broken = (RuntimeError, ValueError, IndexError, pymupdf.mupdf.FzErrorBase)
    try:
        document = pymupdf.open(stream=data, filetype="pdf")
        if document.needs_pass:
            document.authenticate("")
    except broken as error:
        raise damaged(0, error) from error

    def look(number: int) -> Any:
        from PIL import Image

        try:
            page = document[number - 1]
            for _, _, width, height, *_ in page.get_images(full=True):
                admit(number, width, height, limits)
            scale = scale_of(page.rect.width, page.rect.height, limits)
            drawn = page.get_pixmap(matrix=pymupdf.Matrix(scale, scale), colorspace=pymupdf.csRGB, alpha=False, annots=True)
            return Image.frombytes("RGB", (drawn.width, drawn.height), drawn.samples)
        except broken as error:
            if "malloc" in str(error) or "memory" in str(error).lower():
                raise MemoryError from error
            raise damaged(number, error) from error

    return look


def scale_of(width: float, height: float, limits: Limits) -> float:
    """Pixels to the point for a page of that size in points."""
    most = min(_PIXELS, limits.image_pixels)
    return min(_DPI / 72.0, math.sqrt(most / max(1.0, width * height)))


def admit(number: int, width: int, height: int, limits: Limits) -> None:
    """Raises TooLarge for a picture that must not be decoded."""
    if width * height > limits.image_pixels:
        raise TooLarge(
            f"page {number} shows a picture of {width:,} x {height:,} pixels, over {limits.image_pixels:,} (image_pixels): "
            "scale it down, or raise that limit"
        )


def damaged(number: int, error: Exception) -> DamagedFile:
    place = f"page {number}" if number else "it"
    return DamagedFile(f"{place} cannot be drawn ({error}): open it in a PDF reader and save it again")
