"""A pre-allocated KV cache: pages are written straight into it, and decoding appends without copying the past.

`DynamicCache` copies every layer's whole past for each decoded token; a slab grows in place. All layers share two tensors,
so a page is placed with two copies, not two a layer.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from transformers.cache_utils import Cache, DynamicLayer

from .errors import CacheError


class SlabLayer(DynamicLayer):  # type: ignore[misc]
    """One layer's view of the slab. `keys` and `values` are the first `rows` rows of the buffers [batch, heads, capacity, dim]."""

    def __init__(self, key_buffer: Tensor, value_buffer: Tensor) -> None:
        super().__init__()
        self.key_buffer, self.value_buffer = key_buffer, value_buffer
        self.dtype, self.device = key_buffer.dtype, key_buffer.device
        self.rows = 0
        self.is_initialized = True
        self._view()

    def _view(self) -> None:
        self.keys, self.values = self.key_buffer[:, :, : self.rows], self.value_buffer[:, :, : self.rows]

    def resize(self, rows: int) -> None:
        """Make `rows` rows visible; the buffers are already written there."""
        self.rows = rows
        self._view()

    def update(self, key_states: Tensor, value_states: Tensor, *args: Any, **kwargs: Any) -> tuple[Tensor, Tensor]:
        first, last = self.rows, self.rows + key_states.shape[-2]
        if last > self.key_buffer.shape[2]:
            self._grow(max(last, self.key_buffer.shape[2] * 3 // 2 + 64))
        self.key_buffer[:, :, first:last] = key_states
        self.value_buffer[:, :, first:last] = value_states
        self.resize(last)
        return self.keys, self.values

    def _grow(self, capacity: int) -> None:
        """The one copy of the past: only when a caller asked for too little room."""
        for name in ("key_buffer", "value_buffer"):
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
        self.key_buffer, self.value_buffer = self.key_buffer[indices], self.value_buffer[indices]
        self._view()

    def batch_repeat_interleave(self, repeats: int) -> None:
        self.batch_select_indices(torch.arange(self.key_buffer.shape[0], device=self.device).repeat_interleave(repeats))

    def reorder_cache(self, beam_idx: Tensor) -> None:
        self.batch_select_indices(beam_idx.to(self.device))


class SlabCache(Cache):  # type: ignore[misc]
    """A `Cache` of `SlabLayer`s over two tensors [layers, batch, heads, capacity, dim]."""

    def __init__(self, layers: int, batch: int, heads: int, dim: int, capacity: int, dtype: torch.dtype, device: torch.device) -> None:
        shape = (layers, batch, heads, capacity, dim)
        self.key_slab = torch.empty(shape, dtype=dtype, device=device)
        self.value_slab = torch.empty(shape, dtype=dtype, device=device)
        super().__init__(layers=[SlabLayer(self.key_slab[i], self.value_slab[i]) for i in range(layers)])

    @property
    def rows(self) -> int:
        return int(self.layers[0].get_seq_length())

    def reserve(self, rows: int) -> tuple[Tensor, Tensor]:
        """Append `rows` rows to every layer and return where to write them: (keys, values), each [layers, batch, heads, rows, dim].

        Raises CacheError when the slab has no room, or has been outgrown by a layer: what is written would be seen by no one.
        """
        first, last, capacity = self.rows, self.rows + rows, self.key_slab.shape[3]
        if last > capacity or self.layers[0].key_buffer.data_ptr() != self.key_slab.data_ptr():
            raise CacheError(f"no room for rows {first} to {last} in a slab of {capacity}: ask for a larger one at the start")
        for layer in self.layers:
            layer.resize(last)
        return self.key_slab[:, :, :, first:last], self.value_slab[:, :, :, first:last]

    def truncate(self, rows: int) -> None:
        """Forget everything behind row `rows`, so that the same context can take another question."""
        for layer in self.layers:
            layer.resize(rows)
