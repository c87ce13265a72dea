"""A family, a size and a seed go in; a random model of the real class comes out.

It serves tests of exactness, and measurements of time at a real model's size.
"""

from __future__ import annotations

import torch
from torch import nn
from transformers import AutoTokenizer

from .backbone import Backbone
from .card import TEXT, Card
from .families import FAMILIES
from .load import READER
from .selfcheck import verify
from .tiny_configs import Size, tiny_config


def random_backbone(
    size: Size = "tiny", seed: int = 0, attention: str = "sdpa", sharpen: float = 3.0, positions: int = 65536, family: str = "glm4v"
) -> Backbone:
    """A random model of `family` with the embedded reader's tokenizer and chat template.

    Query and key weights are drawn `sharpen` times wider than usual: attention is then sharp enough for a wrong position to
    change the logits by as much as their spread; plain random weights would hide it.
    Raises UnsupportedFamily where there is no such family, or none of that size.
    """
    import transformers

    tokenizer = AutoTokenizer.from_pretrained(READER, local_files_only=True)
    config = tiny_config(family, size, tokenizer, positions)
    config._attn_implementation = attention
    row = FAMILIES[family]
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = getattr(transformers, row.model)(config)
        _draw(model, sharpen)
    processor = None
    if row.image_processor is not None:
        processor = getattr(transformers, row.image_processor).from_pretrained(READER, local_files_only=True)
        processor.patch_size = config.vision_config.patch_size
    name = f"random-{size}-{seed}" if family == "glm4v" else f"random-{family}-{size}-{seed}"
    card = TEXT if processor is None else Card()
    backbone = Backbone(model, tokenizer, processor, row, name, card, directory=None)
    verify(backbone)
    return backbone


# A key or query norm would undo a wider projection, and of latent attention only k_pe is wider behind the latent's norm.
_SHARPENED = ("q_proj", "k_proj", "q_b_proj", "kv_a_proj_with_mqa")


@torch.no_grad()
def _draw(model: nn.Module, sharpen: float) -> None:
    for name, module in model.named_modules():
        if isinstance(module, nn.Linear):
            gain = sharpen if name.endswith(_SHARPENED) and "visual" not in name else 1.0
            module.weight.normal_(0.0, gain / module.in_features**0.5)
        elif isinstance(module, nn.Embedding):
            module.weight.normal_(0.0, 1.0)
        elif name.endswith(("q_norm", "k_norm")):
            # Not all alike, or a tap before the norm could pass for one behind it but for a factor.
            module.weight.normal_(sharpen, sharpen / 10)
        elif type(module).__name__.endswith("Experts"):
            for weight in module.parameters():
                weight.normal_(0.0, weight.shape[-1] ** -0.5)
