"""Lines of a printed page with their boxes go in; rows and paragraphs in reading order come out. Knows no file format."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

_RTL = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]")
_ITEM = re.compile(r"\s*([\u2022\u2023\u25aa\u25cf\u25e6\u2013\u2014*\-\uf0b7]|\(?\d{1,3}[.)]|\(?[a-z][.)])\s+\S")

_ENDS = tuple(".!?:;\u2026\u3002\uff01\uff1f\u201d\"')")

# A column of prose has at least this many lines, of at least this many characters in the middle one. Columns of a table are shorter.
_COLUMN_LINES = 4
_COLUMN_CHARS = 24
# How many places for a gutter are looked at closely, those that fewest lines cross: a page of scattered words has thousands.
_GUTTERS = 40


@dataclass(frozen=True)
class Line:
    """A run of text on one base line, at the height `base`; the box is in points, y downwards, turned as the text is read. `size` is the font's."""

    text: str
    x0: float
    y0: float
    x1: float
    y1: float
    base: float
    size: float


@dataclass(frozen=True)
class Region:
    """A paragraph (its lines joined, unless they end early), or the rows of a table; `size` is the font size of most of it."""

    text: str
    table: bool
    size: float


def regions(lines: Iterable[Line]) -> list[Region]:
    """Every line is in exactly one region. Columns of prose are read one after the other, rows of a table from side to side."""
    found: list[Region] = []
    for column in _columns([line for line in lines if line.text.strip()]):
        found.extend(_paragraphs(_rows(column)))
    return found


def _columns(lines: Sequence[Line]) -> list[list[Line]]:
    """Cut at the widest gutter between columns of prose, above and below which full-width lines may stand; again in each part."""
    ordered = sorted(lines, key=lambda line: (line.base, line.x0))
    gutter = _gutter(ordered)
    if gutter is None:
        return [ordered] if ordered else []
    parts: list[list[Line]] = []
    left: list[Line] = []
    right: list[Line] = []
    for line in ordered:
        if line.x1 <= gutter + 1:
            left.append(line)
        elif line.x0 >= gutter - 1:
            right.append(line)
        else:
            # A line across the gutter ends the columns above it.
            parts.extend(part for part in (left, right) if part)
            left, right = [], []
            if parts and parts[-1] and _crosses(parts[-1][-1], gutter):
                parts[-1].append(line)
            else:
                parts.append([line])
    parts.extend(part for part in (left, right) if part)
    whole: list[list[Line]] = []
    for part in parts:
        whole.extend(_columns(part) if len(part) < len(ordered) else [part])
    return whole


def _crosses(line: Line, gutter: float) -> bool:
    return line.x0 < gutter - 1 and line.x1 > gutter + 1


def _gutter(lines: Sequence[Line]) -> float | None:
    """The x of a white strip with prose on both sides, or None. Few lines may cross it: titles, wide figures."""
    if len(lines) < 2 * _COLUMN_LINES:
        return None
    starts, ends = sorted(line.x0 for line in lines), sorted(line.x1 for line in lines)
    found: list[tuple[int, float]] = []
    for at in sorted({round(end) + 2.0 for end in ends}):
        before, after = bisect_right(ends, at), len(starts) - bisect_left(starts, at)
        crossing = len(lines) - before - after
        if min(before, after) >= max(_COLUMN_LINES, crossing):
            found.append((crossing, at))
    for _, at in sorted(found)[:_GUTTERS]:
        left = [line for line in lines if line.x1 <= at]
        right = [line for line in lines if line.x0 >= at]
        if _is_prose(left) and _is_prose(right) and _side_by_side(left, right):
            return at
    return None


def _is_prose(lines: Sequence[Line]) -> bool:
    return len(lines) >= _COLUMN_LINES and median(len(line.text) for line in lines) >= _COLUMN_CHARS


def _side_by_side(left: Sequence[Line], right: Sequence[Line]) -> bool:
    """Whether the two share a good part of their height."""
    top = max(min(line.y0 for line in left), min(line.y0 for line in right))
    bottom = min(max(line.y1 for line in left), max(line.y1 for line in right))
    shorter = min(max(line.y1 for line in side) - min(line.y0 for line in side) for side in (left, right))
    return bottom - top > 0.3 * shorter


