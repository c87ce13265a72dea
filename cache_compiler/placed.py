"""Pages in a slab and the arrangement that is wanted go in; the slab rearranged comes out, with as little written as can be.

    page stands where it stood, as it was     nothing is written
    page stands elsewhere                     values are moved; keys are placed once, from the un-rotated (equation 1 of Kamera)
    page is new, or its patch is another      keys and values are placed from the canonical

A slab may be shared by several windows; the one that writes takes a copy first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from .backbone import Backbone
from .errors import ContextTooLong, WindowError
from .patch import Patch
from .place import place, place_keys
from .prefix import Prefix
from .slab import SlabCache
from .types import Canonical, Segment, end_to_end


@dataclass(frozen=True)
class Placed:
    """A page of a window: its canonical, the patch that it holds (None: the clean view), and where it stands."""

    page: Canonical
    patch: Patch | None
    segment: Segment

    @property
    def given(self) -> tuple[str, ...]:
        """What its conditioning is of: the patch's antecedents, less those that a removal patch has taken out again."""
        return () if self.patch is None else tuple(key for key in self.patch.key.given if key not in self.patch.key.left)


@dataclass(frozen=True)
class Written:
    """What a rearrangement took."""

    moved: int = 0  # pages whose place changed
    rows: int = 0  # their rows
    anew: int = 0  # pages placed from the canonical, values too


def lay_out(backbone: Backbone, start: int, pages: Sequence[tuple[Canonical, Patch | None]]) -> tuple[Placed, ...]:
    """Give every page its rows and its anchor, end to end behind a prefix of `start` rows. Nothing is written.

    Raises:
        ContextTooLong: the last page would end behind the model's last position.
        PatchMismatch: a patch does not belong to its page.
        WindowError: the same page comes twice.
    """
    seen = set()
    for page, patch in pages:
        if page.key in seen:
            raise WindowError(f"{page.key} would stand in the window twice: evict it first, or leave it where it is")
        if patch is not None:
            patch.require_fit(page)
        seen.add(page.key)
    segments, _, position = end_to_end([page for page, _ in pages], start)
    if position >= backbone.max_positions:
        raise ContextTooLong(
            f"{len(pages)} pages end at position {position}, the model has {backbone.max_positions}: evict a page, or take a lower DPI"
        )
    return tuple(Placed(page, patch, segment) for (page, patch), segment in zip(pages, segments, strict=True))


def row_bytes(backbone: Backbone) -> int:
    """Bytes of one row over all layers: a page of n rows has n times as many."""
    numbers = sum(heads * width for heads, width in (backbone.rotary_shape, backbone.plain_shape))
    return backbone.layers * numbers * backbone.dtype.itemsize


