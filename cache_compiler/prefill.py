"""Pages go in; an `Assembly` comes out by the model's own full prefill of all of them: the slow path, which is the judge."""

from __future__ import annotations

import time
from collections.abc import Sequence

import torch

from renderer.types import PageImage

from .backbone import Backbone
from .types import Assembly, Encoded, Segment


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
    anchor = prefix.at(0)
    positions, segments, row = [anchor.positions(backbone.axes)], [], prefix.length
    for page in pages:
        anchor = page.at(anchor.end)
        positions.append(anchor.positions(backbone.axes))
        segments.append(Segment(page.key, row, row + page.length, anchor))
        row += page.length
    cache = backbone.empty_cache(row + room)
    backbone.forward_encoded([prefix, *pages], torch.cat(positions, dim=1)[:, None], cache, keep=0)
    return Assembly(cache, tuple(segments), row, anchor.end, {"prefill": time.perf_counter() - begun})
