"""A press in; the pages and questions that a reader in training is examined on out, always the same, and what it makes of them.

Their seed is one of its own. The card's held-out seed is kept for the card: a checkpoint that is chosen by its marks there would be
chosen for them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING

import torch

from eval.records import ABSENT, CARRIED, Kind, Query, build, sections
from eval.world import NOT_STATED

from .lessons import Course, Lesson, print_pages, transcribe
from .model import positions
from .pages import Press, Sheet

if TYPE_CHECKING:
    from .answer import Answer

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


@torch.no_grad()
def mark(stage: Answer, answered: Sequence[tuple[Lesson, list[Query]]]) -> tuple[float, float]:
    """(share of answers exactly right, share of questions refused), 0 to 1. The lessons must have been looked at.

    Greedy decoding gives the gold answer if and only if every piece of it is the likeliest behind the pieces before it: one forward
    with the answer already written tells as much as a decoding of it, in a tenth of the time.
    """
    from .answer import Batch

    refusal = stage.press.vocabulary.encode(NOT_STATED).ids[0]
    right = refused = total = 0
    for lesson, queries in answered:
        transcripts = [transcribe(lesson, [query], stage.press.vocabulary) for query in queries]
        batch = Batch.of(transcripts, [positions(t.segments) for t in transcripts], stage.device)
        embeddings, _ = stage.embed(batch, lesson.features * len(queries))
        hidden = stage.tower(inputs_embeds=embeddings, position_ids=batch.positions, use_cache=False).last_hidden_state
        for i in range(len(queries)):
            rows = batch.answers[i].nonzero()[:, 0]
            said = stage.net.lm_head(hidden[i, rows - 1]).argmax(-1)
            right += int(torch.equal(said, batch.ids[i, rows]))
            refused += int(said[0] == refusal)
        total += len(queries)
    return right / total, refused / total
