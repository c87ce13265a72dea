"""Encoded pages and a question go in; the whole request as *one* forward of the model comes out: what page caches are judged by.

rows        [0, P) prefix | page 1 | page 2 | ... | [L, L+q) the question
positions   those of serving, or every page where it was compiled, right behind the prefix
mask        causal, or pages that do not see each other; the question sees all
keys        as the forward made them, or seen by the question rotated on from where a page was compiled to where it is served
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor, nn
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

from .backbone import Backbone
from .recompute import mask_of
from .types import Anchor, Encoded, end_to_end

# causal: all that stands before. own: a page sees the prefix and itself. itself: a page sees itself alone, not even the prefix.
Sight = Literal["causal", "own", "itself"]

_ROTATED_ON = "quire_rotated_on"


@dataclass(frozen=True)
class Request:
    """Prefix, pages and question end to end, each encoded, with the anchors at which the pages are served."""

    parts: tuple[Encoded, ...]
    anchors: tuple[Anchor, ...]
    start: int  # the question's first position

    @property
    def lengths(self) -> list[int]:
        return [part.length for part in self.parts]

    @property
    def asked(self) -> int:
        """Rows of the question."""
        return self.parts[-1].length

    def positions(self, axes: int, compiled: bool = False) -> Tensor:
        """[axes, n]. `compiled`: every page stands right behind the prefix, the question where it is served."""
        prefix = torch.arange(self.parts[0].length)
        anchors = [page.at(len(prefix)) for page in self.parts[1:-1]] if compiled else self.anchors
        question = torch.arange(self.asked) + self.start
        return torch.cat([prefix.expand(axes, -1), *(anchor.positions(axes) for anchor in anchors), question.expand(axes, -1)], 1)

    def shifts(self) -> Tensor:
        """By how many positions each row's key is rotated on from compiling to serving: [n], 0 of prefix and question."""
        moved = [0, *(anchor.start - self.parts[0].length for anchor in self.anchors), 0]
        return torch.repeat_interleave(torch.tensor(moved), torch.tensor(self.lengths))

    def allowed(self, sight: Sight) -> Tensor:
        """Which row sees which, bool [n, n]."""
        owner = torch.repeat_interleave(torch.arange(len(self.parts)), torch.tensor(self.lengths))
        causal = torch.ones(len(owner), len(owner)).tril().bool()
        if sight == "causal":
            return causal
        asked = owner[:, None] == len(self.parts) - 1
        prefix = (owner[None] == 0) & (asked | (sight == "own"))
        return causal & ((owner[:, None] == owner[None]) | prefix | asked)


def request(backbone: Backbone, pages: Sequence[Encoded], question: Sequence[int]) -> Request:
    prefix = backbone.encode_text("", backbone.template.prefix)
    segments, _, start = end_to_end(pages, prefix.length)
    anchors = tuple(segment.anchor for segment in segments)
    return Request((prefix, *pages, backbone.encode_text("", question)), anchors, start)


def native(backbone: Backbone, whole: Request, sight: Sight = "causal", positions: Tensor | None = None) -> Tensor:
    """Logits [q, vocabulary] of the question, fp32, by one forward. `positions` [axes, n]: others than those of serving."""
    where = whole.positions(backbone.axes) if positions is None else positions
    cache = backbone.empty_cache(sum(whole.lengths))
    mask = mask_of(backbone, whole.allowed(sight))
    return backbone.forward_encoded(whole.parts, where[:, None], cache, keep=whole.asked, mask=mask)[0].float()


@contextlib.contextmanager
def rotated_on(backbone: Backbone, shifts: Tensor, asked: int) -> Iterator[None]:
    """While open, the last `asked` rows see every key rotated on by its own shift [n]; all other rows see the keys as they were made.

    The model itself is changed meanwhile: nobody else may be using it.
    """

    def attention(
        module: nn.Module, query: Tensor, keys: Tensor, value: Tensor, mask: Tensor, scaling: float, **_: Any
    ) -> tuple[Tensor, None]:
        groups: int = module.num_key_value_groups  # type: ignore[assignment]

        def scores(keys: Tensor) -> Tensor:
            return query.float() @ keys.float().repeat_interleave(groups, 1).transpose(2, 3) * scaling

        weights = scores(keys)
        weights[:, :, -asked:] = scores(turned(backbone, keys, shifts))[:, :, -asked:]
        seen = (weights + mask).softmax(-1) @ value.float().repeat_interleave(groups, 1)
        return seen.to(query.dtype).transpose(1, 2).contiguous(), None

    ALL_ATTENTION_FUNCTIONS.register(_ROTATED_ON, attention)
    before = backbone.config._attn_implementation
    backbone.config._attn_implementation = _ROTATED_ON
    try:
        yield
    finally:
        backbone.config._attn_implementation = before


def turned(backbone: Backbone, keys: Tensor, shifts: Tensor) -> Tensor:
    """Keys [1, heads, n, d] as the model has them in attention, rotated on by `shifts` [n] positions, in fp32; of latent attention the last band.

    By the formula, not by the model's function: that may read another layout than the one it has written.
    """
    keys = keys.float()
    band = backbone.rotary_shape[1] if backbone.family.latent else keys.shape[-1]
    cos, sin = (table.to(keys.device) for table in backbone.pair_table(shifts.expand(backbone.axes, -1)))
    kept, keys = keys[..., : keys.shape[-1] - band], keys[..., keys.shape[-1] - band :]
    width = 2 * cos.shape[1]
    moved, passed = keys[..., :width], keys[..., width:]
    pairs = backbone.layout[1]
    x, y = (moved[..., 0::2], moved[..., 1::2]) if pairs else moved.chunk(2, -1)
    x, y = x * cos - y * sin, y * cos + x * sin
    return torch.cat([kept, torch.stack([x, y], -1).flatten(-2) if pairs else torch.cat([x, y], -1), passed], -1)
