"""Plain text goes in; its lines come out as they are: paragraphs at blank lines, printed pages at form feeds, rows under "Heading:" lines."""

from __future__ import annotations

import re

from ingest.encoding import decode
from ingest.types import Limits

from .parsed import Draft, Parsed, visible

_TITLE = re.compile(r"\S.{0,118}:$")


def parse(data: bytes, limits: Limits) -> Parsed:
    """A line stays a line, its indentation kept. With form feeds in the file, each block knows its printed page."""
    decoded = decode(data)
    draft = Draft(limits)
    for note in decoded.notes:
        draft.note(note)
    pages = decoded.text.split("\f")
    if not visible(pages[-1]):
        pages.pop()
    counted = len(pages) > 1 or "\f" in decoded.text
    title = ""
    for number, page in enumerate(pages, start=1):
        if number > 1:
            draft.page_break()
        title = _page(page, number if counted else None, title, draft)
    return draft.finish(source_pages=len(pages) if counted else 0)


def _page(text: str, number: int | None, title: str, draft: Draft) -> str:
    """Write one page's blocks. `title` is the "Heading:" line still open from the page before; the one open at the end is returned."""
    block: list[str] = []
    blank = True

    def close(joined: bool) -> None:
        if block:
            draft.add("\n".join(block), page=number, heading=title, joined=joined)
            block.clear()

    joined = False
    lines = text.split("\n")
    for index, line in enumerate(lines):
        if not visible(line):
            close(joined)
            blank = True
            continue
        if blank:
            joined, blank = False, False
        if not line[0].isspace():
            opens = bool(_TITLE.match(line.rstrip())) and _rows_follow(lines, index + 1)
            if opens or title:
                going_on = bool(block)
                close(joined)
                joined = going_on
                title = line.rstrip()[:-1] if opens else ""
        block.append(line)
    close(joined)
    return title


def _rows_follow(lines: list[str], index: int) -> bool:
    """Whether the next line is indented. Where the page ends first, its rows may stand on the next."""
    while index < len(lines) and not visible(lines[index]):
        index += 1
    return index == len(lines) or lines[index][0].isspace()
