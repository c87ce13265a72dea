"""Stage one: random lines of the records world in; an eye that knows the characters, and whose tokens name the pieces of text they hold, out.

Both supervisions are dense and direct. A language-model loss alone taught the eye nothing in hours; naming every patch's characters
teaches it in minutes. Naming the *pieces*, read through the language model's own embeddings, is what lets the model copy: without it,
the tower learned to find the place but not to say what stands there.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn

from eval import world
from eval.records import WIDTH

from .loop import optimisers
from .model import Eye, Size
from .pages import CHARACTER_SLOTS, CHARACTERS, PIECE_SLOTS, Press

DPIS = (72, 120)
# Pages of every height that may come, few lines more often: many small pages make a step cheap.
_HEIGHTS = (1, 2, 3, 4, 6, 8, 12)


class CharacterHead(nn.Linear):
    """Features of a patch -> its three characters. Thrown away after training."""

    def __init__(self, eye: int) -> None:
        super().__init__(eye, CHARACTER_SLOTS * (len(CHARACTERS) + 1))

    def loss(self, features: Tensor, labels: Tensor) -> tuple[Tensor, float]:
        """features [n, eye], labels [n, 3] -> cross-entropy, and the share of characters named rightly."""
        logits = self(features).view(len(features), CHARACTER_SLOTS, -1)
        return F.cross_entropy(logits.flatten(0, 1), labels.flatten()), _right(logits, labels)


class PieceHead(nn.Module):
    """A visual token -> its six pieces of text: a linear map a slot, then the text embeddings themselves as the output layer."""

    def __init__(self, hidden: int, vocabulary: int) -> None:
        super().__init__()
        self.slots = nn.Linear(hidden, PIECE_SLOTS * hidden)
        self.norm = nn.LayerNorm(hidden)
        self.bias = nn.Parameter(torch.zeros(PIECE_SLOTS, vocabulary))

    def loss(self, tokens: Tensor, embeddings: Tensor, labels: Tensor) -> tuple[Tensor, float]:
        """tokens [n, hidden], embeddings [vocabulary, hidden], labels [n, 6] -> cross-entropy, and the share of pieces named rightly.

        Empty slots are four in five; they count little, or "nothing here" would be the cheap answer everywhere. The embeddings get no
        gradient: the eye is to learn the tower's language, not the tower to move to where the eye happens to be.
        """
        logits = self.norm(self.slots(tokens).view(len(tokens), PIECE_SLOTS, -1)) @ embeddings.detach().T + self.bias
        loss = F.cross_entropy(logits.flatten(0, 1), labels.flatten(), reduction="none")
        weight = torch.where(labels.flatten() > 0, 1.0, 0.15)
        return (loss * weight).sum() / weight.sum(), _right(logits, labels)


def _right(logits: Tensor, labels: Tensor) -> float:
    there = labels > 0
    return float((logits.argmax(-1) == labels)[there].float().mean())


@dataclass(frozen=True)
class SeeOptions:
    """batch: pages a step; rate, muon_rate: the peak learning rates of AdamW and Muon."""

    batch: int = 16
    rate: float = 2e-3
    muon_rate: float = 0.02


class See:
    """The stage as the loop runs it. The text tower does not move; its embeddings are only read."""

    name = "see"

    def __init__(self, net: Any, size: Size, press: Press, options: SeeOptions) -> None:
        self.size, self.press, self.options = size, press, options
        self.eye = Eye(net)
        self.embeddings: Tensor = net.model.language_model.embed_tokens.weight
        self.characters = CharacterHead(size.eye)
        self.pieces = PieceHead(size.hidden, size.vocabulary)
        self.modules: dict[str, nn.Module] = {"net": net, "characters": self.characters, "pieces": self.pieces}
        self.trained = [*self.eye.tower.parameters(), *self.characters.parameters(), *self.pieces.parameters()]
        self.optimisers = optimisers(net, self.trained, options.rate, options.muon_rate)
        net.train()

    def step(self, rng: Random) -> tuple[Tensor, dict[str, float]]:
        sheets = []
        for _ in range(self.options.batch):
            lines = [random_line(rng) for _ in range(rng.choice(_HEIGHTS))]
            sheets += self.press.print("\n".join(lines), rng.choice(DPIS))
        patches = torch.from_numpy(np.concatenate([sheet.patches for sheet in sheets]))
        features, tokens = self.eye.look(patches, [sheet.grid for sheet in sheets])
        characters = torch.from_numpy(np.concatenate([sheet.characters for sheet in sheets]))
        pieces = torch.from_numpy(np.concatenate([sheet.pieces for sheet in sheets]))
        seen, characters_right = self.characters.loss(features, characters)
        named, pieces_right = self.pieces.loss(tokens, self.embeddings, pieces)
        return seen + named, {"characters": characters_right, "pieces": pieces_right}


def random_line(rng: Random) -> str:
    """A line as records have it, or, one time in twelve, of any printable characters, so that rare ones are met too."""
    kind = rng.random()
    if kind < 0.15:
        return world.filler(rng)[:WIDTH]
    if kind >= 0.92:
        return "".join(chr(rng.randint(33, 126)) if rng.random() > 0.15 else " " for _ in range(rng.randint(5, WIDTH)))
    attribute = rng.choice(world.ATTRIBUTES)
    what, thing = world.value(rng, attribute), world.entity(rng)
    if kind < 0.7:
        return world.state(rng, thing, attribute, what)[:WIDTH]
    if kind < 0.76:
        return world.sentence_case(thing) + ":"
    return world.row(rng, attribute, what)[:WIDTH]
