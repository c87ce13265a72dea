"""A linked context and some of its rows go in; a new context comes out in which those rows were computed again, in place and in context.

The one primitive of token recompute (EPIC, MPIC, CacheBlend, VLCache), in its strongest form (Kamera, section 6): at every layer the
chosen rows write their fresh keys and values into the slab before they attend, and attend to everything before them: to the
antecedents' rows, and to their own page's rows as they stand, whether fresh or reused.

rows     [0, P) prefix, never recomputed | page 1 | page 2 | ... | [.., L)
mask     row r sees columns 0..r: row order is causal order, whatever the positions are
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from transformers.cache_utils import Cache

from .backbone import Backbone
from .slab import SlabCache, SlabLayer
from .types import Assembly, Encoded


@torch.inference_mode()
def recompute(backbone: Backbone, context: Assembly, pages: Sequence[Encoded], rows: Sequence[int], in_place: bool = False) -> Assembly:
    """Compute the cache rows `rows` again, all layers in one forward; `context` is left as it was, unless `in_place` says that it need
    not be: then it is written and handed back, and no copy is on the clock. No rows: nothing is computed.

    `pages` are the context's pages, encoded, in its order: their embeddings are what the rows start from.

    Raises:
        ValueError: the pages are not the context's, or a row is no page's.
    """
    require_same(context, pages)
    made = context if in_place else copied(backbone, context)
    if not rows:
        return made
    at = torch.tensor(sorted(set(rows)))
    begin = context.segments[0].first
    if int(at[0]) < begin or int(at[-1]) >= context.length:
        raise ValueError(
            f"rows {int(at[0])} to {int(at[-1])}: the pages hold rows {begin} to {context.length - 1}, the prefix is not recomputed"
        )
    allowed = torch.arange(context.length) <= at[:, None]
    positions = positions_of(backbone, context)[:, at]
    backbone.forward_encoded(
        [_picked(pages, at - begin)], positions[:, None], _written(backbone, made.cache, at), keep=0, mask=mask_of(backbone, allowed)
    )
    return made


def require_same(context: Assembly, pages: Sequence[Encoded]) -> None:
    """Raises ValueError unless `pages` are the pages of the context, in its order."""
    stand, given = [(s.key, s.last - s.first) for s in context.segments], [(page.key, page.length) for page in pages]
    if stand != given:
        raise ValueError(f"the context holds the pages (key, rows) {stand}, those given are {given}")


def copied(backbone: Backbone, context: Assembly, rows: int | None = None) -> Assembly:
    """The same context, or its first `rows` rows, over tensors of its own, with the same room behind it."""
    rows = context.length if rows is None else rows
    cache = backbone.empty_cache(context.cache.rotary_slab.shape[3])
    rotary, plain = cache.reserve(rows)
    rotary.copy_(context.cache.rotary_slab[:, :, :, :rows])
    plain.copy_(context.cache.plain_slab[:, :, :, :rows])
    return Assembly(cache, context.segments, context.length, context.next_position)


def positions_of(backbone: Backbone, context: Assembly) -> Tensor:
    """The position of every row of a context: [axes, length], int64."""
    prefix = torch.arange(context.segments[0].first).expand(backbone.axes, -1)
    return torch.cat([prefix, *(segment.anchor.positions(backbone.axes) for segment in context.segments)], dim=1)


def mask_of(backbone: Backbone, allowed: Tensor) -> Tensor:
    """Which row sees which, bool [q, rows] -> the mask [1, 1, q, rows] as the model's attention takes it: bool for sdpa, additive elsewhere."""
    allowed = allowed[None, None].to(backbone.device)
    if backbone.config._attn_implementation == "sdpa":
        return allowed
    return torch.zeros(allowed.shape, dtype=backbone.dtype, device=backbone.device).masked_fill(~allowed, torch.finfo(backbone.dtype).min)


def _picked(pages: Sequence[Encoded], at: Tensor) -> Encoded:
    """Rows `at` of pages end to end, as one run. DeepStack's features are kept by visual row, and are picked so."""
    embeds, visual = torch.cat([page.embeds for page in pages]), torch.cat([page.visual for page in pages])
    at = at.to(embeds.device)
    seen = (visual.cumsum(0) - 1)[at][visual[at]]
    deep = [torch.cat(layer)[seen] for layer in zip(*(page.deep for page in pages if page.deep), strict=True)]
    ids = [token for page in pages for token in page.ids]
    return Encoded("", tuple(ids[i] for i in at.tolist()), embeds[at], visual[at], tuple(deep), 0, 0)


class _Overwritten(SlabLayer):
    """A layer whose update writes into rows that are there already, and hands out all rows."""

    def __init__(self, rotary: Tensor, plain: Tensor, latent: bool, rows: int, at: Tensor) -> None:
        super().__init__(rotary, plain, latent)
        self.resize(rows)
        self.at = at

    def update(self, key_states: Tensor, value_states: Tensor, *args: Any, **kwargs: Any) -> tuple[Tensor, Tensor]:
        rotary, plain = self._ordered(key_states, value_states)
        self.rotary_buffer[:, :, self.at] = rotary
        self.plain_buffer[:, :, self.at] = plain
        return self.keys, self.values


def _written(backbone: Backbone, cache: SlabCache, at: Tensor) -> Any:
    """A second cache over the slab's own tensors, through which a forward writes the rows `at`."""
    at, rows = at.to(backbone.device), cache.rows
    layers = zip(cache.rotary_slab, cache.plain_slab, strict=True)
    return Cache(layers=[_Overwritten(rotary, plain, backbone.family.latent, rows, at) for rotary, plain in layers])
