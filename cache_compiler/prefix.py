"""A condition's name goes in; the prefix under which pages are compiled comes out, as ids and as its own cache.

The conditions are those of QV-PIC's Q1: `template` (the model's native prefix), `free` (none) and `dummy-k` (k times the token x).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import torch
from torch import Tensor

from .backbone import Backbone
from .errors import TemplateError


@dataclass(frozen=True)
class Prefix:
    """KV of a prefix alone at positions 0..P-1: C_h = KV_M(h) (QV-PIC, after equation 1)."""

    ids: tuple[int, ...]
    rotary: Tensor  # [layers, heads, P, d_r], already rotated
    plain: Tensor  # [layers, heads', P, d_p]

    @property
    def length(self) -> int:
        return len(self.ids)


def condition_ids(backbone: Backbone, condition: str) -> tuple[int, ...]:
    """`template`, `free` or `dummy-<k>` -> token ids. Raises TemplateError on another word."""
    if condition == "template":
        return backbone.template.prefix
    if condition == "free":
        return ()
    dummy = re.fullmatch(r"dummy-(\d{1,3})", condition)
    if dummy is None:
        raise TemplateError(f"condition {condition!r}: it is 'template', 'free' or 'dummy-K' with a number K")
    return tuple(backbone.tokenizer("x", add_special_tokens=False)["input_ids"][:1] * int(dummy[1]))


def compile_prefix(backbone: Backbone, ids: tuple[int, ...]) -> Prefix:
    """One forward over the prefix alone."""
    cache = backbone.empty_cache(len(ids))
    if ids:
        backbone.forward(torch.tensor([ids]), torch.arange(len(ids)).expand(backbone.axes, 1, -1), cache)
    return Prefix(ids, cache.rotary_slab[:, 0], cache.plain_slab[:, 0])
