"""What a PDF library finds on each page goes in; the text in reading order comes out, and which pages are scans. Knows no PDF library."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median

from ingest.encoding import clean
from ingest.errors import DamagedFile, NoText, TooLarge
from ingest.types import Limits, Scan

from .layout import Line, Region, regions
from .parsed import Draft, Parsed

LOCKED = "it is encrypted and needs a password: save a copy without one"
DAMAGED = "it is damaged or cut short ({}): open it in a PDF reader and save it again"

# The way a line is read: steps to the right and down, one of them 0, the other 1 or -1.
Way = tuple[int, int]
Box = tuple[float, float, float, float]

# Ligatures are drawing, not spelling: "fi" must be found in "Unified". Full-width and superscript forms are spelling and stay.
LIGATURES = {
    **{code: unicodedata.normalize("NFKC", chr(code)) for code in range(0xFB00, 0xFB07)},
    # A soft hyphen shows only where a line ends; the line's own end is seen by `layout`.
    0xAD: "-",
}
_UNREADABLE = re.compile("[\ufffd\ue000-\uf8ff]")

# A heading is set larger than most of the file, by this much, and is short.
_HEADING_SIZE = 1.18
_HEADING_CHARS = 160


@dataclass(frozen=True)
class Sheet:
    """One page: its lines by the way they are read, its form's fields as "name: value", its own size in points, and whether, being without
    text, it shows a picture."""

    lines: Mapping[Way, Sequence[Line]]
    fields: Sequence[str]
    width: float
    height: float
    pictured: bool = False


class UnreadablePage(Exception):
    """A page that the library cannot read; the others go on."""


def compose(count: int, sheet: Callable[[int], Sheet], limits: Limits) -> Parsed:
    """`sheet(number)` is asked for each of `count` pages, from 1, and raises UnreadablePage for one that is left out with a note.

    Raises DamagedFile where there is no page; TooLarge; NoText where no page has text or is a scan.
    """
    if count == 0:
        raise DamagedFile("no page of it can be found; it is damaged or cut short: open it in a PDF reader and save it again")
    if count > limits.source_pages:
        raise TooLarge(f"it has {count:,} pages, over {limits.source_pages:,} (source_pages): raise that limit or split the file")
    draft = Draft(limits)
    pages: list[list[Region]] = []
    blank: list[int] = []
    scans: list[Scan] = []
    failed: list[int] = []
    characters = 0
    for number in range(1, count + 1):
        found: list[Region] = []
        try:
            page = sheet(number)
        except UnreadablePage as error:
            failed.append(number)
            draft.note(f"page {number} could not be read and is left out ({error})")
        else:
            found = _regions(page)
            if page.pictured and not found:
                scans.append(Scan(number, page.width, page.height))
            elif not found:
                blank.append(number)
        # Counted while reading, so that a million pages stop early.
        characters += sum(len(region.text) for region in found)
        if characters > limits.text_chars:
            raise TooLarge(
                f"more than {limits.text_chars:,} characters of text (text_chars) by page {number}: raise that limit or split the file"
            )
        pages.append(found)
    if not any(pages) and not scans:
        raise NoText(_why_empty(count, failed))
    if blank:
        draft.note(f"blank: {_named(blank)}")
    _write(draft, pages)
    return _checked(draft.finish(source_pages=count, scans=tuple(scans)))


def spelt(text: str) -> str:
    """A run of text as it is spelt: clean, on one line, without ligatures."""
    return clean(text).translate(LIGATURES).replace("\f", " ").replace("\n", " ")


def upright(text: str, box: Box, origin: tuple[float, float], way: Way, size: float) -> Line:
    """A line in the frame in which text that runs along `way` runs to the right. `box` and `origin` (a point of the base line) are in points,
    y downwards."""
    x, y = origin
    return Line(text, *_upright(box, way), y * way[0] - x * way[1], size)


def way_of(right: float, down: float) -> Way:
    """The way nearest to a direction; text that leans is read as if it did not."""
    way = (round(right), round(down))
    return way if abs(way[0]) + abs(way[1]) == 1 else (1, 0)


def _regions(sheet: Sheet) -> list[Region]:
    """One page's regions. Text that runs another way than most of the page (a turned table) is read after it, upright."""
    found: list[Region] = []
    for lines in sorted(sheet.lines.values(), key=lambda lines: -sum(len(line.text) for line in lines)):
        found.extend(regions(lines))
    if sheet.fields:
        found.append(Region("\n".join(sheet.fields), True, 0.0))
    return found


def _upright(box: Box, way: Way) -> Box:
    """A box in the frame in which text that runs along `way` runs to the right."""
    dx, dy = way
    x0, y0, x1, y1 = box
    across = sorted((x0 * dx + y0 * dy, x1 * dx + y1 * dy))
    down = sorted((y0 * dx - x0 * dy, y1 * dx - x1 * dy))
    return across[0], down[0], across[1], down[1]


def _why_empty(count: int, failed: list[int]) -> str:
    pages = f"{count} page{'s' if count > 1 else ''}"
    if failed:
        return f"no text: of its {pages}, {len(failed)} cannot be read: open it in a PDF reader and save it again"
    return f"no text: its {pages} {'are' if count > 1 else 'is'} blank"


def _named(pages: list[int]) -> str:
    shown = ", ".join(str(page) for page in pages[:20]) + (f" and {len(pages) - 20} more" if len(pages) > 20 else "")
    return f"page{'s' if len(pages) > 1 else ''} {shown}"


def _write(draft: Draft, pages: list[list[Region]]) -> None:
    sizes = [region.size for found in pages for region in found for _ in range(1 + len(region.text) // 80) if region.size]
    body = median(sizes) if sizes else 0.0
    for number, found in enumerate(pages, start=1):
        for region in found:
            words = " ".join(region.text.split())
            if not region.table and body and region.size >= _HEADING_SIZE * body and len(words) <= _HEADING_CHARS:
                draft.heading(words, 1 if region.size >= 1.5 * body else 2, number)
            else:
                draft.add(region.text, "table" if region.table else "paragraph", number)


def _checked(parsed: Parsed) -> Parsed:
    """Note a text that a person could not read: fonts without a table from glyph to letter."""
    seen = sum(not character.isspace() for character in parsed.text)
    unreadable = len(_UNREADABLE.findall(parsed.text))
    lost = parsed.text.count("\ufffd")
    if unreadable * 2 > seen:
        note = f"{unreadable:,} of {seen:,} characters are unreadable: its fonts do not say which letters they draw"
    elif lost:
        note = f"{lost:,} of {seen:,} characters show as \ufffd: its fonts do not say which letters they draw"
    else:
        return parsed
    return replace(parsed, notes=(*parsed.notes, note))
