"""Figures: three, as PNG and as SVG, also where full prefill was not run everywhere."""

from pathlib import Path

import pytest

from eval import plots
from eval.bench.figures import draw
from eval.bench.scaling import Point, Scaling, fits_of
from eval.errors import PlotsUnavailable

POINTS = [
    Point(model, 1, n, 72, q, n * 100, n * 1000, place=0.001 * n, question=0.002 * q, alone=0.02, full=1.0 if n < 4 else None)
    for model in ("a", "b")
    for n in (1, 2, 4)
    for q in (16, 64)
]


def test_every_figure_is_drawn_twice(tmp_path: Path) -> None:
    made = draw(tmp_path, Scaling(POINTS, 1e9, fits_of(POINTS)))
    assert {path.name for path in made} == {
        f"scaling-{name}.{kind}" for name in ("place", "question", "first-token") for kind in ("png", "svg")
    }
    assert all(path.stat().st_size > 1000 for path in made)


def test_without_matplotlib_the_cure_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plots.importlib.util, "find_spec", lambda _: None)
    with pytest.raises(PlotsUnavailable, match="plots"):
        draw(tmp_path, Scaling(POINTS, 1e9, fits_of(POINTS)))