class Slab:
    """A slab with a prefix at its head, and how many windows read it."""

    def __init__(self, backbone: Backbone, cache: SlabCache, head: int) -> None:
        self.backbone, self.cache, self.head = backbone, cache, head
        self.owners = 1

    @classmethod
    @torch.inference_mode()
    def behind(cls, backbone: Backbone, prefix: Prefix) -> Slab:
        """An empty one: the prefix alone."""
        cache = backbone.empty_cache(prefix.length)
        rotary, plain = cache.reserve(prefix.length)
        rotary[:, 0], plain[:, 0] = prefix.rotary, prefix.plain
        return cls(backbone, cache, prefix.length)

    @property
    def capacity(self) -> int:
        return int(self.cache.rotary_slab.shape[3])

    def rows(self, segment: Segment) -> tuple[Tensor, Tensor]:
        """A page's rows: views [layers, heads, n, dim] of (rotary, plain)."""
        return self.cache.rotary_slab[:, 0, :, segment.first : segment.last], self.cache.plain_slab[:, 0, :, segment.first : segment.last]

    def truncate(self, placed: Sequence[Placed]) -> None:
        """Forget what a question has written behind the pages; layers that had outgrown the slab come back to it."""
        for index, layer in enumerate(self.cache.layers):
            layer.rotary_buffer, layer.plain_buffer = self.cache.rotary_slab[index], self.cache.plain_slab[index]
        self.cache.truncate(_end(placed, self.head))

    @torch.inference_mode()
    def blank(self, placed: Sequence[Placed]) -> None:
        """Overwrite the rows behind the pages: what stood there belongs to nobody any more. A shared slab is left to its other owner."""
        if self.owners == 1:
            self.cache.rotary_slab[:, :, :, _end(placed, self.head) :] = 0
            self.cache.plain_slab[:, :, :, _end(placed, self.head) :] = 0

    @torch.inference_mode()
    def roomy(self, placed: Sequence[Placed], room: int = 0) -> Slab:
        """The slab itself where this window is its only owner and `room` rows are free behind the pages; else a copy of those pages."""
        if self.owners == 1 and self.capacity >= _end(placed, self.head) + room:
            return self
        return self._copied(placed, _end(placed, self.head) + room)

    @torch.inference_mode()
    def rearranged(self, old: Sequence[Placed], new: Sequence[Placed]) -> tuple[Slab, Written]:
        """Bring the slab from `old` to `new`. It is itself again, or a new one where it is shared or too small.

        Whatever is raised, the pages of `old` stand as they stood.
        """
        before = {item.segment.key: item for item in old}
        still = [item for item in new if _same(before.get(item.segment.key), item)]
        needed = _end(new, self.head)
        if self.owners > 1 or needed > self.capacity:
            target = self._copied(still, needed * 3 // 2)
            written = self._write(target, before, new)
            return target, written
        try:
            return self, self._write(self, before, new)
        except BaseException:
            untouched = {item.segment.key for item in still}
            for item in old:
                if item.segment.key not in untouched:
                    place(self.backbone, item.page, item.segment.anchor, *self.rows(item.segment), item.patch)
            self.truncate(old)
            raise

    def _write(self, target: Slab, before: dict[str, Placed], new: Sequence[Placed]) -> Written:
        moved: list[tuple[Segment, Placed]] = []
        anew: list[Placed] = []
        for item in new:
            was = before.get(item.segment.key)
            if was is None or was.page is not item.page or was.patch is not item.patch:
                anew.append(item)
            elif was.segment != item.segment:
                moved.append((was.segment, item))
        # Taken before anything is written: a page may move onto rows that another one has yet to leave.
        values = {}
        for here, item in moved:
            if target is not self or here.first != item.segment.first:
                view = self.rows(here)[1]
                values[item.segment.key] = view.clone() if target is self else view
        for _, item in moved:
            rotary, plain = target.rows(item.segment)
            if item.segment.key in values:
                plain.copy_(values[item.segment.key])
            place_keys(self.backbone, item.page, item.segment.anchor, rotary, item.patch)
        for item in anew:
            place(self.backbone, item.page, item.segment.anchor, *target.rows(item.segment), item.patch)
        target.truncate(new)
        return Written(len(moved), sum(item.page.length for _, item in moved), len(anew))

    def _copied(self, placed: Sequence[Placed], capacity: int) -> Slab:
        """A slab of one's own with the prefix and the rows of `placed`, each where it stands."""
        copy = Slab(self.backbone, self.backbone.empty_cache(capacity), self.head)
        spans = [(0, self.head), *((item.segment.first, item.segment.last) for item in placed)]
        for mine, other in ((copy.cache.rotary_slab, self.cache.rotary_slab), (copy.cache.plain_slab, self.cache.plain_slab)):
            for first, last in spans:
                mine[:, :, :, first:last] = other[:, :, :, first:last]
        copy.truncate(placed)
        return copy


def _same(was: Placed | None, item: Placed) -> bool:
    return was is not None and was.page is item.page and was.patch is item.patch and was.segment == item.segment


def _end(placed: Sequence[Placed], head: int) -> int:
    return max((item.segment.last for item in placed), default=head)
