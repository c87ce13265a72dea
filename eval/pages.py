"""The bench's pages by their former name: see `bench/pages.py`."""

from .bench.pages import bench_for, filled_pages, question_of

__all__ = ["bench_for", "filled_pages", "question_of"]
