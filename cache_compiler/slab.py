"""A pre-allocated KV cache: pages are written straight into it, and decoding appends without copying the past.

`DynamicCache` copies every layer's whole past for each decoded token; a slab grows in place. All layers share two tensors,
so a page is placed with two copies, not two a layer.

The two are named for what matters to a page that moves: `rotary` is rotated, `plain` is not. Elsewhere they are keys and values;
in multi-head latent attention the library keeps the latent as "keys" and the rotated k_pe as "values".
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from transformers.cache_utils import Cache, DynamicLayer

from .errors import CacheError


class SlabLayer(DynamicLayer):  # type: ignore[misc]
    """One layer's view of the slab: the first `rows` rows of its buffers [batch, heads, capacity, dim], as the library names them."""

    def __init__(self, rotary_buffer: Tensor, plain_buffer: Tensor, latent: bool = False) -> None:
        super().__init__()
        self.rotary_buffer, self.plain_buffer, self.latent = rotary_buffer, plain_buffer, latent
        self.dtype, self.device = rotary_buffer.dtype, rotary_buffer.device
        self.rows = 0
        self.is_initialized = True
        self._view()

    def _view(self) -> None:
        self.keys, self.values = self._ordered(self.rotary, self.plain)

    def _ordered(self, first: Tensor, second: Tensor) -> tuple[Tensor, Tensor]:
        """(rotary, plain) <-> (keys, values)."""
        return (second, first) if self.latent else (first, second)

    @property
    def rotary(self) -> Tensor:
        return self.rotary_buffer[:, :, : self.rows]

    @property
    def plain(self) -> Tensor:
        return self.plain_buffer[:, :, : self.rows]

    def resize(self, rows: int) -> None:
        """Make `rows` rows visible; the buffers are already written there."""
        self.rows = rows
        self._view()

    def update(self, key_states: Tensor, value_states: Tensor, *args: Any, **kwargs: Any) -> tuple[Tensor, Tensor]:
        first, last = self.rows, self.rows + key_states.shape[-2]
        if last > self.rotary_buffer.shape[2]:
            self._grow(max(last, self.rotary_buffer.shape[2] * 3 // 2 + 64))
        rotary, plain = self._ordered(key_states, value_states)
        self.rotary_buffer[:, :, first:last] = rotary
        self.plain_buffer[:, :, first:last] = plain
        self.resize(last)
        return self.keys, self.values

    def _grow(self, capacity: int) -> None:
        """The one copy of the past: only when a caller asked for too little room."""
        for name in ("rotary_buffer", "plain_buffer"):
            old: Tensor = getattr(self, name)
            new = old.new_empty(*old.shape[:2], capacity, old.shape[3])
            new[:, :, : self.rows] = old[:, :, : self.rows]
            setattr(self, name, new)

    def get_seq_length(self) -> int:
        return self.rows

    def crop(self, tokens_to_remove: int) -> None:
        """Drop the last -tokens_to_remove rows. A positive number is refused, as `DynamicLayer.crop` refuses it."""
        if tokens_to_remove > 0:
            raise ValueError(f"crop({tokens_to_remove}): give the rows to drop as a negative number")
        self.resize(max(0, self.rows + tokens_to_remove))

    def reset(self) -> None:
        self.resize(0)

    # Beam search moves rows between batch entries. The inherited methods would move the views and leave the buffers behind.

    def batch_select_indices(self, indices: Tensor) -> None:
        self.rotary_buffer, self.plain_buffer = self.rotary_buffer[indices], self.plain_buffer[indices]
        self._view()

    def batch_repeat_interleave(self, repeats: int) -> None:
        self.batch_select_indices(torch.arange(self.rotary_buffer.shape[0], device=self.device).repeat_interleave(repeats))

    def reorder_cache(self, beam_idx: Tensor) -> None:
        self.batch_select_indices(beam_idx.to(self.device))


class SlabCache(Cache):  # type: ignore[misc]
    """A `Cache` of `SlabLayer`s over two tensors, `rotary_slab` and `plain_slab`: [layers, batch, heads, capacity, dim] each."""

    def __init__(
        self,
        layers: int,
        batch: int,
        rotary: tuple[int, int],
        plain: tuple[int, int],
        capacity: int,
        dtype: torch.dtype,
        device: torch.device,
        latent: bool = False,
    ) -> None:
        """`rotary` and `plain` are (heads, dim) of each. `latent`: the library calls the rotated one "values"."""
        self.rotary_slab, self.plain_slab = (
            torch.empty((layers, batch, heads, capacity, dim), dtype=dtype, device=device) for heads, dim in (rotary, plain)
        )
        super().__init__(layers=[SlabLayer(self.rotary_slab[i], self.plain_slab[i], latent) for i in range(layers)])

    @property
    def rows(self) -> int:
        return int(self.layers[0].get_seq_length())

    def reserve(self, rows: int) -> tuple[Tensor, Tensor]:
        """Append `rows` rows to every layer and return where to write them: (rotary, plain), each [layers, batch, heads, rows, dim].

        Raises CacheError when the slab has no room, or has been outgrown by a layer: what is written would be seen by no one.
        """
        first, last, capacity = self.rows, self.rows + rows, self.rotary_slab.shape[3]
        if last > capacity or self.layers[0].rotary_buffer.data_ptr() != self.rotary_slab.data_ptr():
            raise CacheError(f"no room for rows {first} to {last} in a slab of {capacity}: ask for a larger one at the start")
        for layer in self.layers:
            layer.resize(last)
        return self.rotary_slab[:, :, :, first:last], self.plain_slab[:, :, :, first:last]

    def truncate(self, rows: int) -> None:
        """Forget everything behind row `rows`, so that the same context can take another question."""
        for layer in self.layers:
            layer.resize(rows)
