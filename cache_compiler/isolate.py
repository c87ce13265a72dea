"""A linked context goes in; a new one comes out whose pages were computed where they stand, and saw each other at chosen layers only.

    no layer     the 4-D mask oracle (Kamera, section 2): a page at its native positions that may not see the pages before it
    all layers   a full causal forward
    the deep     partial re-prefill: context-free below, in context above

Against this oracle a canonical that was relocated by R(delta) differs by position alone (Kamera, C.4, the position-matched control):
it saw the template's prefix at the distance at which it was compiled, the oracle sees it at the distance at which it is served.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Collection, Iterator, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from .backbone import Backbone
from .recompute import copied, mask_of, positions_of, require_same
from .types import Assembly, Encoded


@torch.inference_mode()
def isolate(backbone: Backbone, context: Assembly, pages: Sequence[Encoded], seeing: Collection[int] = ()) -> Assembly:
    """Run the pages behind the first in one forward; only at layers in `seeing` do they see the pages before their own.

    Everywhere they see the prefix and themselves, causally. The prefix and the first page are taken as they stand in `context`, which is
    left as it was.

    Raises:
        ValueError: the pages are not the context's, or a layer is not the model's.
    """
    require_same(context, pages)
    if beyond := [layer for layer in seeing if not 0 <= layer < backbone.layers]:
        raise ValueError(f"layer {beyond[0]}: the model has layers 0 to {backbone.layers - 1}")
    if len(pages) == 1:
        return copied(backbone, context)
    first = context.segments[0].last
    made = copied(backbone, context, first)
    causal, alone = _allowed(context)
    masks = {layer: mask_of(backbone, causal) for layer in seeing}
    with _masked(backbone, masks):
        positions = positions_of(backbone, context)[:, first:]
        backbone.forward_encoded(pages[1:], positions[:, None], made.cache, keep=0, mask=mask_of(backbone, alone))
    return made


def _allowed(context: Assembly) -> tuple[Tensor, Tensor]:
    """Which of the rows behind the first page see which of all: (causal, causal within the prefix and the own page), bool [q, length]."""
    prefix = context.segments[0].first
    lengths = torch.tensor([prefix, *(segment.last - segment.first for segment in context.segments)])
    owner = torch.repeat_interleave(torch.arange(len(lengths)), lengths)
    first = context.segments[0].last
    causal = torch.arange(context.length) <= torch.arange(first, context.length)[:, None]
    return causal, causal & ((owner == 0) | (owner == owner[first:, None]))


@contextlib.contextmanager
def _masked(backbone: Backbone, masks: dict[int, Tensor]) -> Iterator[None]:
    """While open, forwards of *this thread* use another mask at the layers of `masks`. An answer decoded elsewhere meanwhile keeps its own."""
    owner = threading.get_ident()
    with contextlib.ExitStack() as hooks:
        for layer, mask in masks.items():

            def swap(module: nn.Module, args: Any, kwargs: dict[str, Any], mask: Tensor = mask) -> tuple[Any, dict[str, Any]] | None:
                return (args, {**kwargs, "attention_mask": mask}) if threading.get_ident() == owner else None

            hooks.callback(backbone.text.layers[layer].register_forward_pre_hook(swap, with_kwargs=True).remove)
        yield
