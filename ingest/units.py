"""A document goes in; its units come out in order: the sentences of its prose, and the lines that are lines already."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from .parsers.parsed import SECTION
from .types import Block, Document


@dataclass(frozen=True, slots=True)
class Unit:
    """What is not parted while it fits a page: a sentence, or a line of the source. `forced`: the source asks for a page break before it."""

    start: int
    end: int
    block: Block
    forced: bool = False
    section: bool = False


def units(document: Document) -> Iterator[Unit]:
    """The document's units in order; white space between them is in none."""
    depth = _top_depth(document.blocks)
    before = 0
    for block in document.blocks:
        forced = "\f" in document.text[before : block.start]
        before = block.end
        section = block.kind == "heading" and _depth(block) == depth
        for start, end in _parts(document.text, block):
            yield Unit(start, end, block, forced, section)
            forced = section = False


def sentences(text: str, language: str = "en") -> Iterator[tuple[int, int]]:
    """[start, end) of every sentence of one line, white space around it left out. A mere number ("3.") goes with what follows."""
    import sentencex

    begin = at = 0
    for piece in sentencex.segment(language, text):
        at += len(piece)
        if any(character.isalpha() for character in text[begin:at]):
            yield from _trimmed(text, begin, at)
            begin = at
    yield from _trimmed(text, begin, len(text))


def _trimmed(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    piece = text[start:end]
    if piece.strip():
        yield start + len(piece) - len(piece.lstrip()), start + len(piece.rstrip())


def _parts(text: str, block: Block) -> Iterator[tuple[int, int]]:
    """A line stays a line. Lines of prose are parted into sentences; headings, table rows and indented rows are not."""
    start = block.start
    for line in text[block.start : block.end].split("\n"):
        if line.strip():
            if block.kind in ("heading", "table") or line[0].isspace():
                yield start, start + len(line.rstrip())
            else:
                for first, last in sentences(line):
                    yield start + first, start + last
        start += len(line) + 1


def _depth(block: Block) -> int:
    return block.heading.count(SECTION) + 1


def _top_depth(blocks: tuple[Block, ...]) -> int:
    """The highest level of heading that stands more than once: a lone title heads the whole document and parts nothing."""
    counts = Counter(_depth(block) for block in blocks if block.kind == "heading")
    return min((depth for depth, count in counts.items() if count > 1), default=0)
