"""A plan, page geometry and an answer go in; the citations come out: every page that was read, with the lines that speak to the answer marked."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from retrieval.types import DocumentRow, PageRow, Plan

from .types import Citation, MarkedLine

_WORD = re.compile(r"\w+")
# Words of a question that say nothing about where its answer stands.
_COMMON = frozenset(
    [
        "a",
        "an",
        "and",
        "are",
        "at",
        "be",
        "by",
        "did",
        "do",
        "does",
        "for",
        "from",
        "has",
        "have",
        "how",
        "in",
        "is",
        "it",
        "its",
        "me",
        "of",
        "on",
        "or",
        "tell",
        "that",
        "the",
        "this",
        "to",
        "was",
        "were",
        "what",
        "when",
        "where",
        "which",
        "who",
        "whom",
        "whose",
        "why",
        "with",
    ]
)


def cite(plan: Plan, documents: Mapping[str, DocumentRow], pages: Mapping[str, PageRow]) -> tuple[Citation, ...]:
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
        )
        for pick in plan.picks
    )


def mark(citations: tuple[Citation, ...], pages: Mapping[str, PageRow], question: str, answer: str) -> tuple[Citation, ...]:
    """Mark the lines that hold the answer's own words; where no page has them, the one line of all that is closest to the question.

    A mark says where to look, not that the answer is right: a small model may name words that stand elsewhere on the page.
    """
    wanted = _words(answer)
    holding = {i: found for i, citation in enumerate(citations) if (found := _holding(pages[citation.page], wanted))} if wanted else {}
    if holding:
        # Of the lines with the answer's words, those that also speak of what was asked come first: keep the best of them.
        asked = _telling(question)
        best = max(_overlap(text, asked) for found in holding.values() for _, text in found)
        return tuple(
            replace(
                c, lines=_marks(pages[c.page], [n for n, text in holding.get(i, []) if _overlap(text, asked) == best], "holds the answer")
            )
            for i, c in enumerate(citations)
        )
    asked = _telling(question)
    scored = [
        (_overlap(line[0], asked), -i, -n) for i, citation in enumerate(citations) for n, line in enumerate(pages[citation.page].lines)
    ]
    top = max(scored, default=(0, 0, 0))
    if top[0] == 0:
        return citations
    return tuple(
        replace(c, lines=_marks(pages[c.page], [-top[2]], "closest to the question")) if i == -top[1] else c
        for i, c in enumerate(citations)
    )


def _holding(page: PageRow, wanted: list[str]) -> list[tuple[int, str]]:
    """Lines in which the answer's words stand in a row; an answer may run on over a line's end."""
    found = []
    for n, line in enumerate(page.lines):
        following = page.lines[n + 1][0] if n + 1 < len(page.lines) else ""
        here, both = _words(line[0]), _words(line[0] + " " + following)
        at = _find(both, wanted)
        if at is not None and at < len(here):
            found.append((n, line[0]))
            if at + len(wanted) > len(here):
                found.append((n + 1, line[0]))
    return found


def _find(words: list[str], wanted: list[str]) -> int | None:
    size = len(wanted)
    return next((i for i in range(len(words) - size + 1) if words[i : i + size] == wanted), None)


def _marks(page: PageRow, numbers: list[int], why: str) -> tuple[MarkedLine, ...]:
    return tuple(MarkedLine(n, page.lines[n][0], page.lines[n][1:], why) for n in sorted(set(numbers)))  # type: ignore[arg-type]


def _words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())


def _telling(question: str) -> set[str]:
    return set(_words(question)) - _COMMON


def _overlap(text: str, asked: set[str]) -> int:
    return len(asked & set(_words(text)))
