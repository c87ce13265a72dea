"""Pages go in; an `Assembly` comes out by the model's own full prefill of all of them: the slow path, which is the judge."""

from __future__ import annotations

import time
from collections.abc import Sequence

import torch

from renderer.types import PageImage

from .backbone import Backbone
from .types import Assembly, Encoded, end_to_end


def full_prefill(backbone: Backbone, images: Sequence[PageImage], room: int = 0) -> Assembly:
    """Encode every image and prefill [template, page 1, page 2, ...] in one forward, as a system without page caches does."""
    begun = time.perf_counter()
    assembly = prefill_encoded(backbone, backbone.encode(images), room)
    assembly.seconds["prefill"] = time.perf_counter() - begun
    return assembly


def prefill_encoded(backbone: Backbone, pages: Sequence[Encoded], room: int = 0) -> Assembly:
    """The same for pages that are encoded already, or are text: each sees all that stands before it."""
    begun = time.perf_counter()
    prefix = backbone.encode_text("", backbone.template.prefix)
    segments, row, position = end_to_end(pages, prefix.length)
    anchors = [prefix.at(0), *(segment.anchor for segment in segments)]
    positions = torch.cat([anchor.positions(backbone.axes) for anchor in anchors], dim=1)[:, None]
    cache = backbone.empty_cache(row + room)
    backbone.forward_encoded([prefix, *pages], positions, cache, keep=0)
    return Assembly(cache, segments, row, position, {"prefill": time.perf_counter() - begun})
