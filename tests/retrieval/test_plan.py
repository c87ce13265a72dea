"""The plan against a restatement of QV-PIC's equations 5 to 8 in exact fractions, and what the paper leaves open."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from retrieval.errors import RetrievalError
from retrieval.plan import make_plan
from retrieval.types import Budget, Chunk, Hit, PageRef, Plan

LOW_ROWS, HIGH_ROWS = 50, 130
# No deadline: a busy machine is no fault of the code.
calm = settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])


def hit(number: int, score: float, pages: int = 1) -> Hit:
    refs = tuple(PageRef(f"p{number}.{page}", {72: LOW_ROWS + number, 120: HIGH_ROWS + number}) for page in range(pages))
    return Hit(Chunk(number, "d", number, f"text {number}", 0, 9, pages=refs), score)


def hits_of(*scores: float) -> list[Hit]:
    return [hit(number, score) for number, score in enumerate(scores)]


def high(plan: Plan) -> set[int]:
    return {pick.chunk.id for pick in plan.picks if pick.dpi == 120}


# Scores on a grid of hundredths, alpha of twentieths: no mass then misses alpha by less than the guard against rounding, but for exact ties.
scores = st.lists(st.integers(-100, 100).map(lambda cents: cents / 100), min_size=1, max_size=12)
alphas = st.integers(1, 20).map(lambda part: part / 20)
caps = st.integers(1, 6)


def promoted_by_the_equations(values: list[float], alpha: float, cap: int) -> set[int]:
    """Equations 5 to 7 word by word, in exact arithmetic over the hundredths that were drawn."""
    exact = [Fraction(round(value * 100), 100) for value in values]
    clipped = [max(value, Fraction(0)) for value in exact]
    ranking = sorted(range(len(exact)), key=lambda place: (-exact[place], place))
    if sum(clipped) == 0:
        return {ranking[0]}
    share = Fraction(round(alpha * 20), 20)
    reaching = min(k for k in range(1, len(exact) + 1) if sum(clipped[place] for place in ranking[:k]) / sum(clipped) >= share)
    return set(ranking[: min(cap, reaching)])


@calm
@given(scores, alphas, caps)
def test_the_promoted_set_is_that_of_the_equations(values: list[float], alpha: float, cap: int) -> None:
    plan = make_plan(hits_of(*values), Budget(alpha=alpha, cap=cap))
    assert high(plan) == promoted_by_the_equations(values, alpha, cap)


@calm
@given(scores, alphas, caps)
def test_every_page_has_one_dpi_in_context_order_and_rows_add_up_as_in_equation_8(values: list[float], alpha: float, cap: int) -> None:
    hits = hits_of(*values)
    plan = make_plan(hits, Budget(alpha=alpha, cap=cap))
    assert [pick.page.key for pick in plan.picks] == [page.key for hit in hits for page in hit.chunk.pages]
    low_rows = sum(hit.chunk.pages[0].rows[72] for hit in hits)
    assert plan.rows == low_rows + sum(hits[place].chunk.pages[0].rows[120] - hits[place].chunk.pages[0].rows[72] for place in high(plan))
    assert len(high(plan)) <= cap


@calm
@given(scores)
def test_the_ranking_falls_by_the_unclipped_score_and_ties_keep_their_context_order(values: list[float]) -> None:
    ranking = make_plan(hits_of(*values), Budget()).ranking
    assert sorted(ranking) == list(range(len(values)))
    assert all((-values[first], first) < (-values[second], second) for first, second in pairwise(ranking))


@calm
@given(scores, alphas, caps, st.integers(50, 1500))
def test_a_row_limit_demotes_from_the_bottom_and_then_drops_from_the_bottom(
    values: list[float], alpha: float, cap: int, limit: int
) -> None:
    free = make_plan(hits_of(*values), Budget(alpha=alpha, cap=cap))
    best = free.ranking[0]
    if LOW_ROWS + best > limit:
        with pytest.raises(RetrievalError, match=f"max_rows={limit} is less than the {LOW_ROWS + best} rows"):
            make_plan(hits_of(*values), Budget(alpha=alpha, cap=cap, max_rows=limit))
        return
    plan = make_plan(hits_of(*values), Budget(alpha=alpha, cap=cap, max_rows=limit))
    assert plan.rows <= limit
    assert plan.ranking == free.ranking
    # What is left is the top of the ranking, and its top alone is promoted.
    assert list(plan.dropped) == list(reversed(plan.ranking))[: len(plan.dropped)]
    assert {pick.chunk.id for pick in plan.picks} == set(plan.ranking) - set(plan.dropped)
    assert high(plan) == set(plan.ranking[: len(high(plan))])
    if plan.dropped:
        assert not high(plan)
        # One more would not have fitted.
        assert plan.rows + LOW_ROWS + plan.dropped[-1] > limit
    elif high(plan) < high(free):
        following = plan.ranking[len(high(plan))]
        assert plan.rows - (LOW_ROWS + following) + (HIGH_ROWS + following) > limit


def test_two_equal_pages_at_half_the_mass_promote_one_even_when_the_last_bit_differs() -> None:
    assert high(make_plan(hits_of(0.3, 0.3 + 6e-8), Budget(alpha=0.5))) == {1}
    assert high(make_plan(hits_of(0.3 + 6e-8, 0.3), Budget(alpha=0.5))) == {0}
    assert high(make_plan(hits_of(*[0.1] * 20), Budget(alpha=0.65, cap=20))) == set(range(13))


def test_a_mass_clearly_below_alpha_is_not_rounded_up() -> None:
    assert high(make_plan(hits_of(0.6499, 0.3501), Budget(alpha=0.65))) == {0, 1}


@pytest.mark.parametrize("values", [(-0.3, -0.1, -0.2), (-0.5, 0.0, -0.0), (0.0, 0.0)])
def test_without_a_positive_score_the_best_chunk_is_the_fallback(values: tuple[float, ...]) -> None:
    plan = make_plan(hits_of(*values), Budget())
    assert high(plan) == {plan.ranking[0]}
    assert [pick.why for pick in plan.picks] == ["fallback" if pick.chunk.id == plan.ranking[0] else "context" for pick in plan.picks]


@pytest.mark.parametrize("budget", [Budget(cap=0), Budget(low=120, high=120), Budget(low=72, high=72)])
def test_no_promotions_or_one_dpi_is_uniform(budget: Budget) -> None:
    plan = make_plan(hits_of(0.5, -0.1), budget)
    assert {(pick.dpi, pick.why) for pick in plan.picks} == {(budget.low, "uniform")}


def test_all_pages_of_a_promoted_chunk_are_promoted() -> None:
    plan = make_plan([hit(0, 0.1), hit(1, 0.9, pages=3)], Budget(cap=1))
    assert [(pick.page.key, pick.dpi) for pick in plan.picks] == [("p0.0", 72), ("p1.0", 120), ("p1.1", 120), ("p1.2", 120)]


def test_no_hits_give_an_empty_plan() -> None:
    assert make_plan([], Budget(max_rows=0)) == Plan((), ())


@pytest.mark.parametrize("score", [float("nan"), float("inf"), float("-inf")])
def test_a_score_that_is_not_finite_names_its_chunk(score: float) -> None:
    with pytest.raises(RetrievalError, match="chunk 1 has the score"):
        make_plan(hits_of(0.5, score), Budget())


@pytest.mark.parametrize(
    ("budget", "words"),
    [
        (Budget(alpha=0.0), "alpha=0.0"),
        (Budget(alpha=1.01), "alpha=1.01"),
        (Budget(alpha=float("nan")), "alpha=nan"),
        (Budget(cap=-1), "cap=-1"),
        (Budget(low=120, high=72), "low=120 and high=72"),
        (Budget(low=0), "low=0"),
    ],
)
def test_a_budget_out_of_range_is_named(budget: Budget, words: str) -> None:
    with pytest.raises(RetrievalError, match=words):
        make_plan([], budget)


def test_a_dpi_without_a_cache_names_the_page_and_those_there_are() -> None:
    with pytest.raises(RetrievalError, match=r"page p0\.0 of chunk 0 has caches at \[72, 120\] DPI, not at 144"):
        make_plan(hits_of(0.5), Budget(high=144))
    with pytest.raises(RetrievalError, match="not at 144"):
        make_plan(hits_of(0.5), Budget(high=144, max_rows=9999))


def test_a_chunk_that_comes_twice_is_an_error() -> None:
    with pytest.raises(RetrievalError, match="chunk 3 is among the hits twice"):
        make_plan([hit(3, 0.5), hit(3, 0.4)], Budget())
