"""A document and a page style go in; its chunks come out, in order, each as much text as fills one page. A native page is a chunk of its own,
with the text that was recognised on it, or else the document's name and the page number: by that it is found.

Every character that is neither white space nor of no width is in exactly one chunk, and [start, end) is where it stands in the document's text.
"""

from __future__ import annotations

import hashlib
import json
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import accumulate, islice, pairwise

from renderer.measure import Measure
from renderer.paginate import line_width, prepare
from renderer.typeface import typeface
from renderer.types import PageStyle
from renderer.wrap import wrap
from retrieval.types import Chunk, PageRef

from .errors import TooLarge
from .parsers.parsed import visible
from .types import Block, Document, Limits, Native
from .units import Unit, units

# How full a page must be before the next top-level section, or the source's next page, starts a new one.
_SECTION_FILL = 0.5
_PAGE_FILL = 0.75


def chunk(document: Document, document_id: str, style: PageStyle, limits: Limits, natives: Sequence[Native] = ()) -> list[Chunk]:
    """Every chunk of text fits one page of the style, by the renderer's own measure; chunks of native pages know their page already, and stand
    where the source has them. Raises TooLarge at the first page beyond `rendered_pages`."""
    chunks: list[Chunk] = []
    first = 0
    for native in sorted(natives, key=lambda native: native.number):
        end = place_of(document, native.number)
        _add_text(chunks, replace(document, blocks=document.blocks[first:end]), document_id, style, limits)
        _require_room(chunks, document, limits, style, document.blocks[end - 1].end if end else 0)
        chunks.append(_of_native(native, document, document_id, len(chunks), document.blocks[end - 1] if end else None))
        first = end
    _add_text(chunks, replace(document, blocks=document.blocks[first:]), document_id, style, limits)
    return chunks


def place_of(document: Document, number: int) -> int:
    """How many of the document's blocks stand before a scan of that page number."""
    return next((at for at, block in enumerate(document.blocks) if (block.page or 0) > number), len(document.blocks))


def _of_native(native: Native, document: Document, document_id: str, ordinal: int, before: Block | None) -> Chunk:
    """It covers nothing of the document's text: [start, end) is empty, at the place where the page stands."""
    text = native.text if visible(native.text) else f"{document.name}, page {native.number}"
    at = before.end if before else 0
    return Chunk(
        id=chunk_id(document_id, ordinal, text),
        document=document_id,
        ordinal=ordinal,
        text=text,
        start=at,
        end=at,
        heading=before.heading if before else "",
        source_page=native.number,
        pages=(PageRef(native.key, native.rows),),
    )


def _require_room(chunks: list[Chunk], document: Document, limits: Limits, style: PageStyle, at: int) -> None:
    if len(chunks) == limits.rendered_pages:
        share = 100 * at // max(1, len(document.text))
        raise TooLarge(
            f"{document.name}: more than {limits.rendered_pages:,} pages of style {style.name} (rendered_pages) after {share} % of the text: "
            "raise that limit or split the file"
        )


def _add_text(chunks: list[Chunk], document: Document, document_id: str, style: PageStyle, limits: Limits) -> None:
    """Cut the document's blocks into chunks, behind those that are there."""
    for held in _Filler(document, style):
        _require_room(chunks, document, limits, style, held[0].start)
        text = _laid_out(document.text, held, style)
        if not visible(text):
            # Characters of no width alone make no page.
            continue
        first = held[0]
        chunks.append(
            Chunk(
                id=chunk_id(document_id, len(chunks), text),
                document=document_id,
                ordinal=len(chunks),
                text=text,
                start=first.start,
                end=held[-1].end,
                heading=first.block.heading,
                source_page=first.block.page,
            )
        )


