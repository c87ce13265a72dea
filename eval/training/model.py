"""A `Size` in; the reader's network, its eye in two halves and its M-RoPE positions out.

The architecture is GLM-4V (`Glm4vForConditionalGeneration`), the one Glyph has, from transformers: nothing of it is written anew, so
that what is trained here loads anywhere the large one does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from transformers import Glm4vConfig, Glm4vForConditionalGeneration

from . import packed
from .tokenizer import Mark

# The eye looks at patches of 8 px; 2 x 2 of them are one visual token (a cell of 16 px, as the page style has it).
PATCH, MERGE = 8, 2


@dataclass(frozen=True)
class Size:
    """Layers and widths; `inner` is the width within the text tower's MLPs; `rotary`: how many numbers of each of its heads turn with the position (0:
    all), the rest are for what stands there, wherever it stands. The defaults are the embedded reader's.
    """

    hidden: int = 256
    layers: int = 6
    heads: int = 8
    kv_heads: int = 8
    eye: int = 128
    eye_layers: int = 5
    eye_heads: int = 4
    vocabulary: int = 1024
    inner: int = 768
    rotary: int = 16

    @property
    def turned(self) -> int:
        """How many numbers of each text head turn with the position."""
        return self.rotary or self.hidden // self.heads


SIZES = {
    "reader": Size(),
    "tiny": Size(hidden=64, layers=2, heads=4, kv_heads=2, eye=32, eye_layers=1, eye_heads=2, vocabulary=320, inner=128, rotary=0),
}


def configuration(size: Size, colour: bool = False) -> Glm4vConfig:
    """The network's configuration. Training sees one grey channel, once; with `colour` it is RGB in two temporal copies, the standard form."""
    head = size.hidden // size.heads
    # GLM-4V splits each head's frequencies into time, height and width; 3/16 each for the two sides of the page, the rest for time.
    side = size.turned * 3 // 16
    text: dict[str, Any] = {
        "vocab_size": size.vocabulary,
        "hidden_size": size.hidden,
        "intermediate_size": size.inner,
        "num_hidden_layers": size.layers,
        "num_attention_heads": size.heads,
        "num_key_value_heads": size.kv_heads,
        "max_position_embeddings": 8192,
        "rms_norm_eps": 1e-5,
        "attention_dropout": 0.0,
        "pad_token_id": Mark.PAD,
        "eos_token_id": Mark.EOS,
        "tie_word_embeddings": False,
        "rope_parameters": {
            "rope_type": "default",
            "rope_theta": 10000.0,
            "partial_rotary_factor": size.turned / head,
            "mrope_section": [size.turned // 2 - 2 * side, side, side],
        },
    }
    eye: dict[str, Any] = {
        "depth": size.eye_layers,
        "hidden_size": size.eye,
        "num_heads": size.eye_heads,
        "in_channels": 3 if colour else 1,
        "temporal_patch_size": 2 if colour else 1,
        "image_size": 32 * PATCH,
        "patch_size": PATCH,
        "spatial_merge_size": MERGE,
        "out_hidden_size": size.hidden,
        "intermediate_size": size.hidden * 2,
        "attention_bias": False,
        "rms_norm_eps": 1e-5,
        "hidden_act": "silu",
    }
    return Glm4vConfig(
        text_config=text,
        vision_config=eye,
        image_token_id=Mark.IMAGE,
        image_start_token_id=Mark.BEGIN_IMAGE,
        image_end_token_id=Mark.END_IMAGE,
        video_token_id=Mark.VIDEO,
        video_start_token_id=Mark.BEGIN_VIDEO,
        video_end_token_id=Mark.END_VIDEO,
        tie_word_embeddings=False,
    )


def network(size: Size, seed: int) -> Glm4vForConditionalGeneration:
    """A grey network with fresh weights, fp32; the same for the same seed."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        config = configuration(size)
        config._attn_implementation = "sdpa"
        return Glm4vForConditionalGeneration(config)


class Eye:
    """The vision tower in its two halves: `look` gives features before the merger, `merge` makes visual tokens of them.

    Most of training freezes the first half and lets the second move, so a page is looked at once and merged at every step.
    """

    def __init__(self, net: Glm4vForConditionalGeneration) -> None:
        self.tower: Any = net.model.visual
        if next(net.parameters()).device.type == "cuda":
            packed.install(self.tower)
        self._features: Tensor | None = None
        self.tower.post_layernorm.register_forward_hook(self._keep)

    def _keep(self, module: nn.Module, given: Any, features: Tensor) -> None:
        self._features = features

    def look(self, patches: Tensor, grids: Sequence[tuple[int, int]]) -> tuple[Tensor, Tensor]:
        """Patches [n, 64] of several pages, -1 to 1, and each page's (rows, columns) of patches.

        Returns features [n, eye] before the merger and visual tokens [n / 4, hidden].
        """
        thw = torch.tensor([(1, *grid) for grid in grids], device=patches.device)
        tokens = self.tower(patches, grid_thw=thw).pooler_output
        features, self._features = self._features, None
        assert features is not None
        return features, tokens

    def merge(self, features: Tensor) -> Tensor:
        """Features [n, eye] in merge-group order -> visual tokens [n / 4, hidden]: the tail of the tower's own forward."""
        blocks = features.view(-1, MERGE, MERGE, features.shape[-1]).permute(0, 3, 1, 2)
        tokens: Tensor = self.tower.merger(self.tower.downsample(blocks).flatten(1))
        return tokens

    def second_half(self) -> list[nn.Parameter]:
        return [*self.tower.downsample.parameters(), *self.tower.merger.parameters()]


# A run of text tokens (how many), or one image ((rows, columns) of visual tokens).
Segment = int | tuple[int, int]


def positions(segments: Sequence[Segment]) -> Tensor:
    """M-RoPE positions [3, length], int64: (time, height, width).

    An image of h x w tokens takes h * w rows but moves the next position on by max(h, w) only.
    """
    runs, start = [], 0
    for segment in segments:
        if isinstance(segment, int):
            runs.append((torch.arange(segment) + start).expand(3, -1))
            start += segment
        else:
            rows, columns = segment
            down = torch.arange(rows).repeat_interleave(columns)
            across = torch.arange(columns).repeat(rows)
            runs.append(torch.stack([torch.zeros_like(down), down, across]) + start)
            start += max(rows, columns)
    return torch.cat(runs, dim=1)
