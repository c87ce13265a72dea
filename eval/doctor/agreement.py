"""A bench goes in; how page caches answer the bundled questions beside full prefill comes out: on one page, and on two, blind and patched.

The pages are those of the five records documents in samples/, and the questions their twenty. On one page nothing is approximated; on two,
the second page does not know the first (blind), or knows it through a patch as ingest forms them (adjacent, rank 32).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from cache_compiler.condition import condition, deficit
from cache_compiler.template import text_page_ids
from cache_compiler.types import Assembly
from eval.arms import Bench, Page, TextPage
from eval.divergence import mean
from eval.kamera import Lab, cut_to
from eval.records import Sample
from eval.samples import LINES, RECORDS, drawn

RANK = 32  # `patch_rank`'s default
ONE, BLIND, PATCHED = ARMS = ("one page", "two pages, blind", "two pages, patched")
_ROOM = 256  # rows for question and answer

Progress = Callable[[str, int, int], None]


@dataclass
class Agreement:
    """One arm against full prefill of the same pages: nats at the first answer token, and greedy answers, question by question."""

    first: list[float] = field(default_factory=list)
    same: list[bool] = field(default_factory=list)
    right: list[bool] = field(default_factory=list)  # exactly the expected answer: whether the questions mean anything to the model

    @property
    def share(self) -> float:
        return sum(self.same) / len(self.same)

    def figures(self) -> dict[str, float | int]:
        n = len(self.same)
        return {"n": n, "same": sum(self.same), "kl_mean": mean(self.first), "kl_max": max(self.first), "right": sum(self.right)}


def agreement(bench: Bench, dpi: int, documents: int = len(RECORDS), progress: Progress = lambda *_: None) -> dict[str, Agreement]:
    """The first `documents` of the five, four questions each, under every arm. `dpi` is of pages that are drawn."""
    lab = Lab(bench, dpi, LINES)
    found = {arm: Agreement() for arm in ARMS}
    asked = [drawn(seed, pages) for _, seed, pages in RECORDS]
    done = 0
    for number, questions in enumerate(asked[:documents]):
        # A page of another document: the first one's neighbour is the last, so that each question has one.
        before = _own(asked[number - 1][0])
        for own, same_page in itertools.groupby(questions, _own):
            one, two = pages_of(bench, dpi, [own]), pages_of(bench, dpi, [before, own])
            judges = {1: bench.prefilled(one, _ROOM), 2: bench.prefilled(two, _ROOM)}
            arms = {ONE: (1, _linked(bench, one)), BLIND: (2, _linked(bench, two)), PATCHED: (2, _patched(bench, two))}
            for sample in same_page:
                said = {count: lab.judge(context, sample) for count, context in judges.items()}
                for arm, (count, context) in arms.items():
                    read, _ = lab.read(context, said[count])
                    found[arm].first.append(read["first"])
                    found[arm].same.append(read["same"])
                    found[arm].right.append(read["exact"])
                done += 1
                progress("questions", done, 4 * documents)
    return found


def pages_of(bench: Bench, dpi: int, texts: Sequence[str]) -> list[Page]:
    """Drawn where the model reads images, else as the runs of ids that a text page is."""
    if bench.backbone.reads_images:
        return list(bench.images(texts, [dpi] * len(texts)))
    return [TextPage(tuple(text_page_ids(bench.backbone.tokenizer, text))) for text in texts]


def _own(sample: Sample) -> str:
    """The page that holds the answer."""
    return "\n".join(next(page for page in sample.pages if sample.fact in page))


def _linked(bench: Bench, pages: Sequence[Page]) -> Assembly:
    return bench.linked(bench.canonicals("template", pages), _ROOM)


def _patched(bench: Bench, pages: Sequence[Page]) -> Assembly:
    first, page = bench.canonicals("template", pages)
    behind = condition(bench.backbone, bench.prefix("template"), bench.encoded(pages))[-1]
    return bench.linked([first, page], _ROOM, [None, cut_to(deficit(behind, page), [first.key], page, RANK)])
