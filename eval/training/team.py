"""A run's processes in; one mean gradient, one clock and one wish to stop out, so that all of them hold the same weights at every step.

Two cores are better used by two processes of one thread each than by one of two: torch's threads wait for each other inside every
operation, and spin while they wait. Measured beside other work: 4.6 s of processor time a step with two threads, 1.9 s with one.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from pathlib import Path

import torch
import torch.distributed as dist
from torch import Tensor, nn

_RANK, _STORE, _STAGE = "QUIRE_TRAINING_RANK", "QUIRE_TRAINING_STORE", "QUIRE_TRAINING_STAGE"
# A run may stand still for hours while something is measured; a member that dies is noticed at once, by its closed connection.
_PATIENCE = timedelta(days=7)


def helping_with() -> str | None:
    """The one stage that this process was started for by a team's first member; None in that member itself."""
    return os.environ.get(_STAGE)


class Team:
    """The members of one stage's training. Alone (`Team()`), it changes nothing and costs nothing."""

    def __init__(self, rank: int = 0, size: int = 1, store: str = "") -> None:
        self.rank, self.size = rank, size
        self.others: list[subprocess.Popen[bytes]] = []
        if size > 1:
            dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=size, timeout=_PATIENCE)

    @classmethod
    def gather(cls, size: int, stage: str, words: Sequence[str]) -> Team:
        """The first member starts the others with the same words on the command line, for one stage; they find here who they are."""
        if size == 1:
            return cls()
        if _RANK in os.environ:
            return cls(int(os.environ[_RANK]), size, os.environ[_STORE])
        store = str(Path(tempfile.mkdtemp(prefix="team-")) / "store")
        others = []
        for rank in range(1, size):
            known = {**os.environ, _RANK: str(rank), _STORE: store, _STAGE: stage}
            others.append(subprocess.Popen([sys.executable, "-m", "eval.training", *words], env=known))
        team = cls(0, size, store)
        team.others = others
        return team

    @property
    def leads(self) -> bool:
        """The one who reports and writes."""
        return self.rank == 0

    def align(self, modules: Mapping[str, nn.Module]) -> None:
        """Give everybody the first member's weights."""
        if self.size > 1:
            for module in modules.values():
                for tensor in module.state_dict().values():
                    dist.broadcast(tensor, 0)

    def mean(self, trained: Iterable[nn.Parameter]) -> None:
        """Put the mean of all members' gradients into each. A parameter that one member's batch did not touch counts as zero there."""
        if self.size == 1:
            return
        parameters = list(trained)
        flat = torch.cat([(p.grad if p.grad is not None else torch.zeros_like(p)).flatten() for p in parameters])
        dist.all_reduce(flat)
        flat /= self.size
        for parameter, gradient in zip(parameters, torch.split(flat, [p.numel() for p in parameters]), strict=True):
            parameter.grad = gradient.view_as(parameter)

    def add(self, tensor: Tensor) -> None:
        """Put the sum over all members in the tensor's place."""
        if self.size > 1:
            dist.all_reduce(tensor)

    def agree(self, stop: bool, seconds: float) -> tuple[bool, float]:
        """Whether anybody wants to stop, and the first member's clock: rates follow the clock, and must be the same everywhere."""
        if self.size == 1:
            return stop, seconds
        said: Tensor = torch.tensor([float(stop), seconds if self.leads else 0.0], dtype=torch.float64)
        dist.all_reduce(said)
        return bool(said[0] > 0), float(said[1])

    def part(self) -> None:
        """Leave together: what the first has written is on the disk when the others go on."""
        if self.size > 1:
            dist.barrier()
            dist.destroy_process_group()
        for other in self.others:
            other.wait()
