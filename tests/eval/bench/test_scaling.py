"""The scaling run: a point for every setting, limits of what they say, and a grid too small for its fits refused at once."""

import json

import pytest

from eval.bench.scaling import Grid, Point, Scaling, fits_of, scale
from eval.errors import EvalError


def test_a_small_grid_is_measured_whole() -> None:
    said: list[str] = []
    grid = Grid(("reader",), (1, 2), (36,), (16, 24), repeats=1, full_rows=60)
    found = scale(grid, said.append)
    assert [(p.pages, p.question_tokens) for p in found.points] == [(1, 16), (1, 24), (2, 16), (2, 24)]
    assert len(said) == 2
    one, two = found.points[0], found.points[2]
    assert two.bytes == 2 * one.bytes
    # Full prefill is run up to `full_rows`, and its ratio is of both parts to it.
    assert one.rows <= 60 < two.rows
    assert one.full is not None
    assert one.ratio == pytest.approx((one.place + one.question) / one.full)
    assert two.ratio is None
    json.dumps(found.facts())


def test_the_limit_is_bytes_over_bandwidth_and_the_question_alone() -> None:
    point = Point("m", 1, 1, 72, 16, 100, 500, place=2.0, question=3.0, alone=1.0, full=50.0)
    assert Scaling([point], 1000.0, {}).limit(point) == 2.0
    assert point.ratio == 0.1


def test_the_fits_are_of_each_model_alone() -> None:
    points = [
        Point(model, 1, n, 72, q, n * 100, n * 1000, place=slow * n, question=slow * (1 + q + 0.01 * n * q), alone=1.0, full=None)
        for model, slow in (("a", 1.0), ("b", 2.0))
        for n in (1, 2, 4)
        for q in (16, 64)
    ]
    fits = fits_of(points)
    for model, slow in (("a", 1.0), ("b", 2.0)):
        place, question = fits[model]
        assert place.n == 3
        assert place.coefficients["bytes"] == pytest.approx(slow / 1000)
        assert question.coefficients["rows x tokens"] == pytest.approx(slow * 1e-4)


@pytest.mark.parametrize("grid", [Grid(pages=(1,), dpis=(72,)), Grid(pages=(1, 2), dpis=(72,), questions=(16,))])
def test_a_grid_with_fewer_points_than_coefficients_is_refused(grid: Grid) -> None:
    with pytest.raises(EvalError, match="coefficients"):
        scale(grid, lambda _: None)
