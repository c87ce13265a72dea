"""A backbone whose hook does not read the key before rotation never gets as far as a page."""

from dataclasses import replace
from typing import Any

import pytest
import torch
from transformers.models.qwen2 import modeling_qwen2

from cache_compiler.backbone import Backbone
from cache_compiler.card import Card
from cache_compiler.errors import TapMismatch
from cache_compiler.families import FAMILIES
from cache_compiler.selfcheck import verify
from cache_compiler.tiny import random_backbone


def test_a_true_tap_passes_under_each_attention(either: Backbone) -> None:
    verify(either)


def test_a_true_tap_passes_with_partial_rotation_and_in_bfloat16() -> None:
    verify(random_backbone("partial"))
    half = random_backbone("tiny")
    half.model.to(torch.bfloat16)
    assert half.dtype == torch.bfloat16
    verify(half)


@pytest.mark.parametrize("tap", ["v_proj", "q_proj", "o_proj", "k_norm"])
def test_a_wrong_tap_is_refused_by_name(tap: str, backbone: Backbone, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backbone, "family", replace(backbone.family, tap=tap))
    with pytest.raises(TapMismatch, match=f"'{tap}'"):
        verify(backbone)
    assert not any(module._forward_hooks for module in backbone.model.modules())


WRONG = {
    "qwen2_5_vl": ["v_proj", "q_proj"],
    # The projection before the norm: what a model without norms would have read.
    "qwen3_vl": ["k_proj", "q_norm", "v_proj"],
    "llama": ["v_proj", "q_proj"],
    "deepseek_v2": ["kv_b_proj", "q_b_proj", "kv_a_layernorm"],
    "deepseek_v3": ["kv_b_proj", "q_b_proj", "kv_a_layernorm"],
}


@pytest.mark.parametrize(("family", "tap"), [(family, tap) for family, taps in WRONG.items() for tap in taps])
def test_a_wrong_tap_is_refused_in_every_family(family: str, tap: str) -> None:
    made = random_backbone("tiny", family=family)
    made.family = replace(made.family, tap=tap)
    with pytest.raises(TapMismatch, match=f"'{tap}'"):
        verify(made)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_true_tap_passes_in_every_family_in_bfloat16_and_a_wrong_layout_does_not_pass(family: str) -> None:
    made = random_backbone("tiny", family=family)
    made.model.to(torch.bfloat16)
    verify(made)
    rotations = {"apply_rotary_pos_emb", "apply_rotary_pos_emb_interleave", "apply_rotary_emb"} - {made.family.rotation}
    for rotation in rotations:
        made.rotation.family = replace(made.family, rotation=rotation)
        with pytest.raises(TapMismatch):
            verify(made)


def test_latent_attention_with_its_weights_in_halves_is_rotated_in_halves() -> None:
    made = random_backbone("tiny", family="deepseek_v3")
    made.config.rope_interleave = False
    with pytest.raises(TapMismatch):
        verify(made)
    again = Backbone(made.model, made.tokenizer, None, FAMILIES["deepseek_v3"], "halves", Card(), None)
    verify(again)
    assert again.layout == (False, False)


def test_another_familys_rotation_is_refused(backbone: Backbone, monkeypatch: pytest.MonkeyPatch) -> None:
    """Qwen rotates the halves of a head, GLM its pairs: the same table, other keys."""

    monkeypatch.setattr(backbone.rotation, "module", modeling_qwen2)
    with pytest.raises(TapMismatch, match="layer 0"):
        verify(backbone)


def shifted(module: Any, args: Any, kwargs: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    cos, sin = kwargs["position_embeddings"]
    return args, {**kwargs, "position_embeddings": (cos.roll(1, dims=1), sin.roll(1, dims=1))}


def test_a_model_that_rotates_one_layer_to_other_places_is_refused_and_the_layer_named(backbone: Backbone) -> None:
    handle = backbone.text.layers[1].self_attn.register_forward_pre_hook(shifted, with_kwargs=True)
    try:
        with pytest.raises(TapMismatch, match="layer 1"):
            verify(backbone)
    finally:
        handle.remove()
    verify(backbone)


class Normed(torch.nn.Module):
    """A projection whose output is changed once more before it is rotated; a hook on it still reads what it was before."""

    def __init__(self, projection: torch.nn.Module) -> None:
        super().__init__()
        self.projection = projection

    def register_forward_hook(self, hook: Any, **_: Any) -> Any:
        return self.projection.register_forward_hook(hook)

    def forward(self, states: torch.Tensor) -> torch.Tensor:
        return self.projection(states) * 1.0001


def test_a_model_that_changes_its_keys_behind_the_tap_is_refused(backbone: Backbone) -> None:
    """As a model with a key norm would, if it were tapped at its projection."""
    attention = backbone.text.layers[2].self_attn
    original = attention.k_proj
    attention.k_proj = Normed(original)
    try:
        with pytest.raises(TapMismatch, match="layer 2"):
            verify(backbone)
    finally:
        attention.k_proj = original
