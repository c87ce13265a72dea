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
from .prefix import Prefix
from .types import Assembly, Canonical, Segment


@torch.inference_mode()
def assemble(backbone: Backbone, prefix: Prefix, pages: Sequence[Canonical], room: int = 0) -> Assembly:
    """Link pages behind the prefix into a slab with `room` rows to spare for question and answer.

    Every key is rotated once, in fp32, and then cast: each further rotation in bfloat16 would add to the error, and the inverse of
    one is off by the square of YaRN's scaling.
    Nothing is shared with another request: the canonicals are only read.

    Raises:
        ContextTooLong: the last page would end behind the model's last position.
    """
    begun = time.perf_counter()
    segments, row, position = [], prefix.length, prefix.length
    for page in pages:
        anchor = page.at(position)
        segments.append(Segment(page.key, row, row + anchor.length, anchor))
        row, position = row + anchor.length, anchor.end
    if position >= backbone.max_positions:
        raise ContextTooLong(
            f"{len(pages)} pages end at position {position}, the model has {backbone.max_positions}: "
            "take fewer pages (top_k) or a lower DPI"
        )
    cache = backbone.empty_cache(row + room)
    rotary, plain = cache.reserve(row)
    rotary[:, 0, :, : prefix.length] = prefix.rotary
    plain[:, 0, :, : prefix.length] = prefix.plain
    for page, segment in zip(pages, segments, strict=True):
        table = backbone.table(segment.anchor.positions(backbone.axes)[:, None])
        # All layers at once: [layers, heads, n, d], the table [1, n, d] is the same for each.
        # To the device first, then to fp32: in one step torch would widen on the CPU, and twice the bytes would travel.
        rotary[:, 0, :, segment.first : segment.last] = backbone.rotate(page.rotary.to(backbone.device).float(), table)
        plain[:, 0, :, segment.first : segment.last] = page.plain.to(backbone.device)
    return Assembly(cache, tuple(segments), row, position, {"place": time.perf_counter() - begun})
