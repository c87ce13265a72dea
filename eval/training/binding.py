"""Rows under headings in; a loss that asks each of them, in a middle layer of the tower, what its heading is, out.

A reader that joins a row to its heading only when a question comes loses nothing when the page is compiled without the page before it:
Kamera's deficit is then not there to be seen. Asked while it reads, it has to carry the heading along. The answer is read as the
eye's pieces are, by a linear map a piece and the text embeddings as the output layer.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn

from .model import Size
from .see import share

# A heading's first pieces; made-up names have two to five.
_PIECES = 4


class HeadingHead(nn.Module):
    """A row's hidden state -> its heading's first pieces."""

    def __init__(self, hidden: int, vocabulary: int) -> None:
        super().__init__()
        self.slots = nn.Linear(hidden, _PIECES * hidden)
        self.norm = nn.LayerNorm(hidden)
        self.bias = nn.Parameter(torch.zeros(_PIECES, vocabulary))

    def loss(self, rows: Tensor, embeddings: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
        """rows [n, hidden], embeddings [vocabulary, hidden], labels [n, 4] (0: none) -> cross-entropy, and which are right, bool [m]."""
        there = labels > 0
        logits = self.norm(self.slots(rows).view(len(rows), _PIECES, -1)) @ embeddings.detach().T + self.bias
        return F.cross_entropy(logits[there], labels[there]), logits[there].argmax(-1) == labels[there]


class Binding:
    """Listens to the tower's middle layer; `head` goes into the checkpoint and is thrown away after training."""

    def __init__(self, tower: Any, size: Size) -> None:
        self.head = HeadingHead(size.hidden, size.vocabulary)
        self._hidden: Tensor | None = None
        tower.layers[size.layers // 2 - 1].register_forward_hook(self._keep)

    def to(self, device: str) -> Binding:
        self.head.to(device)
        return self

    def _keep(self, module: nn.Module, given: Any, result: Any) -> None:
        self._hidden = result[0] if isinstance(result, tuple) else result

    def loss(self, bonds: Sequence[Sequence[tuple[int, list[int]]]], embeddings: Tensor) -> tuple[Tensor, float]:
        """For each sample its (row, pieces of the heading): the loss, and the share of pieces named rightly (nan: no sample has any)."""
        hidden, self._hidden = self._hidden, None
        assert hidden is not None
        wanted = [(sample, row, pieces) for sample, found in enumerate(bonds) for row, pieces in found]
        if not wanted:
            return torch.zeros((), device=hidden.device), float("nan")
        labels = torch.zeros(len(wanted), _PIECES, dtype=torch.long)
        for i, (_, _, pieces) in enumerate(wanted):
            labels[i, : len(pieces)] = torch.tensor(pieces[:_PIECES])
        labels = labels.to(hidden.device)
        rows = hidden[[sample for sample, _, _ in wanted], [row for _, row, _ in wanted]]
        loss, right = self.head.loss(rows, embeddings, labels)
        return loss, share(right)
