"""Rows of a batch with the rows they should look at in; a loss on one attention head's mass out.

Unguided, a small language model sat for hours on a plateau where it answered with the right *kind* of value. Guided, one head of each of
the last two layers is drawn to the tokens that hold the next piece of the answer, and the plateau is gone within the hour.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import ALL_MASK_ATTENTION_FUNCTIONS
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

NAME = "guided"


@dataclass
class Guide:
    """What the guided layers of one network share: this batch's targets, and what they have found.

    batch, row: [n], which row of which sample predicts a piece of an answer; target: bool [n, length], the rows that hold that piece.
    """

    head: int = 0
    batch: Tensor | None = None
    row: Tensor | None = None
    target: Tensor | None = None
    losses: list[Tensor] = field(default_factory=list)
    mass: list[float] = field(default_factory=list)

    def aim(self, batch: Tensor, row: Tensor, target: Tensor) -> None:
        """Set the targets of the coming forward, and forget the last one's losses."""
        self.batch, self.row, self.target = batch, row, target
        self.losses, self.mass = [], []

    def loss(self) -> Tensor:
        """Mean over the guided layers of -log(mass on the target rows); 0 where the batch had no targets."""
        return torch.stack(self.losses).mean() if self.losses else torch.zeros(())


def install(language_model: Any, last: int = 2) -> Guide:
    """Let the last layers of a GLM-4V text model be guided; returns the guide they listen to. The forward's results do not change."""
    ALL_ATTENTION_FUNCTIONS.register(NAME, _attend)
    ALL_MASK_ATTENTION_FUNCTIONS.register(NAME, ALL_MASK_ATTENTION_FUNCTIONS["sdpa"])
    guide = Guide()
    for layer in language_model.layers[-last:]:
        layer.self_attn.guide = guide
    language_model.config._attn_implementation = NAME
    return guide


def _attend(module: nn.Module, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, **options: Any) -> tuple[Tensor, Any]:
    """Attention as it is, and beside it the guide's loss; q [batch, heads, length, d], k [batch, kv_heads, length, d], both rotated."""
    guide: Any = getattr(module, "guide", None)
    if guide is not None and module.training and guide.row is not None and len(guide.row):
        kv_head = guide.head // (q.shape[1] // k.shape[1])
        scores = torch.einsum("nd,nld->nl", q[guide.batch, guide.head, guide.row], k[guide.batch, kv_head]) * float(options["scaling"])
        scores = scores.float()
        later = torch.arange(k.shape[2], device=q.device)[None] > guide.row[:, None]
        log_mass = scores.masked_fill(later, float("-inf")).log_softmax(-1)
        log_mass = log_mass.masked_fill(~guide.target, float("-inf")).logsumexp(-1)
        # A head that is far off has a vanishing mass; past e^-20 its log would swamp the rest of the loss.
        guide.losses.append(-log_mass.clamp(min=-20).mean())
        guide.mass.append(float(log_mass.detach().exp().mean()))
    attended: tuple[Tensor, Any] = sdpa_attention_forward(module, q, k, v, mask, **options)
    return attended
