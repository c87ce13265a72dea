"""A page style in; its typeface out: verified, measured in points without a DPI, and opened at a pixel size for drawing."""

from __future__ import annotations

import hashlib
import io
import unicodedata
from functools import lru_cache
from pathlib import Path

import numpy as np
import numpy.typing as npt
from PIL import ImageFont, features

from .errors import FontProblem
from .normalise import code_points
from .sfnt import Metrics, read_metrics
from .types import PageStyle

# What a shaper hides: characters that steer the text and draw nothing (HarfBuzz's default ignorables).
_HIDDEN = (
    *((0x00AD, 0x00AD), (0x034F, 0x034F), (0x061C, 0x061C), (0x17B4, 0x17B5), (0x180B, 0x180F), (0x200B, 0x200F), (0x202A, 0x202E)),
    *((0x2060, 0x206F), (0xFE00, 0xFE0F), (0xFEFF, 0xFEFF), (0xFFF0, 0xFFF8), (0x1D173, 0x1D17A), (0xE0000, 0xE0FFF)),
)


class Typeface:
    """One font file, read once. Widths are sums of the characters' own advances, as in Glyph's ReportLab layout.

    Shaping (kerning, ligatures, Arabic forms) happens when a line is drawn and mostly makes it a little narrower.
    """

    def __init__(self, data: bytes, path: Path) -> None:
        self.data = data
        self.path = path
        self._metrics = _spoken(read_metrics(data, path))
        self._by_character = _Advances(self._metrics.advances)
        self.units_per_em = self._metrics.units_per_em
        self.advances: npt.NDArray[np.int32] = self._metrics.advances
        # From the top of a line to the lowest descender, in em.
        self.line_height = (self._metrics.ascent + self._metrics.descent) / self.units_per_em

    def units(self, text: str) -> int:
        """The width of the text, all on one line, in design units."""
        if len(text) < 512:
            return sum(map(self._by_character.__getitem__, text))
        return int(self.advances[code_points(text)].sum(dtype=np.int64))

    def points(self, units: int, size: float) -> float:
        """Design units as points at a font size in points."""
        return units * size / self.units_per_em

    def whole_units(self, points: float, size: float) -> int:
        """Points as design units, rounded down: all wrapping is done in integers, so it is the same on every machine."""
        return int(points * self.units_per_em / size + 1e-6)

    def draws(self, character: str) -> bool:
        """Whether the character has a glyph, can be put together from parts that have one, or draws nothing anyway."""
        if self._metrics.covered[ord(character)] or unicodedata.category(character) in ("Zs", "Cc"):
            return True
        return all(self._metrics.covered[ord(part)] for part in unicodedata.normalize("NFD", character))

    def at(self, pixels: float) -> ImageFont.FreeTypeFont:
        """The font at a size in pixels, laid out by Raqm; opened once a size.

        Raises FontProblem where Raqm cannot run. Pillow's basic layout would draw, but rounds every advance to whole pixels:
        other pixels under the same key, and a reader that was trained on these answers wrongly.
        """
        return _face(self, pixels)

    @property
    def name(self) -> str:
        return str(self.at(16).getname()[0] or self.path.stem)


class _Advances(dict[str, int]):
    """Advance by character, filled as characters are met: five times as fast as numpy on a sentence."""

    def __init__(self, advances: npt.NDArray[np.int32]) -> None:
        super().__init__()
        self._advances = advances

    def __missing__(self, character: str) -> int:
        self[character] = advance = int(self._advances[ord(character)])
        return advance


@lru_cache(maxsize=32)
def _face(typeface: Typeface, pixels: float) -> ImageFont.FreeTypeFont:
    require_shaper()
    try:
        return ImageFont.truetype(io.BytesIO(typeface.data), pixels, layout_engine=ImageFont.Layout.RAQM)
    except OSError as error:
        raise FontProblem(f"FreeType cannot open {typeface.path} ({error}): name another font file") from error


def typeface(style: PageStyle) -> Typeface:
    """The style's typeface. Raises FontProblem if the file is missing, is no font, or is another file than the style names."""
    return _open(style.font, style.font_sha256)


def require_shaper() -> None:
    """Raises FontProblem, naming the cure, where Pillow's Raqm layout is not available."""
    if not features.check("raqm"):
        raise FontProblem(
            "Pillow finds no Raqm text layout, without which pages come out with other pixels: "
            "install the FriBidi library it needs (`apt-get install libfribidi0` or `brew install fribidi`)"
        )


def read_font(path: Path) -> tuple[bytes, str]:
    """A font file's bytes and their SHA-256 (hex). Raises FontProblem if it cannot be read."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise FontProblem(f"the font file {path} cannot be read ({error.strerror}): name one that exists") from error
    return data, hashlib.sha256(data).hexdigest()


@lru_cache(maxsize=8)
def _open(path: Path, sha256: str) -> Typeface:
    data, found = read_font(path)
    if found != sha256:
        raise FontProblem(
            f"the font file {path} has SHA-256 {found}, the page style names {sha256}: "
            "restore that file, or make the style anew for this one"
        )
    # Drawing uses these very bytes, so a file replaced later cannot slip in under the old name.
    return Typeface(data, path)


def _spoken(metrics: Metrics) -> Metrics:
    """The metrics as a shaper uses them: hidden characters and combining marks take no room."""
    for first, last in _HIDDEN:
        metrics.advances[first : last + 1] = 0
        metrics.covered[first : last + 1] = True
    for code in np.flatnonzero(metrics.covered):
        if unicodedata.category(chr(code)) in ("Mn", "Me"):
            metrics.advances[code] = 0
    return metrics
