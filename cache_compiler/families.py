"""A model type goes in; a `Family` comes out: which class it is loaded with, where its un-rotated key is read, and how it rotates.

One row a family. A model type without a row is refused by name: a tap that is guessed is a wrong answer that nobody notices.
"""

from __future__ import annotations

from dataclasses import dataclass

# The rotation that takes one complex table instead of cosines and sines.
COMPLEX = "apply_rotary_emb"


@dataclass(frozen=True)
class Family:
    """How one architecture is loaded, tapped and rotated.

    An image processor is always the one for PIL: torchvision is not needed. The rotation is a function of the modelling
    file; it turns numbers that stand side by side (pairs) or half a head apart (halves), and may read the one and write the other.
    """

    model: str
    image_processor: str | None  # None: the family reads text alone
    tap: str  # the attention's module whose output is the key before rotation
    rotation: str = "apply_rotary_pos_emb"
    in_pairs: bool = False
    out_pairs: bool = False
    # Multi-head latent attention: the cache's "keys" are the normed latent c_KV and its "values" the rotated k_pe, one head each.
    latent: bool = False


FAMILIES = {
    "glm4v": Family("Glm4vForConditionalGeneration", "Glm4vImageProcessorPil", "k_proj", in_pairs=True, out_pairs=True),
    "qwen2_5_vl": Family("Qwen2_5_VLForConditionalGeneration", "Qwen2VLImageProcessorPil", "k_proj"),
    # Its keys are normed a head at a time behind the projection.
    "qwen3_vl": Family("Qwen3VLForConditionalGeneration", "Qwen2VLImageProcessorPil", "k_norm"),
    "llama": Family("LlamaForCausalLM", None, "k_proj"),
    "deepseek_v2": Family("DeepseekV2ForCausalLM", None, "kv_a_proj_with_mqa", COMPLEX, in_pairs=True, out_pairs=True, latent=True),
    # Reads pairs and writes halves.
    "deepseek_v3": Family(
        "DeepseekV3ForCausalLM", None, "kv_a_proj_with_mqa", "apply_rotary_pos_emb_interleave", in_pairs=True, latent=True
    ),
}
