"""A model's name goes in; a bench for it, pages full of text in its own style, and a question of a set length come out, for measuring time."""

from __future__ import annotations

from random import Random

from cache_compiler.load import load_backbone
from cache_compiler.tiny import random_backbone
from renderer import paginate, preset, rasterise
from renderer.types import PageImage

from .arms import Bench
from .records import samples


def bench_for(model: str) -> Bench:
    """`reader`, `random-small` (a random GLM-4V of about 150 million parameters, A4 pages), or a local directory."""
    backbone = random_backbone("small") if model == "random-small" else load_backbone(model)
    return Bench(backbone, preset(backbone.card.style, cell=backbone.cell), keep=256)


def filled_pages(bench: Bench, count: int, dpi: int, seed: int = 1) -> list[PageImage]:
    """`count` distinct pages, each full of lines of the records world."""
    style = bench.style
    contexts = samples("build", count, 1, style.lines, seed, each=1)
    separator = "\n" if style.sentence_lines else " "
    pages: list[PageImage] = []
    for number, sample in enumerate(contexts):
        lines = list(sample.pages[0])
        if not style.sentence_lines:
            # A4 lines hold several sentences: repeat them in other orders until the sheet is full.
            rng = Random(seed + number)
            lines = [line for _ in range(6) for line in rng.sample(lines, len(lines))]
        pages.append(rasterise(paginate(separator.join(lines), style)[0], style, dpi))
    return pages


def question_of(bench: Bench, tokens: int) -> str:
    """A question that takes exactly `tokens` rows, the template's tail included."""
    question = "Who is the owner of Brobo tower"
    while len(bench.backbone.question_ids(question)) < tokens:
        question += " x"
    while len(bench.backbone.question_ids(question)) > tokens:
        question = question[:-1]
    return question
