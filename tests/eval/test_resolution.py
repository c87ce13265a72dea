"""Resolution of a context's pages: uniform, or by the served plan."""

from eval.resolution import promoted, uniform
from retrieval.embedder import load_embedder
from retrieval.types import Budget


def test_uniform_is_one_dpi_for_all() -> None:
    assert uniform(["a", "b"], 96) == [96, 96]


def test_the_page_that_speaks_of_the_question_is_promoted_and_order_is_kept() -> None:
    pages = ["The library opens at nine.", "Bread needs flour, water and time.", "Bees swarm in May."]
    dpis = promoted(pages, "What does bread need?", load_embedder("minilm"), Budget(cap=1))
    assert dpis == [72, 120, 72]
