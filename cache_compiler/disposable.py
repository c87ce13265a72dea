"""A window's context, a question and the pages conditioned on an antecedent go in; whether the answer hangs on that conditioning comes out.

Kamera, appendix E: toggle the patches off, decode on the canonicals, compare. It costs one decode, and asks the model itself
instead of guessing from its attention.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from .backbone import Backbone
from .place import place
from .placed import Placed, Slab
from .probe import greedy
from .types import Assembly


@dataclass(frozen=True)
class Disposable:
    """`same`: nothing in the answer hangs on what others absorbed from the antecedent. The answer with it and without it, as token
    ids, and KL(with || without) in nats at the first token."""

    same: bool
    answer: tuple[int, ...]
    without: tuple[int, ...]
    divergence: float


@torch.inference_mode()
def toggled(
    backbone: Backbone, context: Assembly, slab: Slab, dependents: Sequence[Placed], question: Sequence[int], max_tokens: int
) -> Disposable:
    """Decode greedily with the dependents' patches on, then off; their rows are put back bit for bit, whatever is raised."""
    answer, first = greedy(backbone, context, question, max_tokens)
    kept = [[rows.clone() for rows in slab.rows(item.segment)] for item in dependents]
    try:
        for item in dependents:
            place(backbone, item.page, item.segment.anchor, *slab.rows(item.segment))
        clean, other = greedy(backbone, context, question, max_tokens)
    finally:
        for item, rows in zip(dependents, kept, strict=True):
            for here, was in zip(slab.rows(item.segment), rows, strict=True):
                here.copy_(was)
    on, off = first.double().log_softmax(-1), other.double().log_softmax(-1)
    divergence = float((on.exp() * (on - off)).sum())
    return Disposable(answer == clean, tuple(answer), tuple(clean), max(0.0, divergence))
