"""Page images go in; an `Assembly` comes out by the model's own full prefill of all of them: the slow path, which is the judge."""

from __future__ import annotations

import time
from collections.abc import Sequence

import torch

from renderer.types import PageImage

from .backbone import Backbone
from .types import Anchor, Assembly, Segment


def full_prefill(backbone: Backbone, images: Sequence[PageImage], room: int = 0) -> Assembly:
    """Encode every image and prefill [template, page 1, page 2, ...] in one forward, as a system without page caches does."""
    begun = time.perf_counter()
    prefix = backbone.template.prefix
    ids, positions = list(prefix), [torch.arange(len(prefix)).expand(backbone.axes, -1)]
    segments, position = [], len(prefix)
    for image in images:
        anchor = Anchor(position, *image.cells)
        segments.append(Segment(image.key, len(ids), len(ids) + anchor.length, anchor))
        ids += backbone.template.page_ids(image.tokens)
        positions.append(anchor.positions(backbone.axes))
        position = anchor.end
    cache = backbone.empty_cache(len(ids) + room)
    pixels = backbone.pixels([image.image for image in images]) if images else None
    backbone.forward(torch.tensor([ids]), torch.cat(positions, dim=1)[:, None], cache, pixels=pixels)
    return Assembly(cache, tuple(segments), len(ids), position, {"prefill": time.perf_counter() - begun})
