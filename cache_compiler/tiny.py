"""A size and a seed go in; a random model of the real class comes out.

It serves tests of exactness, and measurements of time at a real model's size.
"""

from __future__ import annotations

from typing import Literal

import torch
from torch import nn
from transformers import AutoTokenizer, Glm4vConfig, Glm4vForConditionalGeneration, Glm4vImageProcessorPil

from .backbone import Backbone
from .card import Card
from .families import FAMILIES
from .load import READER
from .selfcheck import verify

Size = Literal["tiny", "partial", "small"]

_SIZES = {
    "tiny": {
        "text": {"hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 3, "num_attention_heads": 4, "num_key_value_heads": 2},
        "vision": {"hidden_size": 32, "intermediate_size": 64, "depth": 2, "num_heads": 2},
        "sections": [2, 3, 3],
        "partial": 1.0,
        "patch": 8,
    },
    # GLM-4.1V's partial rotation and cell of 28 px at a toy size.
    "partial": {
        "text": {"hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 3, "num_attention_heads": 4, "num_key_value_heads": 2},
        "vision": {"hidden_size": 32, "intermediate_size": 64, "depth": 2, "num_heads": 2},
        "sections": [1, 2, 1],
        "partial": 0.5,
        "patch": 14,
    },
    # About 150 million parameters, with GLM-4.1V's cell of 28 px and its partial rotation.
    "small": {
        "text": {
            "hidden_size": 768,
            "intermediate_size": 2560,
            "num_hidden_layers": 16,
            "num_attention_heads": 12,
            "num_key_value_heads": 2,
        },
        "vision": {"hidden_size": 512, "intermediate_size": 1536, "depth": 8, "num_heads": 8},
        "sections": [4, 6, 6],
        "partial": 0.5,
        "patch": 14,
    },
}


def random_backbone(size: Size = "tiny", seed: int = 0, attention: str = "sdpa", sharpen: float = 3.0, positions: int = 65536) -> Backbone:
    """A random GLM-4V with the embedded reader's tokenizer and chat template.

    Query and key weights are drawn `sharpen` times wider than usual: attention is then sharp enough for a wrong position to
    change the logits by as much as their spread; plain random weights would hide it.
    """
    facts = _SIZES[size]
    tokenizer = AutoTokenizer.from_pretrained(READER, local_files_only=True)
    ids = {
        name: tokenizer.convert_tokens_to_ids(token)
        for name, token in (("image", "<|image|>"), ("start", "<|begin_of_image|>"), ("end", "<|end_of_image|>"))
    }
    text: dict[str, object] = dict(facts["text"])  # type: ignore[call-overload]
    vision: dict[str, object] = dict(facts["vision"])  # type: ignore[call-overload]
    config = Glm4vConfig(
        text_config={
            **text,
            "vocab_size": len(tokenizer),
            "max_position_embeddings": positions,
            "pad_token_id": tokenizer.pad_token_id,
            "eos_token_id": tokenizer.eos_token_id,
            "rope_parameters": {
                "rope_type": "default",
                "rope_theta": 10000.0,
                "partial_rotary_factor": facts["partial"],
                "mrope_section": facts["sections"],
            },
        },
        vision_config={
            **vision,
            "in_channels": 3,
            "image_size": 336,
            "patch_size": facts["patch"],
            "temporal_patch_size": 2,
            "spatial_merge_size": 2,
            "out_hidden_size": text["hidden_size"],
        },
        image_token_id=ids["image"],
        image_start_token_id=ids["start"],
        image_end_token_id=ids["end"],
        tie_word_embeddings=False,
    )
    config._attn_implementation = attention
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = Glm4vForConditionalGeneration(config)
        _draw(model, sharpen)
    processor = Glm4vImageProcessorPil.from_pretrained(READER, local_files_only=True)
    processor.patch_size = facts["patch"]
    backbone = Backbone(model, tokenizer, processor, FAMILIES["glm4v"], f"random-{size}-{seed}", Card(), directory=None)
    verify(backbone)
    return backbone


@torch.no_grad()
def _draw(model: nn.Module, sharpen: float) -> None:
    for name, module in model.named_modules():
        if isinstance(module, nn.Linear):
            gain = sharpen if name.endswith(("q_proj", "k_proj")) and "language_model" in name else 1.0
            module.weight.normal_(0.0, gain / module.in_features**0.5)
        elif isinstance(module, nn.Embedding):
            module.weight.normal_(0.0, 1.0)
