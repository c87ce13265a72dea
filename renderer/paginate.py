"""Text and a page style in; laid-out pages, in points, out. Each page knows which range of the given text it shows."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator

from .errors import RendererError
from .normalise import Normalised, normalise, with_marks
from .typeface import Typeface, typeface
from .types import Line, Page, PageStyle
from .wrap import MARK, wrap


def paginate(text: str, style: PageStyle) -> list[Page]:
    """Every page of the text; none if nothing in it can be seen. See `pages`."""
    return list(pages(text, style))


def pages(text: str, style: PageStyle) -> Iterator[Page]:
    """The pages one by one, so that a long text need not be laid out whole.

    A form feed starts a page. A page on which nothing would be seen is not made; its range goes to the page before it.
    Raises FontProblem for the style's font, RendererError if the page holds no line.
    """
    face = typeface(style)
    given = prepare(text, style)
    waiting: list[tuple[int, int]] = []
    start = 0
    for sheet in _sheets(given, style, face):
        if waiting:
            end = given.offsets[sheet[0][0]]
            yield _page(given, waiting, style, face, start, end, last=False)
            start = end
        waiting = sheet
    if waiting:
        yield _page(given, waiting, style, face, start, len(text), last=True)


def prepare(text: str, style: PageStyle) -> Normalised:
    """The text as it is wrapped: normalised, and with its newlines as words if the style marks them."""
    given = normalise(text)
    return with_marks(given) if style.newline == "mark" else given


def line_width(style: PageStyle, face: Typeface) -> int:
    """The style's line in design units. Raises RendererError if no line, or nothing on a line, would fit."""
    if style.lines < 1 or style.text_width <= 0 or style.size <= 0:
        raise RendererError(
            f"page style {style.name!r} leaves a text box of {style.text_width} pt by {style.lines} lines of {style.size} pt: "
            "make it larger"
        )
    return face.whole_units(style.text_width, style.size)


def _sheets(given: Normalised, style: PageStyle, face: Typeface) -> Iterator[list[tuple[int, int]]]:
    """The line ranges, in the prepared text, of every page on which something is seen."""
    blanks = min(style.blank_after_break, style.lines - 1)
    sheet: list[tuple[int, int]] = []
    for start, end, opens in wrap(given.text, face, line_width(style, face), style.newline == "mark"):
        if opens or len(sheet) == style.lines:
            if _seen(given.text, sheet):
                yield sheet
            sheet = [] if opens else [(start, start)] * blanks
        sheet.append((start, end))
    if _seen(given.text, sheet):
        yield sheet


def _seen(text: str, sheet: list[tuple[int, int]]) -> bool:
    # A marked newline is drawn, so it counts as seen; in an unmarked layout no line holds one.
    return any("\n" in text[start:end] or text[start:end].strip() for start, end in sheet)


def _page(given: Normalised, sheet: list[tuple[int, int]], style: PageStyle, face: Typeface, start: int, end: int, *, last: bool) -> Page:
    lines = tuple(_line(given, first, stop, number, style, face) for number, (first, stop) in enumerate(sheet))
    height = style.top + style.leading * len(lines) + style.bottom if style.crop == "lines" else style.height
    return Page(lines, start, end, style.width, height, last, _key(lines, style, last))


def _line(given: Normalised, first: int, stop: int, number: int, style: PageStyle, face: Typeface) -> Line:
    text = given.text[first:stop]
    start = given.offsets[first]
    # The end follows the last character shown, not what was dropped behind it.
    end = given.offsets[stop - 1] + 1 if stop > first else start
    top = style.top + number * style.leading
    right = style.left + face.points(width_of(text, face), style.size)
    return Line(text, start, end, style.left, top, right, top + face.line_height * style.size)


def width_of(text: str, face: Typeface) -> int:
    """The width of a line in design units; a newline in it is the mark."""
    return face.units(text.replace("\n", MARK))


def _key(lines: tuple[Line, ...], style: PageStyle, last: bool) -> str:
    facts = json.dumps([style.fingerprint, [line.text for line in lines], last])
    return hashlib.sha256(facts.encode()).hexdigest()[:32]
