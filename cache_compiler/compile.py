"""Page images go in; one `Canonical` a page comes out (QV-PIC, equation 1), in one batched forward over the prefix's cache.

    rows        [0, P)   the condition's prefix: cached once, seen by the page, never stored
                [P, P+n) the page: mark, n-2 visual tokens, mark: kept
                [P+n, …) padding of a shorter page in the batch: cut
    positions   [0, P)   text; from P on the page's own M-RoPE positions

Padding stands behind the page, so that a causal model never sees it and no mask is needed.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

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
    anchors = [Anchor(prefix.length, *image.cells) for image in images]
    longest = max(anchor.length for anchor in anchors)
    batch = len(images)
    ids = torch.full((batch, longest), _filler(backbone), dtype=torch.long)
    positions = torch.zeros(backbone.axes, batch, longest, dtype=torch.long)
    for row, (image, anchor) in enumerate(zip(images, anchors, strict=True)):
        ids[row, : anchor.length] = torch.tensor(backbone.template.page_ids(image.tokens))
        positions[:, row, : anchor.length] = anchor.positions()
    cache = backbone.empty_cache(prefix.length + longest, batch)
    keys, values = cache.reserve(prefix.length)
    keys.copy_(prefix.keys[:, None])
    values.copy_(prefix.values[:, None])
    with backbone.capture() as taken:
        backbone.forward(ids, positions, cache, pixels=backbone.pixels([image.image for image in images]))
    compiled = []
    for row, (image, anchor) in enumerate(zip(images, anchors, strict=True)):
        first, last = prefix.length, prefix.length + anchor.length
        compiled.append(
            Canonical(
                key=image.key,
                rotary=torch.stack([layer[row, :, : anchor.length] for layer in taken]),
                plain=cache.value_slab[:, row, :, first:last].clone(),
                rows=anchor.rows,
                columns=anchor.columns,
            )
        )
    return compiled


def _filler(backbone: Backbone) -> int:
    """Any id that is not the image token: the model counts those."""
    return backbone.template.closing
