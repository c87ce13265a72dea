"""A reader's Hugging Face directory in; a grey network of its size with its weights, and its vocabulary, out: training goes on from there."""

from __future__ import annotations

import json
from pathlib import Path

from safetensors.torch import load_file
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


def warm(directory: Path) -> tuple[Glm4vForConditionalGeneration, Size, Vocabulary]:
    """The network to train on, fp32. The kernel over three colours and two copies is summed to the grey one it was spread from.

    The heads that name characters and pieces are not in the directory: they must be grown anew.
    """
    size = size_of(directory)
    net = network(size, seed=0)
    state = load_file(directory / "model.safetensors")
    state[KERNEL] = state[KERNEL].sum(dim=(1, 2), keepdim=True)
    try:
        net.load_state_dict(state)
    except RuntimeError as error:
        raise CheckpointError(f"{directory} does not fit a network of {size} ({error}); was it trained by this program?") from error
    return net, size, Vocabulary.load(directory / "tokenizer.json")
