"""The cache compiler's values: `Anchor`, `Encoded`, `Canonical`, `Segment`, `Assembly`. Imports no other room; pages are known by string keys."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

import torch
from torch import Tensor
from transformers.cache_utils import Cache

Tier = Literal["ram", "disk"]


@dataclass(frozen=True)
class Anchor:
    """Where a page stands in a request: its first row is at position `start`.

    An image page has `rows` x `columns` visual tokens. Rows and positions differ under M-RoPE: it takes rows * columns + 2 rows
    of the cache (its two marks included) but moves the next position by only max(rows, columns) + 2.
    A run of text (a text page, or a page of a model whose positions have one axis) has no grid: rows = columns = 0, and `run` rows
    at as many positions.
    """

    start: int
    rows: int
    columns: int
    run: int = 0

    @property
    def length(self) -> int:
        """Cache rows of the page, marks included."""
        return self.rows * self.columns + 2 if self.rows else self.run

    @property
    def end(self) -> int:
        """The first position behind the page."""
        return self.start + (max(self.rows, self.columns) + 2 if self.rows else self.run)

    def positions(self, axes: int = 3) -> Tensor:
        """Positions [axes, length], int64. Of an image page (time, height, width); a mark and text have the same number on all axes."""
        if not self.rows:
            return torch.arange(self.start, self.end).expand(axes, -1)
        first = self.start + 1
        height = torch.arange(self.rows).repeat_interleave(self.columns) + first
        width = torch.arange(self.columns).repeat(self.rows) + first
        image = torch.stack([torch.full_like(height, first), height, width])
        opening = torch.full((3, 1), self.start)
        closing = torch.full((3, 1), self.end - 1)
        return torch.cat([opening, image, closing], dim=1)


@dataclass(frozen=True)
class Encoded:
    """One page as the language model takes it: the vision encoder has run, and need not run again for another forward of this page.

    `embeds` holds the marks too. `deep` are the features that Qwen3-VL adds to the visual rows behind its first layers (DeepStack,
    arXiv 2406.04334), one tensor a layer; empty elsewhere. A text page has no visual rows, and rows = columns = 0.
    """

    key: str
    ids: tuple[int, ...]
    embeds: Tensor  # [n, hidden]
    visual: Tensor  # bool [n]
    deep: tuple[Tensor, ...]  # each [visual rows, hidden]
    rows: int
    columns: int

    @property
    def length(self) -> int:
        return len(self.ids)

    def at(self, start: int) -> Anchor:
        return Anchor(start, self.rows, self.columns, 0 if self.rows else self.length)


@dataclass(frozen=True)
class Canonical:
    """One page's own KV, compiled behind the model's template with the template's rows stripped (QV-PIC, equation 1).

    What the model rotates is stored before rotation, so that a page can stand anywhere (equation 2). An image page owns its marks:
    row 0 is begin-of-image, the last row end-of-image. A text page has rows = columns = 0.
    `rotary` are the keys and `plain` the values, of one shape; in multi-head latent attention `rotary` is k_pe [L, 1, n, rope_dim]
    and `plain` the latent c_KV [L, 1, n, rank].
    """

    key: str
    rotary: Tensor  # [layers, heads, n, d_r], un-rotated; n = rows * columns + 2 of an image page
    plain: Tensor  # [layers, heads', n, d_p]
    rows: int
    columns: int

    @property
    def length(self) -> int:
        return int(self.rotary.shape[2])

    @property
    def bytes(self) -> int:
        return self.rotary.numel() * self.rotary.element_size() + self.plain.numel() * self.plain.element_size()

    def at(self, start: int) -> Anchor:
        return Anchor(start, self.rows, self.columns, 0 if self.rows else self.length)


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


def end_to_end(pages: Iterable[Canonical | Encoded], start: int) -> tuple[tuple[Segment, ...], int, int]:
    """Pages in context order behind a prefix of `start` rows -> their places, and the first row and the first position behind the last."""
    segments, row, position = [], start, start
    for page in pages:
        anchor = page.at(position)
        segments.append(Segment(page.key, row, row + anchor.length, anchor))
        row, position = row + anchor.length, anchor.end
    return tuple(segments), row, position


@dataclass
class Assembly:
    """The linked context, ready for a question. `cache` is this request's own: prefill and decode write behind row `length`."""

    cache: Cache
    segments: tuple[Segment, ...]
    length: int  # rows: template prefix and pages
    next_position: int  # where the question starts, on all axes
    seconds: dict[str, float] = field(default_factory=dict)
