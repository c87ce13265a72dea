"""Text as it was given in, text that can be laid out out, with the place of every character in the given text."""

from __future__ import annotations

import re
from array import array
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

# First and last code point of a range, and what each character in it becomes: nothing, or one character so many times.
# Everything that is not here stays as it is. A page's only separators are then "\n" (a new line) and "\f" (a new page).
TABLE: tuple[tuple[int, int, str], ...] = (
    (0x0000, 0x0008, ""),  # C0 controls have no shape; a font would draw a box.
    (0x0009, 0x0009, "    "),  # TAB is four spaces, as wide as in Glyph's LongBench script.
    (0x000B, 0x000B, "\n"),  # vertical tab
    (0x000D, 0x000D, "\n"),  # A lone CR; CR LF together is one newline.
    (0x000E, 0x001F, ""),
    (0x007F, 0x0084, ""),  # DEL and C1 controls
    (0x0085, 0x0085, "\n"),  # next line
    (0x0086, 0x009F, ""),
    (
        0x00AD,
        0x00AD,
        "",
    ),  # Soft hyphen and zero-width space go, as in Glyph: they draw nothing but would split a word that is searched for.
    (0x200B, 0x200B, ""),
    (0x2028, 0x2029, "\n"),  # line and paragraph separator
    (0x2060, 0x2060, ""),  # word joiner
    (0xD800, 0xDFFF, "\ufffd"),  # A lone surrogate cannot be encoded; the replacement character shows that something was there.
    (0xFEFF, 0xFEFF, ""),  # byte-order mark
)
# Two deliberate absences. Runs of spaces: Glyph makes them no-break because ReportLab would fold them; this layout folds nothing, so they
# keep their width as plain spaces and a line may still wrap at them. The joiners U+200C and U+200D: they choose between letter shapes in
# Persian, Arabic and Indic writing, and the shaper gives them no width.

_CHANGES = re.compile("[" + "".join(f"{chr(first)}-{chr(last)}" for first, last, _ in TABLE) + "]")


@dataclass(frozen=True)
class Normalised:
    """`offsets` has len(text) + 1 entries: where each character, and the end, stand in the given text. They never decrease."""

    text: str
    offsets: Sequence[int]


def is_normal(text: str) -> bool:
    """Whether `normalise` would return the text unchanged."""
    return _CHANGES.search(text) is None


def normalise(text: str) -> Normalised:
    """Apply TABLE. Total: no text raises, and a second time changes nothing."""
    if is_normal(text):
        return Normalised(text, range(len(text) + 1))
    codes = code_points(text).copy()
    counts = np.ones(len(codes), np.int64)
    feeds = np.flatnonzero((codes[:-1] == 0x0D) & (codes[1:] == 0x0A)) + 1
    for first, last, becomes in TABLE:
        hit = (codes >= first) & (codes <= last)
        counts[hit] = len(becomes)
        if becomes:
            codes[hit] = ord(becomes[0])
    # Of CR LF the CR is the newline, so that its offset is where the pair begins.
    counts[feeds] = 0
    places = np.repeat(np.arange(len(codes)), counts)
    return Normalised(_text(codes[places]), _offsets(places, len(text)))


def with_marks(given: Normalised) -> Normalised:
    """Set a space on each side of every newline, one between two: Glyph's inline mark, which wraps like a word.

    The newline itself stays in the text and stands for the mark; the spaces have the offset of their newline.
    """
    codes = code_points(given.text)
    newline = codes == 0x0A
    followed = np.append(newline[1:], False)
    counts = np.where(newline, np.where(followed, 2, 3), 1)
    places = np.repeat(np.arange(len(codes)), counts)
    marked = codes[places]
    firsts = np.cumsum(counts) - counts
    marked[firsts[newline]] = 0x20
    marked[firsts[newline & ~followed] + 2] = 0x20
    offsets = np.asarray(given.offsets, np.int64)
    return Normalised(_text(marked), _offsets(offsets[places], given.offsets[-1]))


def code_points(text: str) -> npt.NDArray[np.uint32]:
    """The text's code points [len(text)], read-only."""
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.dtype("<u4"))


def _text(codes: npt.NDArray[np.uint32]) -> str:
    return codes.tobytes().decode("utf-32-le")


def _offsets(places: npt.NDArray[np.int64], end: int) -> Sequence[int]:
    offsets = array("q")
    offsets.frombytes(np.append(places, end).astype(np.int64).tobytes())
    return offsets
