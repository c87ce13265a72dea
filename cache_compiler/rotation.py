"""A language model and its family go in; how it turns keys comes out: positions' tables, the rotation, and what a tap's output holds.

Always the model's own table and the function of its own modelling file: a rotation written here would be a second truth.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from .errors import UnsupportedFamily
from .families import COMPLEX, Family

Table = tuple[Tensor, Tensor]


class Rotation:
    """The rotation of one model. `axes` is 3 under M-RoPE (time, height, width), 1 elsewhere; `family` is the row as this model has it."""

    def __init__(self, text: Any, config: Any, family: Family, name: str) -> None:
        """Raises UnsupportedFamily where a page's keys hang on more than the page and its place."""
        rope = config.rope_parameters or {}
        if rope.get("rope_type", "default") in ("dynamic", "longrope"):
            # Their tables depend on the longest position of a request: a page compiled in one request cannot be placed in another.
            raise UnsupportedFamily(
                f"{name}: rope type {rope['rope_type']!r} changes with the request's length; its pages cannot be re-anchored"
            )
        if not getattr(config, "rope_interleave", True):
            # The same architecture with its weights laid out for halves.
            family = replace(family, rotation="apply_rotary_pos_emb", in_pairs=False)
        self.family, self._text, self._config = family, text, config
        self.axes = 3 if hasattr(text.rotary_emb, "mrope_section") else 1
        self.module: Any = sys.modules[type(text.layers[0].self_attn).__module__]

    @property
    def rotary_shape(self) -> tuple[int, int]:
        """(heads, width) of what is rotated: the keys, or the one k_pe that all heads of latent attention share."""
        if self.family.latent:
            return 1, int(self._config.qk_rope_head_dim)
        return int(self._config.num_key_value_heads), int(self._text.layers[0].self_attn.head_dim)

    @property
    def plain_shape(self) -> tuple[int, int]:
        """(heads, width) of what is not: the values, or the latent c_KV."""
        return (1, int(self._config.kv_lora_rank)) if self.family.latent else self.rotary_shape

    def placed(self, positions: Tensor) -> Tensor:
        """Positions [axes, b, n] as the model takes them: all axes, or the only one; on its device."""
        return (positions if self.axes > 1 else positions[0]).to(self._text.embed_tokens.weight.device)

    def table(self, positions: Tensor, dtype: torch.dtype) -> Table:
        x = torch.zeros(1, dtype=dtype, device=self._text.embed_tokens.weight.device)
        made = self._text.rotary_emb(x, self.placed(positions))
        cos, sin = made if isinstance(made, tuple) else (made.real, made.imag)
        return cos, sin

    def pair_table(self, positions: Tensor) -> Table:
        cos, sin = (side[0].float() for side in self.table(positions[:, None], torch.float32))
        if self.family.rotation != COMPLEX:
            # The table holds each entry twice, laid out as the rotation writes.
            cos, sin = (side[:, ::2] if self.family.out_pairs else side[:, : side.shape[1] // 2] for side in (cos, sin))
        return cos.contiguous(), sin.contiguous()

    def rotate(self, keys: Tensor, table: Table) -> Tensor:
        function = getattr(self.module, self.family.rotation)
        own = (torch.complex(*table),) if self.family.rotation == COMPLEX else table
        # The function rotates queries too; one row of them is the least it takes.
        rotated: Tensor = function(keys[:1, :1], keys, *own)[1]
        return rotated

    def tapped(self, out: Tensor) -> Tensor:
        """What a tap gives out -> un-rotated keys [b, heads, n, d_r]."""
        if self.family.latent:
            # [b, n, rank + d]: the latent, then the part that is rotated.
            return out[..., self.plain_shape[1] :].unsqueeze(1)
        # [b, n, heads * d] of a projection, [b, n, heads, d] of a norm.
        return out.view(*out.shape[:2], -1, self.rotary_shape[1]).transpose(1, 2)
