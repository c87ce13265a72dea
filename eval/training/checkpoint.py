"""A stage's modules and optimisers in; one safetensors file out, and back again. Nothing is pickled.

The file is written under another name, synced and renamed, so a kill leaves the last whole checkpoint and never half a one.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor, nn

from .model import Size


@dataclass(frozen=True)
class Header:
    """What a checkpoint says of itself: the stage, how far it is, the size of the network in it, and the best mean of an exam, 0 to 1."""

    stage: str
    step: int
    seconds: float
    seed: int
    size: Size
    best: float = 0.0


class CheckpointError(ValueError):
    """A checkpoint that is missing, damaged or another run's; the message names the file and both values."""


def save(path: Path, header: Header, modules: Mapping[str, nn.Module], optimisers: Sequence[torch.optim.Optimizer]) -> None:
    tensors: dict[str, Tensor] = {}
    for name, module in modules.items():
        tensors |= {f"{name}/{key}": value for key, value in module.state_dict().items()}
    for number, optimiser in enumerate(optimisers):
        for index, state in optimiser.state_dict()["state"].items():
            tensors |= {f"optimiser/{number}/{index}/{key}": value for key, value in state.items()}
    waiting = path.with_name(path.name + ".part")
    save_file({key: value.detach().cpu().contiguous() for key, value in tensors.items()}, waiting, {"header": json.dumps(asdict(header))})
    with waiting.open("rb") as file:
        os.fsync(file.fileno())
    waiting.replace(path)


def read_header(path: Path) -> Header:
    """Raises CheckpointError if there is no such file, or no checkpoint of this program in it."""
    return _open(path)[0]


def load(path: Path, modules: Mapping[str, nn.Module], optimisers: Sequence[torch.optim.Optimizer] = ()) -> Header:
    """Put the file's tensors into the modules and, if any are given, the optimisers.

    Raises CheckpointError as `read_header` does, and where a module's tensors are missing or of another shape.
    """
    header, tensors = _open(path)
    for name, module in modules.items():
        try:
            module.load_state_dict(_under(tensors, f"{name}/"))
        except RuntimeError as error:
            raise CheckpointError(f"{path}: {name} does not fit this network ({error}); train it anew or use its own size") from error
    for number, optimiser in enumerate(optimisers):
        state: dict[int, dict[str, Tensor]] = {}
        for key, value in _under(tensors, f"optimiser/{number}/").items():
            index, field = key.split("/")
            state.setdefault(int(index), {})[field] = value
        optimiser.load_state_dict({"state": state, "param_groups": optimiser.state_dict()["param_groups"]})
    return header


def _under(tensors: Mapping[str, Tensor], prefix: str) -> dict[str, Tensor]:
    return {key.removeprefix(prefix): value for key, value in tensors.items() if key.startswith(prefix)}


def _open(path: Path) -> tuple[Header, dict[str, Tensor]]:
    if not path.is_file():
        raise CheckpointError(
            f"{path} is not there; run the stage that writes it first, or name a checkpoint or a reader's directory (--from)"
        )
    try:
        with safe_open(path, framework="pt") as file:
            facts = json.loads((file.metadata() or {})["header"])
            # Before the MLPs' width was a setting, it was twice the tower's; before the numbers that turn were one, all did.
            size = Size(**{"inner": 2 * facts["size"]["hidden"], "rotary": 0, **facts["size"]})
            header = Header(**{**facts, "size": size})
            return header, {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118 (safe_open is no mapping)
    except (SafetensorError, KeyError, TypeError, json.JSONDecodeError) as error:
        raise CheckpointError(f"{path} is no checkpoint of this program ({error!r}); delete it and run its stage again") from error
