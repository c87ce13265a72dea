"""An eye in; the same eye, whose attention takes all pages of a batch in one call, out: for a GPU, where a call a page would be all it does.

transformers gives a vision tower's attention either whole batches with their borders (its "flash" way, for a package that need not be
there) or page after page. This is the first way on torch's own attention: pages padded to the longest, what pads them masked.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

# The name must hold "flash": by that transformers knows whether to hand over whole batches.
NAME = "pages_as_flash"


def install(eye: Any) -> None:
    """Let a GLM-4V vision tower attend so. What it computes stays the same."""
    ALL_ATTENTION_FUNCTIONS.register(NAME, _attend)
    eye.config._attn_implementation = NAME


def _attend(module: nn.Module, q: Tensor, k: Tensor, v: Tensor, attention_mask: Tensor | None, **options: Any) -> tuple[Tensor, None]:
    """q, k, v [1, heads, rows, d] and the pages' borders [pages + 1] among the rows -> [1, rows, heads, d]."""
    borders: Tensor = options["cu_seq_lens_q"].long()
    lengths = borders.diff()
    longest = int(options["max_length_q"])
    within = torch.arange(longest, device=q.device)
    there = within < lengths[:, None]  # [pages, longest]
    # Where each padded place finds its row; a place past its page's end finds some row, which the mask hides.
    rows = (borders[:-1, None] + within).clamp(max=q.shape[2] - 1)
    queries, keys, values = (x[0][:, rows].transpose(0, 1) for x in (q, k, v))  # each [pages, heads, longest, d]
    mask = None if bool(there.all()) else there[:, None, None]
    attended = F.scaled_dot_product_attention(queries, keys, values, attn_mask=mask, scale=float(options["scaling"]))
    return attended.transpose(1, 2)[there][None], None
