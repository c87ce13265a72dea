"""Page texts and a question go in; the DPI of each page comes out: uniform, or by QV-PIC's query-aware allocation."""

from __future__ import annotations

from collections.abc import Sequence

from retrieval.embedder import Embedder
from retrieval.plan import make_plan
from retrieval.types import Budget, Chunk, Hit, PageRef


def uniform(pages: Sequence[str], dpi: int) -> list[int]:
    return [dpi] * len(pages)


def promoted(pages: Sequence[str], question: str, embedder: Embedder, budget: Budget) -> list[int]:
    """Equations 5 to 8 over the pages of a context, by the very `make_plan` that serving uses."""
    vector = embedder.embed_question(question)
    scores = embedder.embed_passages(list(pages)) @ vector
    rows = {budget.low: 1, budget.high: 1}
    hits = [
        Hit(Chunk(number, "context", number, text, 0, len(text), pages=(PageRef(str(number), rows),)), float(score))
        for number, (text, score) in enumerate(zip(pages, scores, strict=True))
    ]
    return [pick.dpi for pick in make_plan(hits, budget).picks]
