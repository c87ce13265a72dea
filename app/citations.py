"""A plan, page geometry and an answer go in; the citations come out: every page that was read, with the lines that speak to the answer marked."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace

from retrieval.types import DocumentRow, PageRow, Plan

from .types import Citation, MarkedLine, ReadAs, Why

_WORD = re.compile(r"\w+")
# Words of a question that say nothing about where its answer stands.
# The last letter of "school's" is one of them, too.
_COMMON = frozenset(
    [
        *("a", "an", "and", "are", "at", "be", "by", "did", "do", "does", "for", "from", "has", "have", "how", "in", "is", "it", "its"),
        *("me", "of", "on", "or", "s", "tell", "that", "the", "this", "to", "was", "were"),
        *("what", "when", "where", "which", "who", "whom", "whose", "why", "with"),
    ]
)


def cite(plan: Plan, documents: Mapping[str, DocumentRow], pages: Mapping[str, PageRow], read_as: ReadAs = "image") -> tuple[Citation, ...]:
    """The pages of a plan in context order, without marks."""
    return tuple(
        Citation(
            document=pick.chunk.document,
            name=documents[pick.chunk.document].name,
            page=pick.page.key,
            dpi=pick.dpi,
            heading=pick.chunk.heading,
            source_page=pick.chunk.source_page,
            ordinal=pick.chunk.ordinal,
            width=pages[pick.page.key].width,
            height=pages[pick.page.key].height,
            read_as=read_as,
        )
        for pick in plan.picks
    )


def mark(citations: tuple[Citation, ...], pages: Mapping[str, PageRow], question: str, answer: str) -> tuple[Citation, ...]:
    """Mark the lines that hold the answer's own words; where no page has them, the one line of all that is closest to the question, and the
    whole of every picture on which no text is known: the answer may stand there.

    Of several places with the answer's words, those that speak most of what was asked are marked. A mark says where to look,
    not that the answer is right: a small model may name words that stand elsewhere on the page.
    """
    asked = set(_words(question)) - _COMMON
    spans = _scored(citations, pages, asked, lambda page: _holding(page, _words(answer)))
    why: Why = "has the answer's words"
    if not spans:
        single = _scored(citations, pages, asked, lambda page: [(n,) for n in range(len(page.lines))])
        spans = [span for span in single if span[0] > 0][:1]
        why = "closest to the question"
    unread = why == "closest to the question"
    chosen = [span for span in spans if span[0] == spans[0][0]]
    return tuple(
        replace(
            c,
            lines=_whole(pages[c.page])
            if unread and pages[c.page].kind == "native" and not pages[c.page].lines
            else _marks(pages[c.page], sorted({n for _, at, lines in chosen if at == i for n in lines}), why),
        )
        for i, c in enumerate(citations)
    )


def _scored(
    citations: tuple[Citation, ...], pages: Mapping[str, PageRow], asked: set[str], find: Callable[[PageRow], list[tuple[int, ...]]]
) -> list[tuple[int, int, tuple[int, ...]]]:
    """(words of the question, citation, lines) of every span that `find` names, best first; equal ones in reading order."""
    found = []
    for i, citation in enumerate(citations):
        page = pages[citation.page]
        spoken = _under_headings(page)
        for lines in find(page):
            words = {word for n in lines for word in _words(spoken[n])}
            found.append((len(asked & words), i, lines))
    return sorted(found, key=lambda span: -span[0])


def _under_headings(page: PageRow) -> list[str]:
    """Every line with the heading it stands under: "  fuel: coal" below "Gray farm:" speaks of Gray farm."""
    spoken, heading = [], ""
    for text, *_ in page.lines:
        if not text.startswith(" "):
            heading = text if text.rstrip().endswith(":") else ""
        spoken.append(f"{heading} {text}" if text.startswith(" ") else text)
    return spoken


def _holding(page: PageRow, wanted: list[str]) -> list[tuple[int, ...]]:
    """Lines in which the answer's words stand in a row; an answer may run on over a line's end, and then takes both lines."""
    found: list[tuple[int, ...]] = []
    for n, line in enumerate(page.lines if wanted else ()):
        following = page.lines[n + 1][0] if n + 1 < len(page.lines) else ""
        here, both = _words(line[0]), _words(line[0] + " " + following)
        at = _find(both, wanted)
        if at is not None and at < len(here):
            found.append((n,) if at + len(wanted) <= len(here) else (n, n + 1))
    return found


def _find(words: list[str], wanted: list[str]) -> int | None:
    size = len(wanted)
    return next((i for i in range(len(words) - size + 1) if words[i : i + size] == wanted), None)


def _whole(page: PageRow) -> tuple[MarkedLine, ...]:
    return (MarkedLine(0, "(the whole page)", (0.0, 0.0, page.width, page.height), "closest to the question"),)


def _marks(page: PageRow, numbers: list[int], why: Why) -> tuple[MarkedLine, ...]:
    return tuple(MarkedLine(n, page.lines[n][0], page.lines[n][1:], why) for n in sorted(set(numbers)))


def _words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())
