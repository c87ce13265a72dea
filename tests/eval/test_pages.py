"""Pages for measuring time: full, distinct, in the model's own style; a question of a set length."""

from cache_compiler.load import load_backbone
from cache_compiler.tiny import random_backbone
from eval.arms import Bench
from eval.pages import filled_pages, question_of
from renderer import preset


def test_a4_pages_are_full_and_distinct() -> None:
    backbone = random_backbone("partial")
    bench = Bench(backbone, preset("glyph-a4", cell=backbone.cell))
    images = filled_pages(bench, 2, 72)
    assert len({image.key for image in images}) == 2
    assert all(image.cells[0] == 30 for image in images)  # 842 pt at 72 DPI, cells of 28 px


def test_the_question_has_exactly_the_tokens_that_were_asked_for() -> None:
    backbone = load_backbone("reader")
    bench = Bench(backbone, preset("reader"))
    for tokens in (12, 20, 33):
        assert len(backbone.question_ids(question_of(bench, tokens))) == tokens
