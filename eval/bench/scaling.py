"""Models, pages, DPIs and question lengths go in; a point for each comes out, its parts, and the two limits that no page cache can beat.

    place      limit: the pages' bytes, read once and written once, over the memory bandwidth that was measured in the same run
    question   limit: the same question's forward behind the template alone, no page before it

Fitted: place ~ fixed + a x bytes; question ~ fixed + b x question tokens + c x (rows x question tokens), for each model.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from cache_compiler.assemble import assemble
from cache_compiler.prefill import full_prefill
from cache_compiler.types import Assembly, Canonical
from eval.arms import Bench
from eval.errors import EvalError
from renderer.types import PageImage

from .clock import timed
from .fit import Fit, bandwidth, fit
from .pages import bench_for, filled_pages, question_of


@dataclass(frozen=True)
class Grid:
    """What is varied. Full prefill is measured at every point of at most `full_rows` rows: its cost grows with their square."""

    models: tuple[str, ...] = ("reader", "random-small")
    pages: tuple[int, ...] = (1, 2, 4, 8)
    dpis: tuple[int, ...] = (72, 120)
    questions: tuple[int, ...] = (16, 64, 256)
    repeats: int = 5
    full_rows: int = 4096

    def require(self) -> None:
        """Raises EvalError where there would be fewer points than coefficients: before a long run, not behind it."""
        if len(self.pages) * len(self.dpis) < 2:
            raise EvalError("--scaling: placing is fitted with two coefficients; give two numbers of pages, or two DPIs")
        if len(self.pages) * len(self.dpis) * len(self.questions) < 3:
            raise EvalError("--scaling: a question is fitted with three coefficients; give more pages, DPIs or question lengths")


@dataclass(frozen=True)
class Point:
    """Medians, seconds. `alone` is the question's forward with no page: the best of all, for it is a limit. `full` is the whole way by
    full prefill, None where it was not run."""

    model: str
    parameters: int
    pages: int
    dpi: int
    question_tokens: int
    rows: int
    bytes: int
    place: float
    question: float
    alone: float
    full: float | None

    @property
    def first_token(self) -> float:
        return self.place + self.question

    @property
    def ratio(self) -> float | None:
        return None if self.full is None else self.first_token / self.full


@dataclass(frozen=True)
class Scaling:
    """All points; the bandwidth, bytes a second; the fits of each model: (place, question)."""

    points: list[Point]
    bandwidth: float
    fits: dict[str, tuple[Fit, Fit]]

    def limit(self, point: Point) -> float:
        """Seconds: bytes over bandwidth, and the question's own forward."""
        return 2 * point.bytes / self.bandwidth + point.alone

    def facts(self) -> dict[str, Any]:
        rows = [
            {**vars(point), "first_token": point.first_token, "limit": self.limit(point), "ratio": point.ratio} for point in self.points
        ]
        fits = {model: {"place": vars(place), "question": vars(question)} for model, (place, question) in self.fits.items()}
        return {"bandwidth_bytes_a_second": self.bandwidth, "fits": fits, "points": rows}


def scale(grid: Grid, report: Callable[[str], None]) -> Scaling:
    """Measure every point of the grid. Raises ContextTooLong where a model has no room for so many pages, and as `Grid.require`."""
    grid.require()
    points: list[Point] = []
    speed = 0.0
    for model in grid.models:
        bench = bench_for(model)
        speed = speed or bandwidth(bench.backbone.device)
        questions = {tokens: question_of(bench, tokens) for tokens in grid.questions}
        nothing = assemble(bench.backbone, bench.prefix("template"), [], max(grid.questions) + 1)
        alone = {tokens: min(_asked(bench, nothing, text, grid.repeats)) for tokens, text in questions.items()}
        parameters = sum(p.numel() for p in bench.backbone.model.parameters())
        for dpi in grid.dpis:
            images = filled_pages(bench, max(grid.pages), dpi)
            # One by one, so that large pages need no more memory than one of them takes.
            canonicals = [canonical for image in images for canonical in bench.canonicals("template", [image])]
            for count in grid.pages:
                place, assembly = _place(bench, canonicals[:count], max(grid.questions) + 1, grid.repeats)
                size = sum(canonical.bytes for canonical in canonicals[:count])
                for tokens, text in questions.items():
                    asked = statistics.median(_asked(bench, assembly, text, grid.repeats))
                    full = _full(bench, images[:count], text) if assembly.length <= grid.full_rows else None
                    points.append(
                        Point(bench.backbone.name, parameters, count, dpi, tokens, assembly.length, size, place, asked, alone[tokens], full)
                    )
                report(f"{model}, {count} pages at {dpi} DPI: {assembly.length:,} rows placed in {1000 * place:.2f} ms")
    return Scaling(points, speed, fits_of(points))


def fits_of(points: Sequence[Point]) -> dict[str, tuple[Fit, Fit]]:
    """The two fits of each model. Raises ValueError where a model has too few points: see `fit`."""
    found = {}
    for model in dict.fromkeys(point.model for point in points):
        own = [point for point in points if point.model == model]
        # A context was placed once for all its questions.
        placed = list({(point.pages, point.dpi): point for point in own}.values())
        place = fit({"fixed": [1.0] * len(placed), "bytes": [point.bytes for point in placed]}, [point.place for point in placed])
        tokens = [point.question_tokens for point in own]
        columns: dict[str, Sequence[float]] = {"fixed": [1.0] * len(own), "tokens": tokens}
        columns["rows x tokens"] = [point.rows * point.question_tokens for point in own]
        found[model] = place, fit(columns, [point.question for point in own])
    return found


def _place(bench: Bench, canonicals: Sequence[Canonical], room: int, repeats: int) -> tuple[float, Assembly]:
    """(median seconds, the last assembly); one more goes before and is not counted."""
    made: list[Assembly] = []

    def work() -> None:
        made[:] = [assemble(bench.backbone, bench.prefix("template"), canonicals, room)]

    seconds = [timed(bench.backbone.device, work) for _ in range(repeats + 1)]
    return statistics.median(seconds[1:]), made[0]


def _asked(bench: Bench, assembly: Assembly, question: str, repeats: int) -> list[float]:
    """Seconds of `repeats` prefills of the question; one more goes before."""
    return [timed(bench.backbone.device, lambda: bench.reply(assembly, question, max_tokens=1)) for _ in range(repeats + 1)][1:]


def _full(bench: Bench, images: Sequence[PageImage], question: str) -> float:
    """Once: it is the long one, and stands far above the noise."""
    room = len(bench.backbone.question_ids(question)) + 1
    return timed(bench.backbone.device, lambda: bench.reply(full_prefill(bench.backbone, images, room), question, max_tokens=1))
