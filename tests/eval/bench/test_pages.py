"""Pages for measuring time: full, distinct, in the model's own style; a question of a set length."""

import pytest

from cache_compiler.tiny import random_backbone
from eval.arms import Bench
from eval.bench.pages import bench_for, filled_pages, question_of
from eval.errors import EvalError
from renderer import preset


def test_a4_pages_are_full_and_distinct() -> None:
    backbone = random_backbone("partial")
    bench = Bench(backbone, preset("glyph-a4", cell=backbone.cell))
    images = filled_pages(bench, 2, 72)
    assert len({image.key for image in images}) == 2
    assert all(image.cells[0] == 30 for image in images)  # 842 pt at 72 DPI, cells of 28 px


def test_the_question_has_exactly_the_tokens_that_were_asked_for() -> None:
    bench = bench_for("reader")
    for tokens in (12, 20, 33, 256):
        assert len(bench.backbone.question_ids(question_of(bench, tokens))) == tokens


def test_a_question_shorter_than_the_template_is_refused() -> None:
    with pytest.raises(EvalError, match="no question of 1 tokens"):
        question_of(bench_for("reader"), 1)
