"""The renderer's values: how text becomes a page (`PageStyle`), a laid-out page (`Page`), a page at one DPI (`PageImage`).

Imports no other room.
"""

from __future__ import annotations

import hashlib
import io
import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Literal

from PIL import Image

Crop = Literal["none", "ink", "lines"]
Newline = Literal["break", "mark"]


@dataclass(frozen=True)
class PageStyle:
    """All that decides how text becomes a page. Lengths are in points (1/72 inch) unless a name says `px`.

    The style holds no DPI: one page is laid out once and rasterised at several. `cell` is the side, in pixels, of the
    square that the model merges into one visual token (patch x merge: 16 for the embedded reader, 28 for GLM-4.1V).
    """

    name: str
    width: float
    height: float
    left: float
    top: float
    right: float
    bottom: float
    size: float
    leading: float
    cell: int
    font: Path
    font_sha256: str
    newline: Newline = "break"
    # "ink": Glyph's auto-crop, by pixels; "lines": the page is as tall as its lines (the reader); "none": the whole sheet.
    crop: Crop = "none"
    crop_margin_px: int = 0
    # A side of x cells becomes ceil(x - slack) cells: 0.5 rounds to the nearest, 0.2 (the reader's card) rounds up but for a sliver.
    slack: float = 0.5
    # An image of fewer cells is padded with white: GLM-4.1V's processor enlarges one of under 112 x 112 px, and then resamples it.
    min_cells: int = 1
    # Glyph's continuation pages start with an empty line; a page after a form feed does not.
    blank_after_break: int = 0
    # Each sentence stands on a line of its own (the reader was trained so); the chunker obeys it.
    sentence_lines: bool = False

    @property
    def lines(self) -> int:
        """How many lines a page holds."""
        return int((self.height - self.top - self.bottom) / self.leading + 1e-6)

    @property
    def text_width(self) -> float:
        """The width, in points, that a line may fill."""
        return self.width - self.left - self.right

    @property
    def fingerprint(self) -> str:
        """SHA-256 (hex) of every field but the font's path: its content is named by `font_sha256`."""
        facts = {k: v for k, v in asdict(self).items() if k != "font"}
        return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()


@dataclass(frozen=True)
class Line:
    """One line of a page: its text, the half-open range [start, end) it covers in the *given* text, and its box in points.

    A newline inside `text` (style.newline is "mark") stands where the red backslash-n is drawn. The box is as tall as the
    font's own line, from the ascender to the descender, and at least as wide as the ink: kerning only draws letters together.
    """

    text: str
    start: int
    end: int
    x0: float
    y0: float
    x1: float
    y1: float


@dataclass(frozen=True)
class Page:
    """One laid-out page. It has no DPI and no pixels. `key` is a content hash over the style and the lines.

    The ranges [start, end) of a text's pages tile the given text: every character belongs to exactly one page. A `native` page is a picture
    (`renderer.native`): its key is a hash of the pixels, its lines are what was recognised on it, and it cannot be drawn from them.
    """

    lines: tuple[Line, ...]
    start: int
    end: int
    width: float
    height: float
    last: bool
    key: str
    native: bool = False

    @property
    def text(self) -> str:
        return "\n".join(line.text for line in self.lines)


@dataclass(frozen=True)
class PageImage:
    """A page at one DPI. Each side is a whole number of cells, so no image processor resamples it."""

    page_key: str
    dpi: int
    cell: int
    image: Image.Image = field(repr=False, compare=False)

    @property
    def key(self) -> str:
        return image_key(self.page_key, self.dpi)

    @property
    def cells(self) -> tuple[int, int]:
        """(rows, columns) of visual tokens."""
        return self.image.height // self.cell, self.image.width // self.cell

    @property
    def tokens(self) -> int:
        rows, columns = self.cells
        return rows * columns

    def png(self) -> bytes:
        out = io.BytesIO()
        self.image.save(out, format="PNG")
        return out.getvalue()


def image_key(page_key: str, dpi: int) -> str:
    """The key under which a page at one DPI is known in every room: `<page key>@<dpi>`."""
    return f"{page_key}@{dpi}"