def _rows(lines: Sequence[Line]) -> list[list[Line]]:
    """Lines that share a base line, side by side, are one row; from left to right, or right to left where the script runs so."""
    rows: list[list[Line]] = []
    for line in sorted(lines, key=lambda line: line.base):
        last = rows[-1] if rows else None
        if last and line.base - median(other.base for other in last[-8:]) < 0.4 * min(line.size, last[-1].size):
            last.append(line)
        else:
            rows.append([line])
    for row in rows:
        letters = "".join(line.text for line in row)
        row.sort(key=lambda line: line.x0, reverse=len(_RTL.findall(letters)) > len(letters) / 3)
    return rows


def _paragraphs(rows: Sequence[Sequence[Line]]) -> list[Region]:
    found: list[Region] = []
    if not rows:
        return found
    right_edge = max(line.x1 for row in rows for line in row)
    left_edge = min(line.x0 for row in rows for line in row)
    group: list[Sequence[Line]] = []

    def close() -> None:
        if group:
            found.append(_region(group, left_edge, right_edge))
            group.clear()

    steps = [below[0].base - above[0].base for above, below in pairwise(rows)]
    usual = median(steps) if len(steps) > 3 else 0.0
    for row in rows:
        if group and _parted(group[-1], row, usual, left_edge):
            close()
        group.append(row)
    close()
    return found


def _parted(above: Sequence[Line], below: Sequence[Line], usual: float, left_edge: float) -> bool:
    """Whether a paragraph ends between two rows: a table's edge, another size, a gap wider than the column's usual step, or a first-line indent."""
    if _is_table(above) != _is_table(below):
        return True
    size, other = _size(above), _size(below)
    if abs(size - other) > 0.12 * max(size, other):
        return True
    # Up to double spacing, the usual step is the leading; beyond, it is a page of separate lines.
    if below[0].base - above[0].base > 1.3 * max(1.3 * max(size, other), min(usual, 2.2 * size)):
        return True
    # A hanging indent looks the same, but stands beneath a line that has not ended its sentence.
    indent = below[0].x0 - left_edge
    ended = above[-1].text.rstrip()[-1:] in _ENDS
    return (
        ended
        and not _is_table(below)
        and above[0].x0 - left_edge < 0.5 * size
        and 0.8 * size < indent < 3.5 * size
        and len(below[0].text) > 20
    )


def _is_table(row: Sequence[Line]) -> bool:
    """Three or more runs side by side, or two far apart; a justified line of prose may have one wide space."""
    gaps = [right.x0 - left.x1 if right.x0 > left.x0 else left.x0 - right.x1 for left, right in pairwise(row)]
    return any(gap > (0.8 if len(gaps) > 1 else 2.0) * row[0].size for gap in gaps)


def _size(row: Sequence[Line]) -> float:
    return max(row, key=lambda line: len(line.text)).size


def _region(rows: Sequence[Sequence[Line]], left_edge: float, right_edge: float) -> Region:
    texts = [" ".join(" ".join(line.text.split()) for line in row) for row in rows]
    size = median(_size(row) for row in rows)
    if _is_table(rows[0]):
        return Region("\n".join(texts), True, size)
    text = texts[0]
    for above, words in zip(rows, texts[1:], strict=False):
        # A line that stops well before the margin was ended on purpose: an address, a list, a heading.
        early = max(line.x1 for line in above) < right_edge - 0.22 * (right_edge - left_edge)
        if early or _ITEM.match(words):
            text += "\n" + words
        elif re.search(r"[^\W_]-$", text[-2:]):
            # A word parted by the line's end loses its hyphen; before a capital or a figure it is the word's own.
            text = (text[:-1] if words[0].islower() else text) + words
        elif _unspaced(text[-1]) and _unspaced(words[0]):
            text += words
        else:
            text += " " + words
    return Region(text, False, size)


def _unspaced(character: str) -> bool:
    """Chinese and Japanese put no space between words, so none belongs at a line's end. Korean does."""
    return "\u2e80" <= character <= "\u9fff" or "\uf900" <= character <= "\ufaff" or "\uff00" <= character <= "\uffef"
