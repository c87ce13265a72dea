"""How many bytes are on their way, run by Node: counted pages are counted, the others are the stock's mean, and nothing is reckoned from nothing."""

from collections.abc import Callable
from typing import Any

STATS = {"documents": 10, "pages": 40, "bytes_per_page": {"72": 100.0, "120": 300.0, "image": 10.0}}
EACH = 100 + 300 + 2 * 10


def job(state: str = "running", stage: str = "", done: int = 0, total: int = 0) -> dict[str, Any]:
    return {"state": state, "stage": stage, "done": done, "total": total}


CASES: list[tuple[list[dict[str, Any]], int, int, bool]] = [
    ([], 0, 0, True),
    ([job(stage="compile", done=6, total=20)], 0, 7, True),  # three of ten pages are compiled, at two resolutions each
    ([job(stage="rasterise", done=3, total=12)], 0, 12, True),
    ([job(stage="index")], 0, 0, True),
    ([job(state="done", stage="index")], 0, 0, True),
    ([job(stage="load")], 0, 4, False),
    ([job(state="queued"), job(stage="compile", done=0, total=20)], 2, 22, False),
]
NOTHING = [None, {**STATS, "documents": 0, "pages": 0}, {**STATS, "bytes_per_page": {"72": None, "120": None, "image": None}}]


def test_pages_that_are_still_to_come_are_counted_or_reckoned(node: Callable[..., Any]):
    given = [(jobs, unsent) for jobs, unsent, *_ in CASES]
    told = node("forecast.js", "given[0].map(([jobs, unsent]) => it.forecast(jobs, unsent, given[1], 2))", given, STATS)
    assert told == [{"pages": pages, "bytes": pages * EACH, "sure": sure} for *_, pages, sure in CASES]


def test_an_empty_stock_forecasts_nothing(node: Callable[..., Any]):
    assert node("forecast.js", "given[0].map((stats) => it.forecast([], 1, stats, 2))", NOTHING) == [None, None, None]
