"""A press in; the pages and questions that a reader in training is examined on out, always the same.

Their seed is one of its own. The card's held-out seed is kept for the card: a checkpoint that is chosen by its marks there would be
chosen for them.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from eval.records import ABSENT, CARRIED, Kind, Query, build, sections

from .lessons import Course, Lesson, print_pages
from .pages import Press, Sheet

SEED = 770_007
# Questions asked of one context at most, as the card has it.
_EACH = 4


@dataclass(frozen=True)
class Paper:
    """Questions of one sort: contexts of `pages` by `lines` at one DPI, and of their questions those over `hops`."""

    name: str
    kind: Kind
    pages: int
    lines: int
    dpi: int
    hops: int


PAPERS = (
    Paper("1x12 at 120", "build", 1, 12, 120, 1),
    Paper("1x12 at 72", "build", 1, 12, 72, 1),
    Paper("two hops", "build", 1, 12, 120, 2),
    Paper("absent", "build", 1, 12, 120, ABSENT),
    Paper("carried over", "sections", 2, 6, 120, CARRIED),
    Paper("4x12 at 120", "build", 4, 12, 120, 1),
    Paper("8x12 at 120", "build", 8, 12, 120, 1),
)


def questions(paper: Paper, n: int, press: Press) -> list[tuple[Lesson, list[Query]]]:
    """The first n questions of a paper, context by context."""
    rng = Random(SEED)
    found: list[tuple[Lesson, list[Query]]] = []
    while (missing := n - sum(len(queries) for _, queries in found)) > 0:
        if paper.kind == "sections":
            context = sections(rng, paper.pages, paper.lines)
        else:
            absent = float(paper.hops == ABSENT)
            context = build(rng, paper.pages, paper.lines, hops=0.6 * (paper.hops == 2), dense=0.8, absent=absent)
        queries = [query for query in context.queries if query.hops == paper.hops][: min(_EACH, missing)]
        if queries:
            sheets = print_pages(context.pages, [paper.dpi] * paper.pages, press)
            found.append((Lesson(Course(), context.pages, context.queries, sheets), queries))
    return found


def pages(dpi: int, n: int, press: Press) -> list[tuple[Sheet, int]]:
    """Pages for the eye alone: two in three of sentences, one of rows under headings."""
    rng = Random(SEED)
    contexts = [sections(rng, 1, 12) if i % 3 == 2 else build(rng, 1, 12, dense=0.8) for i in range(n)]
    return [(sheet, dpi) for context in contexts for leaf in print_pages(context.pages, [dpi], press) for sheet in leaf]
