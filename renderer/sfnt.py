"""A font file's bytes in; the advance and the presence of every character out, in the font's own design units.

Reads five tables of the OpenType format (head, hhea, hmtx, cmap, and the directory). Pillow draws but does not say which
characters a font has, nor how wide they are before a DPI rounds them.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from .errors import FontProblem

CODE_POINTS = 0x110000


@dataclass(frozen=True, eq=False)
class Metrics:
    """Lengths in design units, `units_per_em` to the em. Both arrays are indexed by code point, [0x110000]."""

    units_per_em: int
    ascent: int
    descent: int
    advances: npt.NDArray[np.int32]
    covered: npt.NDArray[np.bool_]


def read_metrics(data: bytes, path: Path) -> Metrics:
    """The metrics of the file's (first) font. A character that the font lacks has the advance of glyph 0, which is drawn for it.

    Raises FontProblem if the bytes are no OpenType or TrueType font with a Unicode character map.
    """
    try:
        return _read(data)
    except (struct.error, KeyError, IndexError, ValueError) as error:
        raise FontProblem(f"{path} is no TrueType or OpenType font that can be read ({error!r}): name a .ttf, .otf or .ttc file") from error


def _read(data: bytes) -> Metrics:
    tables = _directory(data)
    head, hhea, cmap = tables["head"], tables["hhea"], tables["cmap"]
    (units_per_em,) = struct.unpack_from(">H", head, 18)
    ascent, descent = struct.unpack_from(">hh", hhea, 4)
    (count,) = struct.unpack_from(">H", hhea, 34)
    if units_per_em == 0 or count == 0:
        raise ValueError("no em or no advances")
    # hmtx: `count` pairs of advance and bearing; every later glyph has the last advance.
    by_glyph = np.frombuffer(tables["hmtx"], ">u2", count * 2)[::2].astype(np.int32)
    advances = np.full(CODE_POINTS, by_glyph[0], np.int32)
    covered = np.zeros(CODE_POINTS, np.bool_)
    for first, glyphs in _runs(cmap):
        here = slice(first, first + len(glyphs))
        covered[here] = glyphs > 0
        advances[here] = by_glyph[np.minimum(glyphs, count - 1)]
    return Metrics(units_per_em, ascent, -descent, advances, covered)


def _directory(data: bytes) -> dict[str, bytes]:
    start = struct.unpack_from(">I", data, 12)[0] if data[:4] == b"ttcf" else 0
    (count,) = struct.unpack_from(">H", data, start + 4)
    tables = {}
    for i in range(count):
        tag, _, offset, length = struct.unpack_from(">4sIII", data, start + 12 + 16 * i)
        tables[tag.decode("latin-1").strip()] = data[offset : offset + length]
    return tables


def _runs(cmap: bytes) -> Iterator[tuple[int, npt.NDArray[np.int64]]]:
    """(first code point, glyph of each code point from there on), from the widest Unicode subtable."""
    (count,) = struct.unpack_from(">H", cmap, 2)
    found: dict[int, int] = {}
    for i in range(count):
        platform, encoding, offset = struct.unpack_from(">HHI", cmap, 4 + 8 * i)
        if platform == 0 or (platform == 3 and encoding in (1, 10)):
            found[struct.unpack_from(">H", cmap, offset)[0]] = offset
    if 12 in found:
        yield from _segmented(cmap, found[12])
    elif 4 in found:
        yield from _segment_mapping(cmap, found[4])
    else:
        raise ValueError(f"no Unicode character map of format 4 or 12, only {sorted(found)}")


def _segmented(cmap: bytes, at: int) -> Iterator[tuple[int, npt.NDArray[np.int64]]]:
    """Format 12: groups of first, last, glyph of the first."""
    (groups,) = struct.unpack_from(">I", cmap, at + 12)
    for i in range(groups):
        first, last, glyph = struct.unpack_from(">III", cmap, at + 16 + 12 * i)
        if not first <= last < CODE_POINTS:
            raise ValueError(f"a character range {first:#x} to {last:#x}")
        yield first, np.arange(glyph, glyph + last - first + 1, dtype=np.int64)


def _segment_mapping(cmap: bytes, at: int) -> Iterator[tuple[int, npt.NDArray[np.int64]]]:
    """Format 4: parallel arrays of last, first, delta and range offset; an offset of 0 means glyph = code point + delta."""
    segments = struct.unpack_from(">H", cmap, at + 6)[0] // 2
    lasts, firsts, deltas, jumps = (at + 14 + 2 * segments * k + 2 * (k > 0) for k in range(4))
    for i in range(segments):
        last, first, delta, jump = (struct.unpack_from(">H", cmap, base + 2 * i)[0] for base in (lasts, firsts, deltas, jumps))
        if first > last:
            raise ValueError(f"a character range {first:#x} to {last:#x}")
        if jump == 0:
            yield first, (np.arange(first, last + 1, dtype=np.int64) + delta) % 0x10000
        elif first != 0xFFFF:
            glyphs = np.frombuffer(cmap, ">u2", last - first + 1, jumps + 2 * i + jump).astype(np.int64)
            yield first, np.where(glyphs > 0, (glyphs + delta) % 0x10000, 0)
