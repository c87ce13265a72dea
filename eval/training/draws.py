"""A run's steps in; what each of them learns from out, drawn ahead of time by other processes where some are given.

A page takes ten milliseconds to lay out and draw: little beside a step on a CPU, and more than a GPU takes to learn from it.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any, Protocol

from torch.utils.data import DataLoader, Dataset


class Drawing(Protocol):
    """What a stage draws for a step; it is sent to other processes, so it holds no network."""

    def __call__(self, rng: Random, spent: float, shape: Random | None = None) -> Any:
        """`spent` is how much of the allowance is used up, 0 to 1: a curriculum goes by it.

        `shape` (default: `rng`) is the same generator in every member of a team. What decides how long a step takes is drawn from it: members
        wait for each other at each step's end.
        """
        ...


def generator(seed: int, stage: str, step: int, rank: int = 0, use: str = "draw") -> Random:
    """The generator of one step's draws: nothing random need be stored, for a resumed run draws what the unbroken one would have drawn.

    It is seeded by words. `eval.records` seeds by whole numbers, the card's held-out seed among them: no seed given here can be one of them.
    """
    return Random(f"{seed}/{stage}/{step}/{rank}/{use}")


class _Steps(Dataset[Any]):
    def __init__(self, drawing: Drawing, seed: int, stage: str, rank: int) -> None:
        self.drawing, self.seed, self.stage, self.rank = drawing, seed, stage, rank

    def __getitem__(self, at: tuple[int, float]) -> Any:
        step, spent = at
        return self.drawing(generator(self.seed, self.stage, step, self.rank), spent, generator(self.seed, self.stage, step, use="shape"))


def draw(drawing: Drawing, seed: int, stage: str, rank: int, steps: Iterator[tuple[int, float]], hands: int = 0) -> Iterator[Any]:
    """One item for each (step, spent) that `steps` gives, in their order; `hands` is how many processes draw ahead (0: none, draw when asked)."""
    found = _Steps(drawing, seed, stage, rank)
    if not hands:
        return (found[at] for at in steps)
    # Spawned: a fork of a process whose torch has threads may hang.
    loader: DataLoader[Any] = DataLoader(
        found, batch_size=None, sampler=_Endless(steps), num_workers=hands, collate_fn=_as_it_is, multiprocessing_context="spawn"
    )
    return iter(loader)


class _Endless:
    """A sampler without a length."""

    def __init__(self, steps: Iterator[tuple[int, float]]) -> None:
        self.steps = steps

    def __iter__(self) -> Iterator[tuple[int, float]]:
        return self.steps


def _as_it_is(item: Any) -> Any:
    return item
