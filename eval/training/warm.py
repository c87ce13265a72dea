"""A reader's Hugging Face directory in; a grey network of its size with its weights, and its vocabulary, out: training goes on from there."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file
from torch import Tensor
from transformers import Glm4vForConditionalGeneration

from .checkpoint import CheckpointError
from .export import KERNEL
from .model import Size, network
from .tokenizer import Vocabulary


def size_of(directory: Path) -> Size:
    """The sizes that the directory's config states. Raises CheckpointError where there is none, or it is no GLM-4V."""
    path = directory / "config.json"
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
        text, eye = config["text_config"], config["vision_config"]
        return Size(
            text["hidden_size"],
            text["num_hidden_layers"],
            text["num_attention_heads"],
            text["num_key_value_heads"],
            eye["hidden_size"],
            eye["depth"],
            eye["num_heads"],
            text["vocab_size"],
            text["intermediate_size"],
            _rotary(text),
        )
    except (OSError, json.JSONDecodeError, KeyError, TypeError) as error:
        raise CheckpointError(f"{path} is no GLM-4V configuration ({error!r}); give a directory that `export` wrote") from error


def _rotary(text: Mapping[str, Any]) -> int:
    head = text["hidden_size"] // text["num_attention_heads"]
    rotary = round(head * text["rope_parameters"].get("partial_rotary_factor", 1.0))
    return 0 if rotary == head else rotary


def warm(directory: Path, size: Size | None = None) -> tuple[Glm4vForConditionalGeneration, Size, Vocabulary]:
    """The network to train on, fp32; of another `size`, if one is given that `enlarged` can make of it.

    The kernel over three colours and two copies is summed to the grey one it was spread from. The heads that name characters and pieces
    are not in the directory: they must be grown anew. Raises CheckpointError where the weights do not fit.
    """
    stored = size_of(directory)
    state = load_file(directory / "model.safetensors")
    state[KERNEL] = state[KERNEL].sum(dim=(1, 2), keepdim=True)
    net = network(stored, seed=0)
    try:
        net.load_state_dict(state)
    except RuntimeError as error:
        raise CheckpointError(f"{directory}: model.safetensors does not fit config.json ({error}); export it again") from error
    if size and size != stored:
        net = enlarged(net, stored, size)
    return net, size or stored, Vocabulary.load(directory / "tokenizer.json")


def enlarged(net: Glm4vForConditionalGeneration, stored: Size, size: Size) -> Glm4vForConditionalGeneration:
    """A network of a larger size that computes what `net` does, and learns on from there: parts of random weights would undo it first.

    More layers, a multiple of the key-value heads, wider MLPs; raises CheckpointError for any other change of size. One changes what it computes: with
    half of the numbers of its heads no longer turned (`rotary`) it has to find its way again, for some minutes.
    """
    state = net.state_dict()
    if size.turned != stored.turned and (size.hidden, size.heads) == (stored.hidden, stored.heads):
        if size.turned * 2 != stored.turned:
            raise CheckpointError(
                f"of {stored.turned} rotated numbers a head no {size.turned} can be made; only a half of them ({stored.turned // 2})"
            )
        state = _stilled(state, stored)
    if size.kv_heads % stored.kv_heads == 0:
        state = _more_kv_heads(state, stored, size.kv_heads // stored.kv_heads)
    state = _wider(state, size.inner - stored.inner)
    for prefix, silent, before, after in (
        ("model.visual.blocks.", ("attn.proj.weight", "mlp.down_proj.weight"), stored.eye_layers, size.eye_layers),
        ("model.language_model.layers.", _POST_NORMS, stored.layers, size.layers),
    ):
        state |= _deeper(state, prefix, silent, before, after)
    grown = network(size, seed=0)
    try:
        grown.load_state_dict(state)
    except RuntimeError as error:
        raise CheckpointError(
            f"of {stored} no {size} can be made ({error}); only layers, wider MLPs and a multiple of the key-value heads can be added"
        ) from error
    return grown


# What a text layer adds to the stream is normalised last: a projection of zeros in front of that would be scaled up at its first movement.
_POST_NORMS = ("post_self_attn_layernorm.weight", "post_mlp_layernorm.weight")


def _deeper(state: dict[str, Tensor], prefix: str, silent: tuple[str, str], before: int, after: int) -> dict[str, Tensor]:
    """Copies of the last layer for the layers that are missing, each with the weights set to zero that end its two halves."""
    last = f"{prefix}{before - 1}."
    found = {}
    for layer in range(before, after):
        for key, value in state.items():
            if key.startswith(last):
                name = key.removeprefix(last)
                found[f"{prefix}{layer}.{name}"] = torch.zeros_like(value) if name in silent else value.clone()
    return found


def _stilled(state: dict[str, Tensor], stored: Size) -> dict[str, Tensor]:
    """Every other pair of numbers of each head's queries and keys moved behind the rest, where it is not turned: the frequencies that are left are those
    of half as many pairs, the very ones they had.
    """
    width = stored.hidden // stored.heads
    pairs = torch.arange(stored.turned).view(-1, 2)
    order = torch.cat([pairs[::2].flatten(), pairs[1::2].flatten(), torch.arange(stored.turned, width)])
    return {
        key: value.view(-1, width, *value.shape[1:])[:, order].reshape(value.shape)
        if key.rsplit(".", 2)[-2] in ("q_proj", "k_proj")
        else value
        for key, value in state.items()
    }


def _more_kv_heads(state: dict[str, Tensor], stored: Size, times: int) -> dict[str, Tensor]:
    """Every key-value head `times` over: heads that shared one get each their own."""
    width = stored.hidden // stored.heads
    return {
        key: value.reshape(stored.kv_heads, width, *value.shape[1:]).repeat_interleave(times, 0).flatten(0, 1)
        if key.rsplit(".", 2)[-2] in ("k_proj", "v_proj")
        else value
        for key, value in state.items()
    }


def _wider(state: dict[str, Tensor], more: int) -> dict[str, Tensor]:
    """`more` inner units in every MLP of the text tower: random on the side of what they take in, zero on the side of what they give out."""
    if more <= 0:
        return state
    draws = torch.Generator().manual_seed(0)
    found = dict(state)
    for key, value in state.items():
        if key.startswith("model.language_model.layers.") and key.endswith("mlp.gate_up_proj.weight"):
            halves = [torch.cat([half, torch.randn(more, half.shape[1], generator=draws) * half.std()]) for half in value.chunk(2)]
            found[key] = torch.cat(halves)
        elif key.startswith("model.language_model.layers.") and key.endswith("mlp.down_proj.weight"):
            found[key] = torch.cat([value, torch.zeros(len(value), more)], dim=1)
    return found
