"""Hits and a budget go in; a `Plan` comes out: one DPI for every page, in context order (QV-PIC, equations 5 to 8)."""

from __future__ import annotations

import math
from collections.abc import Sequence

from .errors import RetrievalError
from .types import Budget, Hit, Pick, Plan, Why

# A float32 cosine is good to about 1e-7. A mass that misses alpha by less than this share of itself has reached it: otherwise two
# equal pages at alpha = 0.5 would be promoted both or singly by the last bit of a dot product. Sums are `math.fsum`, so they add no
# error of their own.
ROUNDING = 1e-6


def make_plan(hits: Sequence[Hit], budget: Budget) -> Plan:
    """Give every page of every hit exactly one DPI.

    The order of `hits` is the context order and is kept; the ranking decides resolution only. The paper promotes rendered images;
    here a chunk is promoted with all its pages, for chunks are sized to fill one page, so that `cap` counts pages all but always.
    No hits give an empty plan. Raises RetrievalError for a budget out of range, a score that is not finite, a chunk that comes
    twice, a page without rows at the DPI it needs, and a `max_rows` below what the most relevant chunk takes at the low DPI.
    """
    check_budget(budget)
    check_hits(hits)
    ranking = rank([hit.score for hit in hits])
    count, why = promotions([hits[place].score for place in ranking], budget)
    kept = len(ranking)
    if budget.max_rows is not None:
        count, kept = fit(hits, ranking, count, budget)
    promoted = set(ranking[:count])
    dropped = [hits[place].chunk.id for place in reversed(ranking[kept:])]

    uniform = budget.cap == 0 or budget.low == budget.high
    picks: list[Pick] = []
    for place in sorted(ranking[:kept]):
        hit = hits[place]
        dpi = budget.high if place in promoted else budget.low
        reason: Why = "uniform" if uniform else why if place in promoted else "context"
        for page in hit.chunk.pages:
            if dpi not in page.rows:
                raise RetrievalError(_no_rows(hit, dpi))
            picks.append(Pick(hit.chunk, page, dpi, hit.score, reason))
    return Plan(tuple(picks), tuple(hits[place].chunk.id for place in ranking), tuple(dropped))


def rank(scores: Sequence[float]) -> list[int]:
    """Context positions by falling similarity before clipping: pi(q) of equation 5. Equal scores keep their context order."""
    return sorted(range(len(scores)), key=lambda place: -scores[place])


def promotions(falling: Sequence[float], budget: Budget) -> tuple[int, Why]:
    """k* of equation 6 for scores in falling order, and why these chunks are promoted.

    Clipping at zero is equation 5. Where nothing is positive the best chunk alone is promoted: the paper's deterministic fallback.
    """
    if not falling or budget.cap == 0 or budget.low == budget.high:
        return 0, "uniform"
    clipped = [max(score, 0.0) for score in falling]
    total = math.fsum(clipped)
    if total <= 0.0:
        return 1, "fallback"
    wanted = budget.alpha * total * (1.0 - ROUNDING)
    for count in range(1, min(budget.cap, len(clipped)) + 1):
        if math.fsum(clipped[:count]) >= wanted:
            return count, "relevant"
    return min(budget.cap, len(clipped)), "relevant"


def fit(hits: Sequence[Hit], ranking: Sequence[int], count: int, budget: Budget) -> tuple[int, int]:
    """How many of `ranking` stay promoted and how many stay at all, so that N(q) of equation 8 is at most `max_rows`.

    The least relevant promotion goes first, then the next; only then is the least relevant chunk dropped, then the next.
    """
    assert budget.max_rows is not None

    def rows(place: int, dpi: int) -> int:
        return sum(_rows(hits[place], dpi))

    def total(promoted: int, kept: int) -> int:
        return sum(rows(place, budget.high if index < promoted else budget.low) for index, place in enumerate(ranking[:kept]))

    kept = len(ranking)
    while count and total(count, kept) > budget.max_rows:
        count -= 1
    while kept and total(count, kept) > budget.max_rows:
        kept -= 1
    if ranking and not kept:
        best = ranking[0]
        raise RetrievalError(
            f"max_rows={budget.max_rows} is less than the {rows(best, budget.low)} rows that the most relevant chunk "
            f"{hits[best].chunk.id} takes at {budget.low} DPI: allow more rows, or the answer would rest on no page at all"
        )
    return count, kept


def check_budget(budget: Budget) -> None:
    """Raise RetrievalError naming the field and its value where a budget is out of range."""
    if not 0.0 < budget.alpha <= 1.0:
        raise RetrievalError(f"alpha={budget.alpha} is not in (0, 1]: it is the share of the positive relevance to promote")
    if budget.cap < 0:
        raise RetrievalError(f"cap={budget.cap} is negative: 0 promotes nothing, n at most n chunks")
    if not 0 < budget.low <= budget.high:
        raise RetrievalError(f"low={budget.low} and high={budget.high}: the low DPI must be positive and at most the high one")


def check_hits(hits: Sequence[Hit]) -> None:
    """Raise RetrievalError naming the chunk where a score is not finite or a chunk comes twice."""
    seen: set[int] = set()
    for hit in hits:
        if not math.isfinite(hit.score):
            raise RetrievalError(f"chunk {hit.chunk.id} has the score {hit.score}: its embedding is broken, so index its document again")
        if hit.chunk.id in seen:
            raise RetrievalError(f"chunk {hit.chunk.id} is among the hits twice: its pages would get two resolutions")
        seen.add(hit.chunk.id)


def _rows(hit: Hit, dpi: int) -> list[int]:
    if any(dpi not in page.rows for page in hit.chunk.pages):
        raise RetrievalError(_no_rows(hit, dpi))
    return [page.rows[dpi] for page in hit.chunk.pages]


def _no_rows(hit: Hit, dpi: int) -> str:
    page = next(page for page in hit.chunk.pages if dpi not in page.rows)
    return f"page {page.key} of chunk {hit.chunk.id} has caches at {sorted(page.rows)} DPI, not at {dpi}: ask for one of these"
