"""A picture goes in (PNG, JPEG, WebP, TIFF with all its pages, GIF's and WebP's first frame, BMP); its pages come out as scans. Only headers are read.

A pixel bomb is refused here, by the size that the header gives, before anything of it is decoded. `scans` decodes, in the child process too.
"""

from __future__ import annotations

import io
import struct
import warnings
from collections.abc import Callable
from typing import Any

from ingest.errors import DamagedFile, TooLarge
from ingest.types import Limits, Scan

from .parsed import Draft, Parsed

FORMATS = ("PNG", "JPEG", "WEBP", "TIFF", "GIF", "BMP")

# What a header says of pixels to the inch is believed within these bounds; otherwise a pixel is a point, as on a screen.
DPI_BELIEVED = (50.0, 1200.0)
_SCREEN = 72.0
# EXIF's tag of orientation, and those of its values that lie on their side.
_ORIENTATION = 0x0112
_TURNED = (5, 6, 7, 8)
_POINT = 1.0
_BROKEN = (
    OSError,
    SyntaxError,
    ValueError,
    EOFError,
    OverflowError,
    KeyError,
    TypeError,
    IndexError,
    ZeroDivisionError,
    RuntimeError,
    struct.error,
)


def parse(data: bytes, limits: Limits) -> Parsed:
    """Raises DamagedFile on what is no picture; TooLarge above `image_pixels` a page or `source_pages` pages."""
    draft = Draft(limits)
    with opened(data, limits) as picture:
        count = pages(picture)
        if count > limits.source_pages:
            raise TooLarge(f"it has {count:,} pages, over {limits.source_pages:,} (source_pages): raise that limit or split the file")
        scans = []
        for number in range(1, count + 1):
            turn_to(picture, number)
            admit(picture.size, number if count > 1 else None, limits)
            scans.append(Scan(number, *size(picture)))
        if picture.format in ("GIF", "WEBP", "PNG") and getattr(picture, "n_frames", 1) > 1:
            draft.note(f"it moves: of its {picture.n_frames:,} frames the first is read")
    return draft.finish(source_pages=count, scans=tuple(scans))


def scans(data: bytes, limits: Limits) -> Callable[[int], Any]:
    """A page's number -> its picture as upright RGB on white, whatever mode, depth and turn it was kept in. The call raises LoadError."""
    picture = opened(data, limits)

    def look(number: int) -> Any:
        from PIL import ImageOps

        turn_to(picture, number)
        admit(picture.size, number, limits)
        try:
            picture.load()
            return on_white(ImageOps.exif_transpose(picture))
        except _BROKEN as error:
            raise _damaged(error, number) from error

    return look


def on_white(picture: Any) -> Any:
    """Any mode of Pillow's as RGB: what is transparent is white, what is deeper than 8 bits keeps its upper ones."""
    import numpy as np
    from PIL import Image

    if picture.mode.startswith("I;16"):
        return Image.fromarray((np.asarray(picture) >> 8).astype(np.uint8)).convert("RGB")
    if picture.mode in ("I", "F"):
        # 32 bits have no white of their own: 65,535 is taken where nothing is brighter, as of 16 bits; else the brightest.
        values = np.nan_to_num(np.asarray(picture, np.float32), posinf=0.0, neginf=0.0)
        top = float(values.max(initial=0.0))
        white = 1.0 if picture.mode == "F" and top <= 1.0 else 255.0 if picture.mode == "F" and top <= 255.0 else max(65535.0, top)
        return Image.fromarray((values.clip(0.0, white) * (255.0 / white)).astype(np.uint8)).convert("RGB")
    if picture.has_transparency_data:
        clear = picture.convert("RGBA")
        sheet = Image.new("RGB", clear.size, (255, 255, 255))
        sheet.paste(clear, mask=clear.getchannel("A"))
        return sheet
    return picture.convert("RGB")


def opened(data: bytes, limits: Limits) -> Any:
    """The picture with its header read, by Pillow. Raises DamagedFile on what is none of FORMATS, TooLarge on what even Pillow calls a bomb."""
    from PIL import Image

    # Pillow's own guard is the second one; where it only warns, `admit` refuses.
    Image.MAX_IMAGE_PIXELS = limits.image_pixels
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return Image.open(io.BytesIO(data), formats=FORMATS)
    except Image.DecompressionBombError as error:
        raise TooLarge(
            f"it has over {2 * limits.image_pixels:,} pixels, and {limits.image_pixels:,} are the limit (image_pixels): scale it down"
        ) from error
    except _BROKEN as error:
        raise _damaged(error) from error


def pages(picture: Any) -> int:
    """A TIFF's pages are pages; the frames of what moves are not."""
    try:
        return int(picture.n_frames) if picture.format == "TIFF" else 1
    except _BROKEN as error:
        raise _damaged(error) from error


def turn_to(picture: Any, number: int) -> None:
    """Go to a page, counted from 1. Raises DamagedFile."""
    try:
        picture.seek(number - 1)
    except _BROKEN as error:
        raise _damaged(error, number) from error


def admit(pixels: tuple[int, int], number: int | None, limits: Limits) -> None:
    """Raises TooLarge above `image_pixels`; DamagedFile where a side is nothing."""
    width, height = pixels
    if width < 1 or height < 1:
        raise DamagedFile(f"{_place(number)} is {width} x {height} pixels large: save it again")
    if width * height > limits.image_pixels:
        raise TooLarge(
            f"{_place(number)} has {width:,} x {height:,} pixels, over {limits.image_pixels:,} (image_pixels): "
            "scale it down, or raise that limit"
        )


def size(picture: Any) -> tuple[float, float]:
    """(width, height) in points of the page that the picture stands at, the right way up: its pixels by its own DPI."""
    across, down = (believed(dpi) for dpi in dpi_of(picture))
    if across is None or down is None:
        across = down = _SCREEN
    width, height = picture.size[0] * 72.0 / across, picture.size[1] * 72.0 / down
    if turned(picture):
        width, height = height, width
    return max(_POINT, width), max(_POINT, height)


def dpi_of(picture: Any) -> tuple[float, float]:
    """What the header says; (0, 0) where it says nothing that can be read."""
    try:
        across, down = picture.info.get("dpi", (0, 0))
        return float(across), float(down)
    except (TypeError, ValueError, ZeroDivisionError, ArithmeticError):
        return 0.0, 0.0


def believed(dpi: float) -> float | None:
    # A comparison with NaN is false.
    return dpi if DPI_BELIEVED[0] <= dpi <= DPI_BELIEVED[1] else None


def turned(picture: Any) -> bool:
    """Whether EXIF says that the picture lies on its side."""
    try:
        return picture.getexif().get(_ORIENTATION) in _TURNED
    except _BROKEN:
        return False  # damaged EXIF is no orientation; the picture itself may be sound


def _place(number: int | None) -> str:
    return "it" if number is None else f"page {number}"


def _damaged(error: Exception, number: int | None = None) -> DamagedFile:
    return DamagedFile(f"{_place(number)} is no picture that can be read, or cut short ({error}): open it in a viewer and save it again")
