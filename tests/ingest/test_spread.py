"""From a sample to a total: exact where all was measured, honest where it was not."""

import numpy as np
import pytest

from ingest.spread import Amount, evenly, extrapolate, within


def test_what_was_measured_whole_is_exact() -> None:
    total, variance = extrapolate([2, 5], np.array([[1.0, 10.0], [4.0, 3.0]]), 0)
    assert total.tolist() == [5, 13]
    assert variance.tolist() == [0, 0]
    assert within(5, 0, 5).exact


def test_what_grows_with_size_is_foretold_without_doubt() -> None:
    total, variance = extrapolate([2, 3, 5], np.array([[20.0], [30.0], [50.0]]), 90)
    assert total[0] == pytest.approx(1000)
    assert variance[0] == pytest.approx(0, abs=1e-18)


@pytest.mark.parametrize("sampled", [4, 20])
def test_the_range_holds_the_truth_about_nineteen_times_in_twenty(sampled: int) -> None:
    draw = np.random.default_rng(7)
    held = 0
    for _ in range(400):
        x = draw.integers(10, 1000, 120).astype(float)
        y = 3 * x + draw.normal(size=120) * 5 * np.sqrt(x)
        total, variance = extrapolate(x[:sampled].tolist(), y[:sampled, None], float(x[sampled:].sum()))
        found = within(total[0], variance[0], y[:sampled].sum())
        held += found.low <= y.sum() <= found.high
    assert 0.91 < held / 400 < 0.985


def test_one_part_alone_makes_a_wide_range_that_keeps_what_was_counted() -> None:
    total, variance = extrapolate([10], np.array([[4.0]]), 90)
    found = within(total[0], variance[0], 4)
    assert (found.value, found.low, found.high) == (40, 4, 112)


def test_amounts_are_added_and_multiplied_end_by_end() -> None:
    one, other = Amount(10, 8, 12), Amount(2, 1, 3)
    assert one + other == Amount(12, 9, 15)
    assert one * other == Amount(20, 8, 36)
    assert one.scaled(2) == Amount(20, 16, 24)
    assert Amount.exactly(3).exact
    assert not one.exact


@pytest.mark.parametrize(("count", "among"), [(1, 1), (2, 9), (3, 3), (200, 201), (7, 4), (5, 0)])
def test_numbers_drawn_evenly_are_ascending_and_none_comes_twice(count: int, among: int) -> None:
    drawn = evenly(count, among)
    assert drawn == sorted(set(drawn))
    assert len(drawn) == min(count, among)
    assert all(0 <= number < among for number in drawn)
