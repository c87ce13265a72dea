"""Intervals come of contexts, and groups weigh alike."""

import random

import pytest

from eval.questions.bootstrap import Draws, exponent


def test_groups_weigh_alike_whatever_their_size() -> None:
    draws = Draws({"a": [str(i) for i in range(2)], "b": [str(i) for i in range(8)]})
    assert draws.mean({"a": [100.0] * 2, "b": [0.0] * 8}) == 50.0


def test_questions_of_one_context_do_not_make_an_interval_narrower() -> None:
    rng = random.Random(0)
    scores = [100.0 * (rng.random() < 0.5) for _ in range(25)]
    alone = Draws({"a": [str(i) for i in range(25)]}).interval({"a": scores})
    # The same 25 contexts with four questions each that stand and fall together.
    four = Draws({"a": [str(i // 4) for i in range(100)]}).interval({"a": [scores[i // 4] for i in range(100)]})
    assert four == pytest.approx(alone)


def test_an_interval_holds_its_mean_and_shrinks_with_more_contexts() -> None:
    few, many = (Draws({"a": [str(i) for i in range(n)]}) for n in (10, 200))
    spans = [draws.interval({"a": [100.0, 0.0] * (n // 2)}) for draws, n in ((few, 10), (many, 200))]
    assert all(low < 50 < high for low, high in spans)
    assert spans[1][1] - spans[1][0] < (spans[0][1] - spans[0][0]) / 3


def test_a_group_of_one_context_has_no_interval() -> None:
    draws = Draws({"a": ["x", "x", "x"], "b": ["x", "y"]})
    assert draws.interval({"a": [0.0, 1.0, 2.0]}) is None
    assert draws.interval({"a": [0.0, 1.0, 2.0], "b": [1.0, 2.0]}) is None
    assert draws.interval({"b": [1.0, 2.0]}) is not None


def test_a_groups_draws_do_not_hang_on_the_other_groups() -> None:
    contexts = [str(i) for i in range(20)]
    values = {"a": [float(i) for i in range(20)]}
    assert Draws({"a": contexts}).interval(values) == Draws({"b": contexts, "a": contexts}).interval(values)


def test_the_interval_of_a_mean_logarithm_becomes_one_of_the_ratio() -> None:
    assert exponent((0.0, 0.0)) == (1.0, 1.0)
    assert exponent(None) is None
