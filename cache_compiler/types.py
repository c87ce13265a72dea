"""The cache compiler's values: `Canonical`, `Anchor`, `Segment`, `Assembly`. Imports no other room; pages are known by string keys."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import torch
from torch import Tensor
from transformers.cache_utils import Cache

Tier = Literal["ram", "disk"]


@dataclass(frozen=True)
class Anchor:
    """Where a page of `rows` x `columns` visual tokens stands in a request: its first mark is at position `start`.

    Rows and positions differ under M-RoPE: the page takes rows * columns + 2 rows of the cache (its two marks included) but
    moves the next position by only max(rows, columns) + 2.
    """

    start: int
    rows: int
    columns: int

    @property
    def length(self) -> int:
        """Cache rows of the page, marks included."""
        return self.rows * self.columns + 2

    @property
    def end(self) -> int:
        """The first position behind the page."""
        return self.start + max(self.rows, self.columns) + 2

    def positions(self) -> Tensor:
        """M-RoPE positions [3, length], int64: (time, height, width); a mark has the same number on all three axes."""
        first = self.start + 1
        height = torch.arange(self.rows).repeat_interleave(self.columns) + first
        width = torch.arange(self.columns).repeat(self.rows) + first
        image = torch.stack([torch.full_like(height, first), height, width])
        opening = torch.full((3, 1), self.start)
        closing = torch.full((3, 1), self.end - 1)
        return torch.cat([opening, image, closing], dim=1)


@dataclass(frozen=True)
class Canonical:
    """One page image's own KV, compiled behind the model's template with the template's rows stripped (QV-PIC, equation 1).

    Keys are stored before rotation, so that a page can stand anywhere (equation 2). The page owns its marks: row 0 is
    begin-of-image, the last row end-of-image.
    """

    key: str
    rotary: Tensor  # [layers, kv_heads, rows * columns + 2, head_dim], un-rotated keys
    plain: Tensor  # [layers, kv_heads, rows * columns + 2, head_dim], values
    rows: int
    columns: int

    @property
    def length(self) -> int:
        return int(self.rotary.shape[2])

    @property
    def bytes(self) -> int:
        return self.rotary.numel() * self.rotary.element_size() + self.plain.numel() * self.plain.element_size()

    def at(self, start: int) -> Anchor:
        return Anchor(start, self.rows, self.columns)


@dataclass(frozen=True)
class Fetched:
    """A canonical cache as the store handed it out: from which tier, and how many bytes were read from disk for it."""

    canonical: Canonical
    tier: Tier
    bytes_read: int


@dataclass(frozen=True)
class Segment:
    """A page's place in an assembly: cache rows [first, last) and its anchor."""

    key: str
    first: int
    last: int
    anchor: Anchor


@dataclass
class Assembly:
    """The linked context, ready for a question. `cache` is this request's own: prefill and decode write behind row `length`."""

    cache: Cache
    segments: tuple[Segment, ...]
    length: int  # rows: template prefix and pages
    next_position: int  # where the question starts, on all three axes
    seconds: dict[str, float] = field(default_factory=dict)
