"""Gradients of weight matrices in; orthogonalised momentum steps out (Muon, K. Jordan et al., 2024)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from .team import Team

# Coefficients of the quintic Newton-Schulz step, from Muon's description: five steps bring all singular values near 1.
_A, _B, _C = 3.4445, -4.7750, 2.0315
_STEPS = 5


def orthogonal(matrix: Tensor) -> Tensor:
    """The matrix [m, n] with its singular values drawn towards 1 (about 0.7 to 1.2); its singular vectors stay."""
    tall = matrix.shape[0] > matrix.shape[1]
    # The Gram matrix is the smaller of the two, so work on the wide form.
    x: Tensor = matrix.T if tall else matrix
    x = x / (x.norm() + 1e-7)
    for _ in range(_STEPS):
        gram = x @ x.T
        x = _A * x + (_B * gram + _C * gram @ gram) @ x
    return x.T if tall else x


class Muon(torch.optim.Optimizer):
    """Muon in fp32. torch's own works in bf16, which a CPU without bf16 units emulates: measured 300 times slower.

    Members of a `team` hold the same gradients: each makes the steps of some matrices and gets the others' from the others.
    """

    def __init__(self, params: Iterable[nn.Parameter], lr: float, momentum: float = 0.95, weight_decay: float = 0.01) -> None:
        super().__init__(params, {"lr": lr, "momentum": momentum, "weight_decay": weight_decay})
        self.team = Team()

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:  # type: ignore[override]
        """One step on every matrix that has a gradient; `closure` is not called."""
        for group in self.param_groups:
            moved = [p for p in group["params"] if p.grad is not None]
            if not moved:
                continue
            looked_ahead = []
            for p in moved:
                momentum = self.state[p].setdefault("momentum", torch.zeros_like(p))
                momentum.lerp_(p.grad, 1 - group["momentum"])
                looked_ahead.append(p.grad.lerp(momentum, group["momentum"]))
            makers = _makers([p.shape for p in moved], self.team.size)
            mine = [maker == self.team.rank for maker in makers]
            found = [orthogonal(x) if own else torch.zeros_like(x) for x, own in zip(looked_ahead, mine, strict=True)]
            flat = torch.cat([direction.flatten() for direction in found])
            self.team.add(flat)
            for p, direction in zip(moved, torch.split(flat, [p.numel() for p in moved]), strict=True):
                # A tall matrix's orthogonal step moves each output less: make up for it.
                scale = max(1.0, p.shape[0] / p.shape[1]) ** 0.5
                p.mul_(1 - group["lr"] * group["weight_decay"]).add_(direction.view_as(p), alpha=-group["lr"] * scale)


def _makers(shapes: Sequence[Sequence[int]], members: int) -> list[int]:
    """Which member makes each matrix's step, so that all have about as much to do."""
    costs = [min(shape) ** 2 * max(shape) for shape in shapes]
    load, makers = [0] * members, [0] * len(shapes)
    for i in sorted(range(len(shapes)), key=lambda i: -costs[i]):
        makers[i] = load.index(min(load))
        load[makers[i]] += costs[i]
    return makers
