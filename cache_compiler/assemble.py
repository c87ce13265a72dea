"""Canonical caches go in, in context order; an `Assembly` comes out: the prefix's cache and the pages rotated to their places, end to end.

rows        [0, P) prefix | [P, P+n1) page 1 | [P+n1, P+n1+n2) page 2 | … | [.., L) last page | [L, L+q) the question, later
positions   0..P-1        | anchor 1         | anchor 2               | … |                   | from `next_position`
"""

from __future__ import annotations

import time
from collections.abc import Sequence

import torch

from .backbone import Backbone
from .errors import ContextTooLong
from .patch import Patch
from .place import place
from .prefix import Prefix
from .types import Assembly, Canonical, end_to_end


@torch.inference_mode()
def assemble(
    backbone: Backbone, prefix: Prefix, pages: Sequence[Canonical], room: int = 0, patches: Sequence[Patch | None] | None = None
) -> Assembly:
    """Link pages behind the prefix into a slab with `room` rows to spare for question and answer.

    Every key is rotated once, in fp32, and then cast: each further rotation in bfloat16 would add to the error, and the inverse of
    one is off by the square of YaRN's scaling. `patches`, one a page or None, are added on the way (Kamera, equation 1).
    Nothing is shared with another request: the canonicals are only read.

    Raises:
        ContextTooLong: the last page would end behind the model's last position.
        PatchMismatch: a patch is of another page or another shape.
    """
    begun = time.perf_counter()
    segments, row, position = end_to_end(pages, prefix.length)
    if position >= backbone.max_positions:
        raise ContextTooLong(
            f"{len(pages)} pages end at position {position}, the model has {backbone.max_positions}: "
            "take fewer pages (top_k) or a lower DPI"
        )
    cache = backbone.empty_cache(row + room)
    rotary, plain = cache.reserve(row)
    rotary[:, 0, :, : prefix.length] = prefix.rotary
    plain[:, 0, :, : prefix.length] = prefix.plain
    for page, patch, segment in zip(pages, patches or [None] * len(pages), segments, strict=True):
        rows = slice(segment.first, segment.last)
        place(backbone, page, segment.anchor, rotary[:, 0, :, rows], plain[:, 0, :, rows], patch)
    return Assembly(cache, segments, row, position, {"place": time.perf_counter() - begun})
