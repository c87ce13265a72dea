"""A model, its tokenizer and its image processor go in; a `Backbone` comes out: explicit positions, un-rotated keys, its own rotation.

The one place that knows how a model is called. A family is a row in `families.py`; one that is not there, or whose self-check
fails, is refused, never used quietly.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import torch
from PIL import Image
from torch import Tensor, nn

from renderer.types import PageImage

from .card import Card
from .errors import ContextTooLong, UnsupportedFamily
from .families import Family
from .rotation import Rotation, Table
from .slab import SlabCache
from .template import Template, derive_template, question_ids
from .types import Encoded


class Backbone:
    """A model with what page caches need of it. Thread-safe: no call leaves state in the model."""

    def __init__(
        self, model: Any, tokenizer: Any, image_processor: Any, family: Family, name: str, card: Card, directory: Path | None
    ) -> None:
        self.model: Any = model.eval()
        self.tokenizer, self.image_processor = tokenizer, image_processor
        self.family, self.name, self.card, self.directory = family, name, card, directory
        self.text: Any = getattr(self.model.model, "language_model", self.model.model)
        self.config: Any = self.model.config.get_text_config(decoder=True)
        if "sliding_attention" in (getattr(self.config, "layer_types", None) or ()):
            # Such a layer counts cache rows: what it sees of a page would hang on where the page stands.
            raise UnsupportedFamily(f"{name}: some of its layers see a sliding window alone; pages behind it would be lost to them")
        self.rotation = Rotation(self.text, self.config, family, name)
        self.template: Template = derive_template(tokenizer, self.model.config.image_token_id if self.reads_images else None)
        if self.device.type == "cpu":
            # A masked grouped-query attention copies K and V once a query head otherwise: 4 times slower over a past of 4,096 rows.
            os.environ.setdefault("TRANSFORMERS_SDPA_FORCE_GQA", "1")

    # -- facts -------------------------------------------------------------------------------------------------------

    @property
    def reads_images(self) -> bool:
        return self.family.image_processor is not None

    @property
    def layers(self) -> int:
        return len(self.text.layers)

    @property
    def axes(self) -> int:
        """3 under M-RoPE (time, height, width), 1 elsewhere."""
        return self.rotation.axes

    @property
    def rotary_shape(self) -> tuple[int, int]:
        """(heads, width) of what is rotated."""
        return self.rotation.rotary_shape

    @property
    def plain_shape(self) -> tuple[int, int]:
        """(heads, width) of what is not."""
        return self.rotation.plain_shape

    @property
    def layout(self) -> tuple[bool, bool]:
        """(in_pairs, out_pairs): how the rotation reads and writes the numbers that it turns together; False is halves."""
        return self.rotation.family.in_pairs, self.rotation.family.out_pairs

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
        """Pixels a side that become one visual token: patch x merge. Raises UnsupportedFamily where the model reads text alone."""
        self._require_images()
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
        self._require_images()
        out = self.image_processor(images=list(images), do_resize=False, return_tensors="pt")
        return out["pixel_values"].to(self.device, self.dtype), out["image_grid_thw"].to(self.device)

    def question_ids(self, question: str, history: Sequence[tuple[str, str]] = ()) -> list[int]:
        """Ids behind the last page: earlier (question, answer) pairs, the question and the template's tail."""
        return question_ids(self.tokenizer, self.template, question, history)

    def empty_cache(self, capacity: int, batch: int = 1) -> SlabCache:
        shapes = self.rotary_shape, self.plain_shape
        return SlabCache(self.layers, batch, *shapes, capacity, self.dtype, self.device, self.family.latent)

    @torch.inference_mode()
    def encode(self, images: Sequence[PageImage]) -> list[Encoded]:
        """Page images -> what the language model takes of each, by one pass of the vision encoder over all of them."""
        if not images:
            return []
        values, grid = self.pixels([image.image for image in images])
        seen = self.model.model.get_image_features(values, grid, return_dict=True)
        deep: Sequence[Sequence[Tensor]] = getattr(seen, "deepstack_features", None) or ()
        pages = []
        for index, image in enumerate(images):
            text = self.encode_text(image.key, self.template.page_ids(image.tokens))
            visual = torch.ones(text.length, dtype=torch.bool, device=self.device)
            visual[[0, -1]] = False  # the two marks
            embeds = text.embeds.clone()
            embeds[visual] = seen.pooler_output[index].to(embeds)
            features = tuple(layer[index].to(embeds) for layer in deep)
            pages.append(Encoded(image.key, text.ids, embeds, visual, features, *image.cells))
        return pages

    @torch.inference_mode()
    def encode_text(self, key: str, ids: Sequence[int]) -> Encoded:
        """Token ids -> a page, a prefix or a question in the language model's own embeddings."""
        tokens = torch.tensor(ids, dtype=torch.long, device=self.device)
        return Encoded(key, tuple(ids), self.text.embed_tokens(tokens), torch.zeros_like(tokens, dtype=torch.bool), (), 0, 0)

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
        """ids [b, q] at positions [axes, b, q] behind `cache` -> logits [b, keep, vocabulary]; the cache grows by q rows.

        Positions are always explicit: without them the model would count cache rows, which M-RoPE's positions are not.
        Raises ContextTooLong before the model is asked for a position it does not have.
        """
        self._require_positions(positions)
        seen = {} if pixels is None else {"pixel_values": pixels[0], "image_grid_thw": pixels[1]}
        out = self.model(
            input_ids=ids.to(self.device),
            position_ids=self.rotation.placed(positions),
            cache=cache,
            attention_mask=mask,
            logits_to_keep=keep,
            **seen,
        )
        logits: Tensor = out.logits
        return logits

    @torch.inference_mode()
    def forward_encoded(
        self, pages: Sequence[Encoded], positions: Tensor, cache: SlabCache, keep: int = 1, mask: Tensor | None = None
    ) -> Tensor:
        """Encoded pages end to end at positions [axes, 1, n] behind `cache` -> logits [1, keep, vocabulary]; the cache grows by n rows.

        What `forward` does with pixels, without the vision encoder. keep = 0: no logits are wanted and none are computed.
        `mask` is as the library takes it: bool [1, 1, n, past + n] for sdpa, additive for eager, None for causal.
        Raises ContextTooLong as `forward` does.
        """
        self._require_positions(positions)
        deep = [torch.cat(layer) for layer in zip(*(page.deep for page in pages if page.deep), strict=True)]
        visual = torch.cat([page.visual for page in pages])[None]
        hidden = self.text(
            inputs_embeds=torch.cat([page.embeds for page in pages])[None],
            position_ids=self.rotation.placed(positions),
            cache=cache,
            attention_mask=mask,
            **({"visual_pos_masks": visual, "deepstack_visual_embeds": deep} if deep else {}),
        ).last_hidden_state
        logits: Tensor = self.model.lm_head(hidden[:, -keep:]) if keep else hidden.new_empty(1, 0, self.model.lm_head.out_features)
        return logits

    def _require_images(self) -> None:
        if not self.reads_images:
            raise UnsupportedFamily(f"{self.name}: {self.family.model} reads text alone; load a model that reads images")

    def _require_positions(self, positions: Tensor) -> None:
        if int(positions.max()) >= self.max_positions:
            raise ContextTooLong(f"position {int(positions.max())} of {self.max_positions}: take fewer pages (top_k) or a lower DPI")

    @contextlib.contextmanager
    def capture(self) -> Iterator[list[Tensor]]:
        """While open, forwards of *this thread* leave every layer's keys before rotation: [b, heads, n, d_r] a layer.

        The hooks ask which thread calls: an answer that is decoded elsewhere meanwhile is not captured.
        """
        owner = threading.get_ident()
        taken: list[Tensor] = [torch.empty(0)] * self.layers
        with contextlib.ExitStack() as hooks:
            for index, layer in enumerate(self.text.layers):

                def read(module: nn.Module, args: Any, out: Tensor, index: int = index) -> None:
                    if threading.get_ident() == owner:
                        taken[index] = self.rotation.tapped(out.detach())

                hooks.callback(getattr(layer.self_attn, self.family.tap).register_forward_hook(read).remove)
            yield taken

    # -- rotation: always the model's own table and its own function --------------------------------------------------

    def table(self, positions: Tensor, dtype: torch.dtype = torch.float32) -> Table:
        """positions [axes, b, n] -> (cos, sin), each [b, n, rotary_dim], in fp32 unless a test asks for the model's own dtype.

        DeepSeek-V2 turns complex numbers: its table is [b, n, rotary_dim / 2].
        """
        return self.rotation.table(positions, dtype)

    def pair_table(self, positions: Tensor) -> Table:
        """positions [axes, n] -> (cos, sin), each [n, rotary_dim / 2] fp32: one entry for the two numbers that `layout` turns together."""
        return self.rotation.pair_table(positions)

    def rotate(self, keys: Tensor, table: Table) -> Tensor:
        """Un-rotated keys [b or layers, heads, n, d] -> rotated, by the modelling file's own function (QV-PIC, equation 2)."""
        return self.rotation.rotate(keys, table)
