"""What every parser returns: `Parsed`, and the `Draft` it is written with.

The conventions of a document's text, which the chunker relies on:
- a "\\n" is a line of the source that means something (a row, an item, a line of code); flowing prose has none;
- blocks stand in order, with white space alone between them; a form feed between two blocks is a page break the source asked for;
- a block's `heading` is the path of headings above it, joined by SECTION; a heading block's own path ends with itself.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Literal

from ingest.errors import NoText, TooLarge
from ingest.types import Block, Limits, Scan

Kind = Literal["heading", "paragraph", "table", "list"]

SECTION = " > "

# A file may give cause for as many notes as it has pages.
_NOTES = 20

_SEEN = re.compile("[^\\s\u00ad\u200b-\u200f\u2060\ufeff]")


@dataclass(frozen=True)
class Parsed:
    """A file's text, its blocks in reading order, its printed pages (0: the format has none), notes for the report, and pages that are pictures."""

    text: str
    blocks: tuple[Block, ...]
    source_pages: int = 0
    notes: tuple[str, ...] = ()
    scans: tuple[Scan, ...] = ()


def visible(text: str) -> bool:
    """Whether there is anything to read: a character that is neither white space nor of no width."""
    return _SEEN.search(text) is not None


class Draft:
    """A document while a parser writes it, block after block. Raises TooLarge at the block that exceeds `text_chars`."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._parts: list[str] = []
        self._length = 0
        self._blocks: list[Block] = []
        self._path: list[tuple[int, str]] = []
        self._broken = False
        self._notes: list[str] = []
        self._unsaid = 0

    def heading(self, text: str, level: int, page: int | None = None) -> None:
        """A heading of `level` (1 is the highest): it closes the sections of its own level and below."""
        text = " ".join(text.split())
        if not visible(text):
            return
        self._path = [(depth, title) for depth, title in self._path if depth < level]
        self._path.append((level, text))
        self._write(text, "heading", page, SECTION.join(title for _, title in self._path))

    def add(self, text: str, kind: Kind = "paragraph", page: int | None = None, heading: str | None = None, joined: bool = False) -> None:
        """A block of one or more lines. `joined`: no blank line stands before it, and with the same kind, page and heading it goes on in the same block."""
        text = "\n".join(line.rstrip() for line in text.split("\n")).strip("\n")
        if not visible(text):
            return
        path = SECTION.join(title for _, title in self._path) if heading is None else heading
        last = self._blocks[-1] if self._blocks else None
        if joined and last and not self._broken and (last.kind, last.page, last.heading) == (kind, page, path):
            self._append("\n" + text)
            self._blocks[-1] = replace(last, end=self._length)
        else:
            self._write(text, kind, page, path, "\n" if joined else "\n\n")

    def page_break(self) -> None:
        """A page break that the source asks for, before the next block."""
        self._broken = True

    def note(self, text: str) -> None:
        """A line for the report; the same again is not said twice, and of very many the rest are only counted."""
        if text in self._notes:
            return
        if len(self._notes) < _NOTES:
            self._notes.append(text)
        else:
            self._unsaid += 1

    @property
    def kind(self) -> Kind | None:
        """The last block's kind; None while nothing is written."""
        return self._blocks[-1].kind if self._blocks else None

    def finish(self, source_pages: int = 0, scans: tuple[Scan, ...] = ()) -> Parsed:
        """Everything written. Raises NoText where that is nothing, and there are no scans."""
        if not self._blocks and not scans:
            raise NoText("it holds no text, only white space")
        more = [f"and {self._unsaid:,} more"] if self._unsaid else []
        return Parsed("".join(self._parts), tuple(self._blocks), source_pages, (*self._notes, *more), scans)

    def _write(self, text: str, kind: Kind, page: int | None, heading: str, gap: str = "\n\n") -> None:
        if self._blocks:
            self._append("\n\f\n" if self._broken else gap)
        self._broken = False
        start = self._length
        self._append(text)
        self._blocks.append(Block(start, self._length, heading, page, kind))

    def _append(self, text: str) -> None:
        self._length += len(text)
        if self._length > self._limits.text_chars:
            raise TooLarge(f"more than {self._limits.text_chars:,} characters of text (text_chars): raise that limit or split the file")
        self._parts.append(text)
