"""A reader's Hugging Face directory in; a grey network of its size with its weights, and its vocabulary, out: training goes on from there."""

from __future__ import annotations

import json
from pathlib import Path

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
        )
    except (OSError, json.JSONDecodeError, KeyError, TypeError) as error:
        raise CheckpointError(f"{path} is no GLM-4V configuration ({error!r}); give a directory that `export` wrote") from error


def warm(directory: Path, size: Size | None = None) -> tuple[Glm4vForConditionalGeneration, Size, Vocabulary]:
    """The network to train on, fp32; of another `size`, if one is given, that differs in layers alone.

    The kernel over three colours and two copies is summed to the grey one it was spread from. The heads that name characters and pieces
    are not in the directory: they must be grown anew. Raises CheckpointError where the weights do not fit.
    """
    stored = size_of(directory)
    size = size or stored
    state = load_file(directory / "model.safetensors")
    state[KERNEL] = state[KERNEL].sum(dim=(1, 2), keepdim=True)
    for prefix, outward, before, after in (
        ("model.visual.blocks.", ("attn.proj.weight", "mlp.down_proj.weight"), stored.eye_layers, size.eye_layers),
        ("model.language_model.layers.", ("self_attn.o_proj.weight", "mlp.down_proj.weight"), stored.layers, size.layers),
    ):
        state |= _grown(state, prefix, outward, before, after)
    net = network(size, seed=0)
    try:
        net.load_state_dict(state)
    except RuntimeError as error:
        raise CheckpointError(f"{directory} is of {stored} and does not fit {size} ({error}); only layers can be added") from error
    return net, size, Vocabulary.load(directory / "tokenizer.json")


def _grown(state: dict[str, Tensor], prefix: str, outward: tuple[str, str], before: int, after: int) -> dict[str, Tensor]:
    """Copies of the last layer for the layers that are missing, with what they would add to the stream set to zero.

    The network computes what it did, and learns from there: a layer of random weights in its place would undo it first.
    """
    last = f"{prefix}{before - 1}."
    found = {}
    for layer in range(before, after):
        for key, value in state.items():
            if key.startswith(last):
                name = key.removeprefix(last)
                found[f"{prefix}{layer}.{name}"] = torch.zeros_like(value) if name in outward else value.clone()
    return found
