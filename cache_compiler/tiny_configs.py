"""A family, a size and a tokenizer go in; the configuration of a small model of the real class comes out, with its image processor's cell.

The shapes are as unlike as the families are: grouped and full multi-head attention, latents, partial rotation, cells of 16 to 32 px.
"""

from __future__ import annotations

from typing import Any, Literal

from .errors import UnsupportedFamily

Size = Literal["tiny", "partial", "small"]

_TINY = {"hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 3, "num_attention_heads": 4, "num_key_value_heads": 2}
_TINY_VISION = {"hidden_size": 32, "intermediate_size": 64, "depth": 2, "num_heads": 2}
# About 150 million parameters.
_SMALL = {"hidden_size": 768, "intermediate_size": 2560, "num_hidden_layers": 16, "num_attention_heads": 12, "num_key_value_heads": 2}
_SMALL_VISION = {"hidden_size": 512, "intermediate_size": 1536, "depth": 8, "num_heads": 8}

# What a family turns, by size: M-RoPE's sections sum to half of what is rotated.
_ROTATION: dict[tuple[str, Size], dict[str, Any]] = {
    ("glm4v", "tiny"): {"partial_rotary_factor": 1.0, "mrope_section": [2, 3, 3]},
    # GLM-4.1V's partial rotation and cell of 28 px.
    ("glm4v", "partial"): {"partial_rotary_factor": 0.5, "mrope_section": [1, 2, 1]},
    ("glm4v", "small"): {"partial_rotary_factor": 0.5, "mrope_section": [4, 6, 6]},
    ("qwen2_5_vl", "tiny"): {"mrope_section": [2, 3, 3]},
    ("qwen2_5_vl", "small"): {"mrope_section": [8, 12, 12]},
    ("qwen3_vl", "tiny"): {"mrope_section": [4, 2, 2], "mrope_interleaved": True},
    ("qwen3_vl", "small"): {"mrope_section": [12, 10, 10], "mrope_interleaved": True},
    ("llama", "tiny"): {},
    ("llama", "small"): {},
    ("deepseek_v2", "tiny"): {},
    ("deepseek_v2", "small"): {},
    ("deepseek_v3", "tiny"): {},
    ("deepseek_v3", "small"): {},
}
_LATENT = {
    # The last layer is a mixture of experts.
    "tiny": {
        "kv_lora_rank": 24,
        "q_lora_rank": 32,
        "qk_rope_head_dim": 8,
        "qk_nope_head_dim": 16,
        "v_head_dim": 16,
        "first_k_dense_replace": 2,
    },
    "small": {
        "kv_lora_rank": 256,
        "q_lora_rank": 384,
        "qk_rope_head_dim": 32,
        "qk_nope_head_dim": 64,
        "v_head_dim": 64,
        "first_k_dense_replace": 15,
    },
}


def tiny_config(family: str, size: Size, tokenizer: Any, positions: int) -> Any:
    """The library's configuration. Raises UnsupportedFamily where the family has no such size."""
    import transformers

    if (family, size) not in _ROTATION:
        raise UnsupportedFamily(f"no random model of {family!r} of size {size!r}; there are: {sorted(_ROTATION)}")
    text: dict[str, Any] = {
        **(_SMALL if size == "small" else _TINY),
        "vocab_size": len(tokenizer),
        "max_position_embeddings": positions,
        "pad_token_id": tokenizer.pad_token_id,
        "eos_token_id": tokenizer.eos_token_id,
        "rope_parameters": {"rope_type": "default", "rope_theta": 10000.0, **_ROTATION[family, size]},
    }
    if family == "llama":
        # Every query head has keys and values of its own.
        return transformers.LlamaConfig(**{**text, "num_key_value_heads": text["num_attention_heads"]}, tie_word_embeddings=False)
    if family in ("deepseek_v2", "deepseek_v3"):
        experts = {"n_routed_experts": 4, "num_experts_per_tok": 2, "n_shared_experts": 1, "n_group": 1, "topk_group": 1}
        text |= {**_LATENT["small" if size == "small" else "tiny"], **experts, "moe_intermediate_size": text["hidden_size"]}
        text["num_key_value_heads"] = text["num_attention_heads"]
        kind = transformers.DeepseekV2Config if family == "deepseek_v2" else transformers.DeepseekV3Config
        return kind(**text, tie_word_embeddings=False)
    # The reader's tokenizer has no token that begins a text; Qwen's own would lie outside its vocabulary.
    extra: dict[str, dict[str, Any]] = {
        "qwen2_5_vl": {"bos_token_id": None},
        "qwen3_vl": {"bos_token_id": None, "head_dim": text["hidden_size"] // text["num_attention_heads"]},
    }
    kinds: dict[str, tuple[Any, dict[str, Any]]] = {
        "glm4v": (transformers.Glm4vConfig, {"patch_size": 8 if size == "tiny" else 14, "image_size": 336}),
        # Windows of 2 x 2 cells, and one layer that sees all.
        "qwen2_5_vl": (transformers.Qwen2_5_VLConfig, {"patch_size": 14, "window_size": 56, "fullatt_block_indexes": [1]}),
        "qwen3_vl": (transformers.Qwen3VLConfig, {"patch_size": 16, "num_position_embeddings": 64, "deepstack_visual_indexes": [0, 1]}),
    }
    kind, own = kinds[family]
    vision = {**(_SMALL_VISION if size == "small" else _TINY_VISION), **own, "in_channels": 3, "temporal_patch_size": 2}
    marks = {
        name: tokenizer.convert_tokens_to_ids(token)
        for name, token in (("image", "<|image|>"), ("start", "<|begin_of_image|>"), ("end", "<|end_of_image|>"))
    }
    start, end = ("image_start", "image_end") if family == "glm4v" else ("vision_start", "vision_end")
    return kind(
        text_config={**text, **extra.get(family, {})},
        vision_config={**vision, "spatial_merge_size": 2, "out_hidden_size": text["hidden_size"]},
        image_token_id=marks["image"],
        tie_word_embeddings=False,
        **{f"{start}_token_id": marks["start"], f"{end}_token_id": marks["end"]},
    )
