"""A model, its tokenizer and its image processor go in; a `Backbone` comes out: explicit positions, un-rotated keys, its own rotation.

The one place that knows how a vision-language model is called. A family is a row in `FAMILIES`; one that is not there, or
whose self-check fails, is refused, never used quietly.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from PIL import Image
from torch import Tensor, nn

from .card import Card
from .errors import ContextTooLong, UnsupportedFamily
from .slab import SlabCache
from .template import Template, derive_template, question_ids


@dataclass(frozen=True)
class Family:
    """How one architecture is loaded and tapped: its class, its image processor, the module whose output is the key.

    The image processor is the one for PIL: torchvision is not needed.
    """

    model: str
    image_processor: str
    tap: str


FAMILIES = {"glm4v": Family("Glm4vForConditionalGeneration", "Glm4vImageProcessorPil", "k_proj")}

Table = tuple[Tensor, Tensor]


class Backbone:
    """A vision-language model with what page caches need of it. Thread-safe: no call leaves state in the model."""

    axes = 3  # M-RoPE: time, height, width

    def __init__(
        self, model: Any, tokenizer: Any, image_processor: Any, family: Family, name: str, card: Card, directory: Path | None
    ) -> None:
        self.model: Any = model.eval()
        self.tokenizer, self.image_processor = tokenizer, image_processor
        self.family, self.name, self.card, self.directory = family, name, card, directory
        self.text: Any = self.model.model.language_model
        self.config: Any = self.model.config.get_text_config(decoder=True)
        self.template: Template = derive_template(tokenizer, self.model.config.image_token_id)
        if self.device.type == "cpu":
            # A masked grouped-query attention copies K and V once a query head otherwise: 4 times slower over a past of 4,096 rows.
            os.environ.setdefault("TRANSFORMERS_SDPA_FORCE_GQA", "1")
        self._rotary: Any = sys.modules[type(self.text.layers[0].self_attn).__module__]
        rope = self.config.rope_parameters or {}
        if rope.get("rope_type", "default") in ("dynamic", "longrope"):
            # Their tables depend on the longest position of a request: a page compiled in one request cannot be placed in another.
            raise UnsupportedFamily(
                f"{name}: rope type {rope['rope_type']!r} changes with the request's length; its pages cannot be re-anchored"
            )

    # -- facts -------------------------------------------------------------------------------------------------------

    @property
    def layers(self) -> int:
        return len(self.text.layers)

    @property
    def kv_heads(self) -> int:
        return int(self.config.num_key_value_heads)

    @property
    def head_dim(self) -> int:
        return int(self.text.layers[0].self_attn.head_dim)

    @property
    def dtype(self) -> torch.dtype:
        dtype: torch.dtype = self.text.embed_tokens.weight.dtype
        return dtype

    @property
    def device(self) -> torch.device:
        device: torch.device = self.text.embed_tokens.weight.device
        return device

    @property
    def max_positions(self) -> int:
        return int(self.config.max_position_embeddings)

    @property
    def cell(self) -> int:
        """Pixels a side that become one visual token: patch x merge."""
        vision = self.model.config.vision_config
        return int(vision.patch_size * vision.spatial_merge_size)

    @property
    def stop_ids(self) -> frozenset[int]:
        """Ids that end an answer, from the model's own generation config."""
        ends = self.model.generation_config.eos_token_id
        if ends is None:
            ends = self.tokenizer.eos_token_id
        return frozenset([ends] if isinstance(ends, int) else ends or [])

    # -- inputs ------------------------------------------------------------------------------------------------------

    def pixels(self, images: Sequence[Image.Image]) -> tuple[Tensor, Tensor]:
        """Page images -> (pixel_values [patches, channels * temporal * patch * patch], grid_thw [images, 3] in patches).

        `do_resize` is off: a side that is not a whole number of cells raises in the processor instead of being resampled.
        """
        out = self.image_processor(images=list(images), do_resize=False, return_tensors="pt")
        return out["pixel_values"].to(self.device, self.dtype), out["image_grid_thw"].to(self.device)

    def question_ids(self, question: str) -> list[int]:
        return question_ids(self.tokenizer, self.template, question)

    def empty_cache(self, capacity: int, batch: int = 1) -> SlabCache:
        return SlabCache(self.layers, batch, self.kv_heads, self.head_dim, capacity, self.dtype, self.device)

    # -- the model ---------------------------------------------------------------------------------------------------

    @torch.inference_mode()
    def forward(
        self,
        ids: Tensor,
        positions: Tensor,
        cache: SlabCache,
        pixels: tuple[Tensor, Tensor] | None = None,
        keep: int = 1,
        mask: Tensor | None = None,
    ) -> Tensor:
        """ids [b, q] at positions [3, b, q] behind `cache` -> logits [b, keep, vocabulary]; the cache grows by q rows.

        Positions are always explicit: without them the model would count cache rows, which M-RoPE's positions are not.
        Raises ContextTooLong before the model is asked for a position it does not have.
        """
        if int(positions.max()) >= self.max_positions:
            raise ContextTooLong(f"position {int(positions.max())} of {self.max_positions}: take fewer pages (top_k) or a lower DPI")
        values, grid = pixels if pixels is not None else (None, None)
        out = self.model(
            input_ids=ids.to(self.device),
            position_ids=positions.to(self.device),
            cache=cache,
            attention_mask=mask,
            pixel_values=values,
            image_grid_thw=grid,
            logits_to_keep=keep,
        )
        logits: Tensor = out.logits
        return logits

    @contextlib.contextmanager
    def capture(self) -> Iterator[list[Tensor]]:
        """While open, forwards of *this thread* leave every layer's keys before rotation: [b, kv_heads, n, head_dim] a layer.

        The hooks ask which thread calls: an answer that is decoded elsewhere meanwhile is not captured.
        """
        owner = threading.get_ident()
        taken: list[Tensor] = [torch.empty(0)] * self.layers
        with contextlib.ExitStack() as hooks:
            for index, layer in enumerate(self.text.layers):

                def read(module: nn.Module, args: Any, out: Tensor, index: int = index) -> None:
                    if threading.get_ident() == owner:
                        # [b, n, heads * d] -> [b, heads, n, d]
                        taken[index] = out.detach().view(*out.shape[:2], -1, self.head_dim).transpose(1, 2)

                hooks.callback(getattr(layer.self_attn, self.family.tap).register_forward_hook(read).remove)
            yield taken

    # -- rotation: always the model's own table and its own function --------------------------------------------------

    def table(self, positions: Tensor, dtype: torch.dtype = torch.float32) -> Table:
        """positions [3, b, n] -> (cos, sin), each [b, n, rotary_dim], in fp32 unless a test asks for the model's own dtype."""
        cos, sin = self.text.rotary_emb(torch.zeros(1, dtype=dtype, device=self.device), positions.to(self.device))
        return cos, sin

    def rotate(self, keys: Tensor, table: Table) -> Tensor:
        """Un-rotated keys [b or layers, heads, n, d] -> rotated, by the modelling file's own function (QV-PIC, equation 2)."""
        # The function rotates queries too; one row of them is the least it takes.
        rotated: Tensor = self._rotary.apply_rotary_pos_emb(keys[:1, :1], keys, *table)[1]
        return rotated
