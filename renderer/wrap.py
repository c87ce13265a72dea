"""Normalised text and a width in; the range of every line out. Linear in the text, also when it is one line without a space."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from .normalise import code_points
from .typeface import Typeface

MARK = "\\n"

_SPACE, _WIDE, _OPENER, _CLOSER = 1, 2, 3, 4
# Spaces at which a line may break and which hang, undrawn, over its end. U+00A0, U+2007 and U+202F are no-break.
_SPACES = (0x0020, 0x1680, *range(0x2000, 0x2007), *range(0x2008, 0x200B), 0x205F, 0x3000)
# Writing that is wrapped between any two characters: radicals, CJK punctuation, kana, Bopomofo, ideographs, Hangul syllables, full-width
# forms, and the ideographs above the first plane. Glyph looks for U+4E00-9FFF alone, and one such character turns its whole text,
# Latin words too, to this rule; here kana and Hangul wrap so as well, and Latin words stay whole beside them.
_WIDES = ((0x2E80, 0x2FFF), (0x3001, 0x31FF), (0x3400, 0x9FFF), (0xAC00, 0xD7A3), (0xF900, 0xFAFF), (0xFF00, 0xFFEF), (0x20000, 0x3FFFF))
# No line begins with a closer or ends with an opener.
_OPENERS = "〈《「『【〔〖〘〚（［｛｟"
_CLOSERS = "、。〉》」』】〕〗〙〛！），．：；？］｝｠｡｣､・ーぁぃぅぇぉっゃゅょァィゥェォッャュョ々\u3099\u309a"
# Text is measured in stretches of about this many characters, cut where a line ends anyway, so that memory does not grow with the text.
_STRETCH = 1 << 18


def wrap(text: str, face: Typeface, limit: int, mark: bool = False) -> Iterator[tuple[int, int, bool]]:
    """(start, end, opens) of every line: [start, end) in `text` without hanging spaces; `opens` if a form feed stands before it.

    `limit` is the line's width in design units. Lines end at "\\n" (not if `mark`: it is then a word, drawn as a backslash-n)
    and "\\f"; the last needs neither. Else greedily: at the last space or between wide characters; a longer word is split.
    """
    opens = False
    for start, end in _stretches(text, "\f" if mark else "\n"):
        for first, last, fed in _wrap_stretch(text[start:end], face, limit, mark):
            yield start + first, start + last, opens or fed
            opens = False
        # A form feed that ends a stretch opens the next one's first line.
        opens = opens or text[end - 1] == "\f"


def _stretches(text: str, end: str) -> Iterator[tuple[int, int]]:
    start = 0
    while len(text) - start > _STRETCH:
        cut = text.rfind(end, start, start + _STRETCH) + 1 or text.find(end, start + _STRETCH) + 1
        if not cut:
            break
        yield start, cut
        start = cut
    if start < len(text):
        yield start, len(text)


def _wrap_stretch(text: str, face: Typeface, limit: int, mark: bool) -> Iterator[tuple[int, int, bool]]:
    codes = code_points(text)
    advances = face.advances[codes].astype(np.int64)
    feed = codes == 0x0C
    closes = feed if mark else feed | (codes == 0x0A)
    advances[closes] = 0
    if mark:
        advances[codes == 0x0A] = face.units(MARK)
    # For every place 0..n between characters: the width up to it; the end of what is visible before it; the last place to break at.
    width = np.concatenate(([0], np.cumsum(advances)))
    kinds = _kinds()[codes]
    visible = _latest(kinds != _SPACE)
    last_stop = _latest(np.append(_stops(kinds), False)[1:])
    seen = width[visible]

    hard = np.flatnonzero(closes)
    ends = np.append(hard, len(text))
    starts = np.concatenate(([0], hard + 1))
    fits = seen[ends] - width[starts] <= limit
    feeds = [*feed[hard].tolist(), False]
    opens = False
    for start, end, shown, fit, feeding in zip(starts.tolist(), ends.tolist(), visible[ends].tolist(), fits.tolist(), feeds, strict=True):
        # Nothing between a newline and a form feed, or after the last newline, is no line.
        if start == end and (feeding or end == len(text)):
            opens = opens or feeding
            continue
        while not fit:
            stop = _break(start, end, seen, width, last_stop, limit)
            if stop == end:
                break
            yield start, max(start, int(visible[stop])), opens
            start, opens = stop, False
        yield start, max(start, shown), opens
        opens = feeding


def _break(
    start: int, end: int, seen: npt.NDArray[np.int64], width: npt.NDArray[np.int64], last_stop: npt.NDArray[np.int32], limit: int
) -> int:
    """Where the line from `start` ends: `end` if all fits, else the last place to break at that fits, else within the word."""
    reach = start + int(seen[start : end + 1].searchsorted(width[start] + limit, "right")) - 1
    if reach == end:
        return end
    stop = int(last_stop[reach])
    # A character wider than the line stands alone: a line takes at least one.
    return stop if stop > start else max(reach, start + 1)


def _stops(kinds: npt.NDArray[np.uint8]) -> npt.NDArray[np.bool_]:
    """Whether a line may break before each character [n]."""
    before, after = kinds[:-1], kinds[1:]
    wide = ((before >= _WIDE) | (after >= _WIDE)) & (before != _OPENER) & (after != _CLOSER)
    stops = ((before == _SPACE) | wide) & (after != _SPACE)
    return np.concatenate((np.zeros(min(len(kinds), 1), np.bool_), stops))


def _latest(here: npt.NDArray[np.bool_]) -> npt.NDArray[np.int32]:
    """For every place 0..n, the place behind the latest true character before it; 0 where there is none."""
    places = np.where(here, np.arange(1, len(here) + 1, dtype=np.int32), 0).astype(np.int32)
    return np.concatenate((np.zeros(1, np.int32), np.maximum.accumulate(places)))


@lru_cache(maxsize=1)
def _kinds() -> npt.NDArray[np.uint8]:
    """The kind of every code point [0x110000]."""
    kinds = np.zeros(0x110000, np.uint8)
    for first, last in _WIDES:
        kinds[first : last + 1] = _WIDE
    for kind, characters in ((_OPENER, _OPENERS), (_CLOSER, _CLOSERS)):
        kinds[[ord(c) for c in characters]] = kind
    kinds[0xFE00:0xFE10] = _CLOSER  # variation selectors stay with what they vary
    kinds[list(_SPACES)] = _SPACE
    return kinds
