"""A model's name goes in; a bench for it, pages full of text in its own style, and a question of a set length come out, for measuring time."""

from __future__ import annotations

from random import Random

from cache_compiler.backbone import Backbone
from cache_compiler.load import load_backbone
from cache_compiler.tiny import random_backbone
from eval.arms import Bench
from eval.errors import EvalError
from eval.records import Sample, samples
from renderer import paginate, preset, rasterise
from renderer.types import PageImage, PageStyle

RANDOM = ("random-small", "small")


def backbone_for(model: str) -> Backbone:
    """`reader`, `random-small` (a random GLM-4V of 142 million parameters, A4 pages; `small` for short), or a local directory."""
    return random_backbone("small") if model in RANDOM else load_backbone(model)


def bench_for(model: str) -> Bench:
    backbone = backbone_for(model)
    return Bench(backbone, preset(backbone.card.style, cell=backbone.cell), keep=256)


def drawn(style: PageStyle, count: int, seed: int, each: int | None = 1) -> list[Sample]:
    """The first `each` questions of each of `count` contexts of one page's lines."""
    return samples("build", count, 1, style.lines, seed, each=each)


def full_text(style: PageStyle, sample: Sample, seed: int) -> str:
    """A context's lines until a page is full."""
    lines = list(sample.pages[0])
    if style.sentence_lines:
        return "\n".join(lines)
    # A4 lines hold several sentences: repeat them in other orders until the sheet is full.
    rng = Random(seed)
    return " ".join(line for _ in range(6) for line in rng.sample(lines, len(lines)))


def filled_pages(bench: Bench, count: int, dpi: int, seed: int = 1) -> list[PageImage]:
    """`count` distinct pages, each full of lines of the records world."""
    texts = [full_text(bench.style, sample, seed + number) for number, sample in enumerate(drawn(bench.style, count, seed))]
    return [rasterise(paginate(text, bench.style)[0], bench.style, dpi) for text in texts]


def question_of(bench: Bench, tokens: int) -> str:
    """A question that takes exactly `tokens` rows, the template's tail included. Raises EvalError where none does."""
    question = "Who is the owner of Brobo tower"
    while len(bench.backbone.question_ids(question)) < tokens:
        question += " x"
    while question and len(bench.backbone.question_ids(question)) > tokens:
        question = question[:-1]
    if len(bench.backbone.question_ids(question)) != tokens:
        least = len(bench.backbone.question_ids("Who"))
        raise EvalError(f"no question of {tokens} tokens: with the template's tail the shortest has about {least}; ask for a longer one")
    return question
