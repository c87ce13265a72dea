"""Pages go in; one `Canonical` a page comes out (QV-PIC, equation 1), in one batched forward over the prefix's cache.

    rows        [0, P)   the condition's prefix: cached once, seen by the page, never stored
                [P, P+n) the page: mark, n-2 visual tokens, mark; or n tokens of text: kept
                [P+n, …) padding of a shorter page in the batch: cut
    positions   [0, P)   text; from P on the page's own positions

Padding stands behind the page, so that a causal model never sees it and no mask is needed.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from renderer.types import PageImage

from .backbone import Backbone
from .prefix import Prefix
from .types import Anchor, Canonical


def compile_pages(backbone: Backbone, images: Sequence[PageImage], prefix: Prefix) -> list[Canonical]:
    """Compile a batch of page images, each alone behind `prefix`.

    Keys are captured before rotation; values are taken from the cache as they are. The result for a page depends on its
    batch only by float rounding.
    """
    if not images:
        return []
    pages = [(image.key, backbone.template.page_ids(image.tokens)) for image in images]
    anchors = [Anchor(prefix.length, *image.cells) for image in images]
    return _compile(backbone, pages, anchors, prefix, backbone.pixels([image.image for image in images]))


def compile_texts(backbone: Backbone, pages: Sequence[tuple[str, Sequence[int]]], prefix: Prefix) -> list[Canonical]:
    """Compile a batch of text pages, (key, token ids) each, as `compile_pages` compiles images. Raises ValueError on a page without ids."""
    if not pages:
        return []
    if empty := [key for key, ids in pages if not ids]:
        raise ValueError(f"{empty[0]}: a page without tokens has no cache; leave it out")
    anchors = [Anchor(prefix.length, 0, 0, len(ids)) for _, ids in pages]
    return _compile(backbone, pages, anchors, prefix)


def _compile(
    backbone: Backbone,
    pages: Sequence[tuple[str, Sequence[int]]],
    anchors: Sequence[Anchor],
    prefix: Prefix,
    pixels: tuple[Tensor, Tensor] | None = None,
) -> list[Canonical]:
    longest, batch = max(anchor.length for anchor in anchors), len(pages)
    # A page's last id is a closing mark or text: never the image token, which the model counts.
    ids = torch.full((batch, longest), pages[0][1][-1], dtype=torch.long)
    positions = torch.zeros(backbone.axes, batch, longest, dtype=torch.long)
    for row, ((_, tokens), anchor) in enumerate(zip(pages, anchors, strict=True)):
        ids[row, : anchor.length] = torch.tensor(tokens)
        positions[:, row, : anchor.length] = anchor.positions(backbone.axes)
    cache = backbone.empty_cache(prefix.length + longest, batch)
    rotary, plain = cache.reserve(prefix.length)
    rotary.copy_(prefix.rotary[:, None])
    plain.copy_(prefix.plain[:, None])
    with backbone.capture() as taken:
        backbone.forward(ids, positions, cache, pixels=pixels)
    compiled = []
    for row, ((key, _), anchor) in enumerate(zip(pages, anchors, strict=True)):
        compiled.append(
            Canonical(
                key=key,
                rotary=torch.stack([layer[row, :, : anchor.length] for layer in taken]),
                plain=cache.plain_slab[:, row, :, prefix.length : prefix.length + anchor.length].clone(),
                rows=anchor.rows,
                columns=anchor.columns,
            )
        )
    return compiled
