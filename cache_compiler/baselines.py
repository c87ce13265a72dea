"""A blindly linked context goes in; what another method makes of the same relocated caches comes out, as a context of its own.

The first page stands where it was compiled and is exact; every method works on the pages behind it. "Rows" are cache rows.

    token axis    epic, cacheblend, vlcache, oracle_tokens   some rows, computed again in context (`recompute`)
    layer axis    deep, shallow, sighted, injected           some layers, in context
    other         sink, shadow_k                             no forward in context at all

Named after what they stand for (Kamera, section 6, tables 5, 6 and 8); each is the method's idea in its strongest or plainest form,
not its authors' code. `judge` is a full prefill of the same pages: what a method may see of it is said at each.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import torch
from torch import Tensor

from .backbone import Backbone
from .condition import as_matrices
from .isolate import isolate
from .lowrank import truncate
from .place import place
from .recompute import copied, recompute, require_same
from .types import Assembly, Canonical, Encoded


def epic_rows(context: Assembly, count: int) -> list[int]:
    """The first `count` rows of each page behind the first, its opening mark among them (EPIC, arXiv 2410.15332; MPIC is 32 of them)."""
    return [row for page in context.segments[1:] for row in range(page.first, min(page.last, page.first + count))]


def vlcache_rows(context: Assembly, count: int) -> list[int]:
    """`count` rows of each page behind the first, evenly spaced: a uniform budget, not VLCache's layer-adaptive one, as in Kamera's table 5."""
    rows = []
    for page in context.segments[1:]:
        n = page.last - page.first
        take = min(count, n)
        rows += [page.first + (2 * i + 1) * n // (2 * take) for i in range(take)]
    return rows


def deviating_rows(context: Assembly, judge: Assembly, count: int, layers: Collection[int]) -> list[int]:
    """The `count` rows behind the first page whose keys and values lie farthest from the judge's over `layers`, taken together.

    Layer 1 alone is CacheBlend's choice (arXiv 2405.16444; it costs one layer in context to know); all layers are the oracle's, which
    no system can know beforehand. Both stand at the same positions, so that rotation changes no distance.
    """
    begin = context.segments[0].last
    far = torch.zeros(context.length - begin, dtype=torch.float64)
    for name in ("rotary_slab", "plain_slab"):
        ours, theirs = (getattr(which.cache, name)[list(layers), 0, :, begin : context.length].double() for which in (context, judge))
        far += (ours - theirs).square().sum(dim=(0, 1, 3)).cpu()
    return sorted((far.topk(min(count, len(far))).indices + begin).tolist())


def epic(backbone: Backbone, blind: Assembly, pages: Sequence[Encoded], count: int) -> Assembly:
    """The first `count` rows of each page computed again in context."""
    return recompute(backbone, blind, pages, epic_rows(blind, count))


def vlcache(backbone: Backbone, blind: Assembly, pages: Sequence[Encoded], count: int) -> Assembly:
    """`count` evenly spaced rows of each page computed again in context."""
    return recompute(backbone, blind, pages, vlcache_rows(blind, count))


def cacheblend(backbone: Backbone, blind: Assembly, pages: Sequence[Encoded], judge: Assembly, count: int) -> Assembly:
    """The `count` rows that deviate most at layer 1 computed again in context, at all layers. Of `judge` layer 1 is read, to choose."""
    return recompute(backbone, blind, pages, deviating_rows(blind, judge, count, [1]))


def oracle_tokens(backbone: Backbone, blind: Assembly, pages: Sequence[Encoded], judge: Assembly, count: int) -> Assembly:
    """The `count` rows of largest true Delta over all layers computed again in context. Of `judge` all layers are read, to choose."""
    return recompute(backbone, blind, pages, deviating_rows(blind, judge, count, range(backbone.layers)))


@torch.inference_mode()
def sink(backbone: Backbone, blind: Assembly, pages: Sequence[Encoded], count: int) -> Assembly:
    """An attention-sink prosthesis (Kamera, tables 2 and 5; the paper does not define it, this is our reading).

    Each page behind the first is compiled anew where it will stand, behind the prefix and, where its antecedents would end, `count`
    neutral tokens ("x", as QV-PIC's dummy prefix has): there is something before it for attention to rest on, but nothing to absorb. The
    tokens' rows are dropped; the page then stands behind its real antecedents. Fewer tokens where there are not so many positions.
    """
    require_same(blind, pages)
    made = copied(backbone, blind)
    prefix = blind.segments[0].first
    x = backbone.tokenizer("x", add_special_tokens=False)["input_ids"][0]
    for page, segment in zip(pages[1:], blind.segments[1:], strict=True):
        start = segment.anchor.start
        filler = backbone.encode_text("", [x] * min(count, start - prefix))
        alone = copied(backbone, blind, prefix)
        positions = torch.cat([filler.at(start - filler.length).positions(backbone.axes), segment.anchor.positions(backbone.axes)], dim=1)
        backbone.forward_encoded([filler, page], positions[:, None], alone.cache, keep=0)
        begin = prefix + filler.length
        for name in ("rotary_slab", "plain_slab"):
            rows: Tensor = getattr(alone.cache, name)[:, :, :, begin : begin + page.length]
            getattr(made.cache, name)[:, :, :, segment.first : segment.last] = rows
    return made


@torch.inference_mode()
def shadow_k(backbone: Backbone, blind: Assembly, canonicals: Sequence[Canonical], rank: int) -> Assembly:
    """Each page's own keys, before rotation, rebuilt at `rank`; values as they are (ShadowKV, arXiv 2410.21465; Kamera, table 6).

    It rebuilds what the canonical has already and brings nothing of the antecedents.
    """
    made = copied(backbone, blind)
    for canonical, segment in zip(canonicals[1:], blind.segments[1:], strict=True):
        left, right = truncate(as_matrices(canonical.rotary), rank)
        keys = (left @ right).view(*left.shape[:2], canonical.rotary.shape[1], -1).transpose(1, 2)
        rebuilt = Canonical(canonical.key, keys, canonical.plain, canonical.rows, canonical.columns)
        rows = slice(segment.first, segment.last)
        place(backbone, rebuilt, segment.anchor, made.cache.rotary_slab[:, 0, :, rows], made.cache.plain_slab[:, 0, :, rows])
    return made


def injected(backbone: Backbone, blind: Assembly, judge: Assembly, layers: Collection[int]) -> Assembly:
    """Keys and values of `layers` are the judge's, those of the others are reused: Delta whole, at some depths (Kamera, section 4, "Deep")."""
    made = copied(backbone, blind)
    at = sorted(layers)
    for name in ("rotary_slab", "plain_slab"):
        getattr(made.cache, name)[at, :, :, : made.length] = getattr(judge.cache, name)[at, :, :, : made.length]
    return made


def shallow(backbone: Backbone, blind: Assembly, judge: Assembly, below: int) -> Assembly:
    """Partial re-prefill of layers 0 to `below` - 1 in context; the deeper ones are reused. Costs below / layers of a prefill."""
    return injected(backbone, blind, judge, range(below))


def sighted(backbone: Backbone, blind: Assembly, pages: Sequence[Encoded], below: int) -> Assembly:
    """Every row computed again, but only layers 0 to `below` - 1 see the antecedents; what they took in is carried on by the deeper ones.

    The other reading of a "shallow re-prefill" (Kamera, table 5): its shallow layers may bind, and nothing is reused.
    """
    return isolate(backbone, blind, pages, range(below))


def deep(backbone: Backbone, blind: Assembly, pages: Sequence[Encoded], above: int) -> Assembly:
    """Partial re-prefill of the layers from `above` on: they see the antecedents, the shallow ones are reused (Kamera, table 2 and C.3).

    What enters layer `above` is context-free, computed at the page's own place; what the slab keeps of the shallow layers is
    the relocated canonical. `above` 0 is full prefill, `above` = layers is blind reuse.
    """
    return injected(backbone, isolate(backbone, blind, pages, range(above, backbone.layers)), blind, range(above))
