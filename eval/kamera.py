"""Pages of a context go in; contexts linked in several ways, and what each reads, come out: what all of Kamera's experiments share.

Every arm is judged in one run against the same full prefill: the same question and the judge's own greedy answer are put behind its context
once (teacher forcing), which gives both KLs; only an arm that would say something else is decoded on its own.
"""

from __future__ import annotations

import sys
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from torch import Tensor

from cache_compiler import form
from cache_compiler.assemble import assemble
from cache_compiler.condition import Deficit, condition, deficit
from cache_compiler.patch import Basis, Kind, Patch
from cache_compiler.prefill import full_prefill
from cache_compiler.probe import greedy, probe
from cache_compiler.types import Assembly, Canonical, Encoded
from renderer.types import PageImage

from .arms import Bench
from .divergence import kl, mean
from .records import CARRIED, HELD_OUT, Sample, contexts, samples
from .score import exact_match, token_f1

MAX_TOKENS = 24
# The pooled basis comes of contexts of another seed, none of which is asked about: it is held out from every item.
POOL_SEED, POOL_CONTEXTS = HELD_OUT + 2, 16
# Pages that have nothing to do with the question: distractors, and what a window turns over to.
OTHER_SEED = HELD_OUT + 1


@dataclass(frozen=True)
class Leaf:
    """A page in its three forms: pixels, embeddings, and its own cache."""

    image: PageImage
    encoded: Encoded
    canonical: Canonical


@dataclass(frozen=True)
class Judge:
    """What full prefill says of a question, and with what it was asked."""

    ids: tuple[int, ...]  # the question and the judge's own greedy answer
    answer: tuple[int, ...]
    logits: Tensor  # [answer + 1, vocabulary]: from the first answer token to the end token
    gold: str


@dataclass
class Lab:
    """A bench, a DPI, and the pages encoded lately."""

    bench: Bench
    dpi: int
    lines: int
    keep: int = 64
    _leaves: OrderedDict[str, Leaf] = field(default_factory=OrderedDict)

    def leaves(self, pages: Sequence[Sequence[str]]) -> list[Leaf]:
        """Pages of lines -> their images, encodings and canonicals, each made once while it is remembered."""
        texts = ["\n".join(page) for page in pages]
        missing = list(dict.fromkeys(text for text in texts if text not in self._leaves))
        if missing:
            images = self.bench.images(missing, [self.dpi] * len(missing))
            made = zip(images, self.bench.backbone.encode(images), self.bench.canonicals("template", images), strict=True)
            self._leaves.update((text, Leaf(*parts)) for text, parts in zip(missing, made, strict=True))
        found = [self._leaves[text] for text in texts]
        for text in texts:
            self._leaves.move_to_end(text)
        while len(self._leaves) > max(self.keep, len(texts)):
            self._leaves.popitem(last=False)
        return found

    def conditioned(self, leaves: Sequence[Leaf]) -> list[Canonical]:
        """What every page holds when it stands in this context."""
        return condition(self.bench.backbone, self.bench.prefix("template"), [leaf.encoded for leaf in leaves])

    def linked(self, pages: Sequence[Canonical], patches: Sequence[Patch | None] | None = None) -> Assembly:
        return assemble(self.bench.backbone, self.bench.prefix("template"), pages, 256, patches)

    def prefilled(self, leaves: Sequence[Leaf]) -> Assembly:
        """By the slow path, vision encoder and all: a witness that shares no code with patches."""
        return full_prefill(self.bench.backbone, [leaf.image for leaf in leaves], 256)

    def judge(self, full: Assembly, sample: Sample) -> Judge:
        question = self.bench.backbone.question_ids(sample.question)
        answer, _ = greedy(self.bench.backbone, full, question, MAX_TOKENS)
        ids = (*question, *answer)
        return Judge(ids, tuple(answer), probe(self.bench.backbone, full, ids, len(answer) + 1), sample.answer)

    def read(self, context: Assembly, judge: Judge) -> tuple[dict[str, Any], Tensor]:
        """(KL, answer and scores of an arm; its logits behind the judge's answer)."""
        backbone = self.bench.backbone
        logits = probe(backbone, context, judge.ids, len(judge.answer) + 1)
        said, end = logits.argmax(-1).tolist(), len(judge.answer)
        same = tuple(said[:end]) == judge.answer and (end == MAX_TOKENS or said[end] in backbone.stop_ids)
        answer = list(judge.answer) if same else greedy(backbone, context, judge.ids[: len(judge.ids) - end], MAX_TOKENS)[0]
        lost = kl(judge.logits, logits)
        text = backbone.tokenizer.decode(answer, skip_special_tokens=True).strip()
        scores = {"text": text, "exact": exact_match(text, [judge.gold]), "f1": token_f1(text, judge.gold)}
        return {"first": lost[0], "answer": mean(lost), "same": same, **scores}, logits

    @cached_property
    def basis(self) -> Basis:
        """Rank 32, pooled over contexts that no item comes from (Kamera, section 4: the directions are the model's)."""
        print(f"a shared basis from {POOL_CONTEXTS} other contexts, first of all", file=sys.stderr, flush=True)
        deficits: list[Deficit] = []
        for context in contexts("sections", POOL_CONTEXTS, 2, self.lines, POOL_SEED):
            leaves = self.leaves(context.pages)
            deficits.append(deficit(self.conditioned(leaves)[-1], leaves[-1].canonical))
        return form.pool(deficits, 32)


def cut_to(
    delta: Deficit,
    given: Sequence[str],
    page: Canonical,
    rank: int,
    *,
    kind: Kind = "exact",
    first_layer: int = 1,
    left: Sequence[str] = (),
) -> Patch:
    """A patch of that rank, or of all that the page has where that is less: a small page at a low DPI."""
    width = max(page.rotary.shape[1] * page.rotary.shape[3], page.plain.shape[1] * page.plain.shape[3])
    return form.cut(delta, given, page, min(rank, page.length, width), kind=kind, first_layer=first_layer, left=left)


def carried(n: int, pages: int, lines: int, each: int | None = None) -> list[Sample]:
    """The first n questions whose fact stands on the last page and whose subject on the page before; at most `each` of one context."""
    drawn = n
    found: list[Sample] = []
    while len(found) < n:
        taken: dict[str, int] = {}
        found.clear()
        for sample in samples("sections", drawn, pages, lines, each=None):
            at = [number for number, page in enumerate(sample.pages) if sample.fact in page]
            context = context_of(sample)
            if sample.hops == CARRIED and at == [pages - 1] and (each is None or taken.get(context, 0) < each):
                taken[context] = taken.get(context, 0) + 1
                found.append(sample)
        drawn *= 2
    return found[:n]


def others(n: int, pages: int, lines: int) -> list[tuple[tuple[str, ...], ...]]:
    """n sets of pages that are nobody's context."""
    return [context.pages for context in contexts("sections", n, pages, lines, OTHER_SEED)]


def context_of(sample: Sample) -> str:
    """Names a sample's context: its id without the number of the question."""
    return sample.id.rpartition("-")[0]
