"""A pre-allocated KV cache: pages are written straight into it, and decoding appends without copying the past.

`DynamicCache` copies every layer's whole past for each decoded token; a slab grows in place. All layers share two tensors,
so a page is placed with two copies, not two a layer.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from transformers.cache_utils import Cache, DynamicLayer


class SlabLayer(DynamicLayer):
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

    def crop(self, max_length: int) -> None:
        """Keep the first `max_length` rows, or drop -max_length of the last ones, as `DynamicLayer.crop` does."""
        self.resize(max(0, self.rows + max_length) if max_length < 0 else min(self.rows, max_length))

    def reset(self) -> None:
        self.resize(0)


class SlabCache(Cache):
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
        """Append `rows` rows to every layer and return where to write them: (keys, values), each [layers, batch, heads, rows, dim]."""
        first, last = self.rows, self.rows + rows
        for layer in self.layers:
            layer.resize(last)
        return self.key_slab[:, :, :, first:last], self.value_slab[:, :, :, first:last]

    def truncate(self, rows: int) -> None:
        """Forget everything behind row `rows`, so that the same context can take another question."""
        for layer in self.layers:
            layer.resize(rows)