def chunk_id(document_id: str, ordinal: int, text: str) -> int:
    """63 bits of SHA-256 over the document, the place and the text: the same chunk has the same id in every run."""
    digest = hashlib.sha256(json.dumps([document_id, ordinal, text]).encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 1


def _laid_out(text: str, held: list[Unit], style: PageStyle) -> str:
    """The units as the page shows them: each on its own line, or as they run in the source."""
    if style.sentence_lines:
        return "\n".join(text[unit.start : unit.end] for unit in held)
    return text[held[0].start : held[-1].end]


class _Filler:
    """Iterates over the pages' units. It reads ahead a page or two, so a long document, even one long line, costs no more than its text."""

    def __init__(self, document: Document, style: PageStyle) -> None:
        self.text = document.text
        self.style = style
        self.measure = Measure(style)
        self.face = typeface(style)
        self.source = units(document)
        self.ahead: list[Unit] = []
        # Lines of each unit ahead; kept where units stand on lines of their own, and so add up.
        self.known: dict[int, int] = {}
        # Characters that surely fill a page; grows with need.
        self.stretch = 512

    def __iter__(self) -> Iterator[list[Unit]]:
        while self.read(1):
            count = self.count_by_units() if self.adds_up else self.count_by_lines()
            # A first unit that does not fit is parted where the page is full.
            count = self.boundary(count) if count else self.split_first()
            yield self.ahead[:count]
            for unit in self.ahead[:count]:
                self.known.pop(unit.start, None)
            del self.ahead[:count]

    @property
    def adds_up(self) -> bool:
        """Whether every unit stands on lines of its own."""
        return self.style.sentence_lines and self.style.newline == "break"

    def read(self, count: int) -> bool:
        """Have `count` units ahead; False if the document ends before."""
        while len(self.ahead) < count and (unit := next(self.source, None)):
            self.ahead.append(unit)
        return len(self.ahead) >= count

    def count_by_units(self) -> int:
        """How many units fit, up to a break that the source asks for, where each has its own lines."""
        room = self.style.lines
        count = 0
        while self.read(count + 1) and not (count and self.ahead[count].forced):
            room -= self.lines_of(self.ahead[count])
            if room < 0:
                break
            count += 1
        return count

    def count_by_lines(self) -> int:
        """The same where units run on: they are wrapped together, and those fit that end before the line that is one too many."""
        while True:
            last = self.ahead[0].start + self.stretch
            count = 1
            while self.read(count + 1) and not self.ahead[count].forced and self.ahead[count - 1].end < last:
                count += 1
            text = self.laid_out(count)
            starts = self.line_starts(text)
            if len(starts) > self.style.lines or len(text) < self.stretch:
                break
            self.stretch *= 2
        if len(starts) <= self.style.lines:
            return count
        # What ends before the line too many fits; it is measured once more, for a line's last word may break otherwise than in the middle.
        count = self.ending_by(starts[self.style.lines], count)
        while count and self.filled(count) > self.style.lines:
            count -= 1
        return count

    def ending_by(self, cut: int, count: int) -> int:
        """How many of the first `count` units end within the first `cut` characters of their layout."""
        if not self.style.sentence_lines:
            return bisect_right(self.ahead, self.ahead[0].start + cut, hi=count, key=lambda unit: unit.end)
        ends = accumulate(unit.end - unit.start + 1 for unit in self.ahead[:count])
        return sum(end - 1 <= cut for end in ends)

    def laid_out(self, count: int) -> str:
        """The first `count` units as a page shows them, no longer than `stretch`: a unit may be the whole file."""
        first, end = self.ahead[0].start, self.ahead[count - 1].end
        if self.style.sentence_lines:
            held = [Unit(unit.start, min(unit.end, unit.start + self.stretch), unit.block) for unit in self.ahead[:count]]
            return _laid_out(self.text, held, self.style)[: self.stretch]
        return self.text[first : min(end, first + self.stretch)]

    def lines_of(self, unit: Unit) -> int:
        """Lines the unit takes, or, beyond a page, any number larger than that: a unit may be the whole file."""
        if unit.start not in self.known:
            while (lines := self.measure.lines(self.text[unit.start : min(unit.end, unit.start + self.stretch)])) <= self.style.lines:
                if unit.end - unit.start <= self.stretch:
                    break
                self.stretch *= 2
            self.known[unit.start] = lines
        return self.known[unit.start]

    def line_starts(self, text: str) -> list[int]:
        """Where in `text` its lines begin, one line more than a page holds at most."""
        given = prepare(text, self.style)
        limit = line_width(self.style, self.face)
        lines = wrap(given.text, self.face, limit, self.style.newline == "mark")
        return [given.offsets[start] for start, _, _ in islice(lines, self.style.lines + 1)]

    def filled(self, count: int) -> int:
        """Lines that the first `count` units take."""
        if self.adds_up:
            return sum(self.lines_of(unit) for unit in self.ahead[:count])
        return self.measure.lines(_laid_out(self.text, self.ahead[:count], self.style))

    def boundary(self, count: int) -> int:
        """Where to end the page, given that `count` units fit: at a section or source page, if it is full enough; never after a heading."""
        goes_on = self.read(count + 1) and not self.ahead[count].forced
        held = self.ahead[: count + 1 if goes_on else count]
        for index in range(1, len(held)):
            if held[index].section:
                whole = self.without_headings(index)
                if self.filled(whole) >= _SECTION_FILL * self.style.lines:
                    return whole
        if not goes_on:
            return count
        breaks = [index for index, (one, other) in enumerate(pairwise(held), start=1) if one.block.page != other.block.page]
        if breaks and self.filled(breaks[-1]) >= _PAGE_FILL * self.style.lines:
            count = breaks[-1]
        return self.without_headings(count)

    def without_headings(self, count: int) -> int:
        """Less the headings at the end, whose text would stand on the next page; all of them if there is nothing else."""
        end = count
        while end and self.ahead[end - 1].block.kind == "heading":
            end -= 1
        return end or count

    def split_first(self) -> int:
        """Part a unit that is longer than a page where its first line too many begins: between words, or within one that alone is longer."""
        unit = self.ahead[0]
        while len(starts := self.line_starts(self.text[unit.start : min(unit.end, unit.start + self.stretch)])) <= self.style.lines:
            self.stretch *= 2
        start = unit.start + starts[self.style.lines]
        head = self.text[unit.start : start].rstrip()
        first = Unit(unit.start, unit.start + len(head), unit.block, unit.forced, unit.section)
        self.known.pop(unit.start, None)
        self.ahead[:1] = [first, Unit(start, unit.end, unit.block)]
        return 1
