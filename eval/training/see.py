"""Stage one: random lines of the records world in; an eye that knows the characters, and whose tokens name the pieces of text they hold, out.

Both supervisions are dense and direct. A language-model loss alone taught the eye nothing in hours; naming every patch's characters
teaches it in minutes. Naming the *pieces*, read through the language model's own embeddings, is what lets the model copy: without it,
the tower learned to find the place but not to say what stands there.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn

from eval import world
from eval.records import WIDTH

from . import exam, ground
from .loop import optimisers
from .model import MERGE, Eye, Size
from .pages import CHARACTERS, MARGIN, Marks, Press, Sheet

# Maps across a patch and across a visual token; in between they are interpolated.
_PLACES_OF_PATCH, _PLACES_OF_TOKEN = 4, 6


@dataclass(frozen=True)
class Asked:
    """Marks as tensors, all [m]; see `pages.Marks`."""

    where: Tensor
    half: Tensor
    across: Tensor
    label: Tensor

    @classmethod
    def of(cls, marks: Marks, device: torch.device) -> Asked:
        return cls(*(torch.from_numpy(found).to(device) for found in (marks.where, marks.half, marks.across, marks.label)))


class PlaceHead(nn.Module):
    """What a patch or a visual token shows at a place within it: linear maps at some places across, and between two of them their mean,
    weighted by how near each is. Thrown away after training.
    """

    def __init__(self, width: int, halves: int, places: int, out: int) -> None:
        super().__init__()
        self.shape = (halves, places, out)
        self.maps = nn.Linear(width, halves * places * out)

    def forward(self, features: Tensor, asked: Asked) -> Tensor:
        """features [n, width] -> [m, out]. Each map is given only what is asked of it: a token shows some two pieces, and has twelve maps."""
        halves, places, out = self.shape
        at = (asked.across + MARGIN) / (1 + 2 * MARGIN) * (places - 1)
        left = at.long().clamp(0, places - 2)
        share = (at - left).to(features.dtype)
        shares = torch.cat([1 - share, share])
        maps = torch.cat([asked.half * places + left, asked.half * places + left + 1])
        order = maps.argsort(stable=True)
        counts = torch.bincount(maps, minlength=halves * places).tolist()
        given = torch.split(features[asked.where.repeat(2)[order]], counts)
        weights, biases = self.maps.weight.view(-1, out, features.shape[-1]), self.maps.bias.view(-1, out)
        shown = torch.cat([F.linear(one, weight, bias) for one, weight, bias in zip(given, weights, biases, strict=True)])
        shown = shown * shares[order, None]
        there = torch.arange(len(left), device=left.device).repeat(2)[order]
        return torch.zeros(len(left), out, dtype=shown.dtype, device=shown.device).index_add(0, there, shown)


class CharacterHead(PlaceHead):
    """Features of a patch and places in it -> the characters there."""

    def __init__(self, eye: int) -> None:
        super().__init__(eye, 1, _PLACES_OF_PATCH, len(CHARACTERS) + 1)

    def loss(self, features: Tensor, asked: Asked) -> tuple[Tensor, Tensor]:
        """features [n, eye] -> cross-entropy, and which characters are named rightly, bool [m]."""
        logits = self(features, asked)
        return F.cross_entropy(logits, asked.label), logits.argmax(-1) == asked.label


class PieceHead(nn.Module):
    """Visual tokens and places in them -> the pieces of text there, through the text embeddings themselves as the output layer."""

    def __init__(self, hidden: int, vocabulary: int) -> None:
        super().__init__()
        self.places = PlaceHead(hidden, MERGE, _PLACES_OF_TOKEN, hidden)
        self.norm = nn.LayerNorm(hidden)
        self.bias = nn.Parameter(torch.zeros(vocabulary))

    def loss(self, tokens: Tensor, embeddings: Tensor, asked: Asked) -> tuple[Tensor, Tensor]:
        """tokens [n, hidden], embeddings [vocabulary, hidden] -> cross-entropy, and which pieces are named rightly, bool [m].

        The embeddings get no gradient: the eye is to learn the tower's language, not the tower to move to where the eye happens to be.
        """
        logits = self.norm(self.places(tokens, asked)) @ embeddings.detach().T + self.bias
        return F.cross_entropy(logits, asked.label), logits.detach().argmax(-1) == asked.label


def share(right: Tensor) -> float:
    """The share that is right; nan of none."""
    return float(right.float().mean())


def asked_of(sheets: Sequence[Sheet], device: torch.device) -> tuple[Asked, Asked]:
    """The characters and the pieces of several sheets, as of one."""
    lengths = [len(sheet.patches) for sheet in sheets]
    characters = Marks.join([sheet.characters for sheet in sheets], lengths)
    pieces = Marks.join([sheet.pieces for sheet in sheets], [length // MERGE**2 for length in lengths])
    return Asked.of(characters, device), Asked.of(pieces, device)


@dataclass(frozen=True)
class SeeOptions:
    """batch: pages a step; dpis: what pages are drawn at, each as often as any other (the small page is the harder one, and costs a third); wide:
    share of lines on wider ground; others: share of pages in the press's other styles, if it has any; rate, muon_rate: the peak learning
    rates of AdamW and Muon; still: the eye does not move, only the heads do; exam: pages of each DPI in an examination.

    A reader that is taken up again has lost its heads. Grown on a moving eye, their first gradients would spoil it.
    """

    batch: int = 16
    dpis: tuple[int, ...] = (72, 72, 72, 120, 120)
    wide: float = 0.0
    others: float = 0.2
    still: bool = False
    rate: float = 2e-3
    muon_rate: float = 0.02
    exam: int = 12


@dataclass(frozen=True)
class Pages:
    """Draws a step's pages, each with its DPI."""

    press: Press
    options: SeeOptions

    def __call__(self, rng: Random, spent: float, shape: Random | None = None) -> list[tuple[Sheet, int]]:
        shape = shape or rng
        pages = []
        for dpi in evenly(shape, self.options.dpis, self.options.batch):
            lines = [random_line(rng, self.options.wide) for _ in range(height(shape, self.press.style.lines))]
            style = rng.choice(self.press.others) if self.press.others and rng.random() < self.options.others else None
            pages += [(sheet, dpi) for sheet in self.press.print("\n".join(lines), dpi, style)]
        return pages


class See:
    """The stage as the loop runs it. The text tower does not move; its embeddings are only read."""

    memory = 0

    def __init__(self, net: Any, size: Size, press: Press, options: SeeOptions, device: str = "cpu", like: Any = None) -> None:
        """`like`: another reader's network of the same width. This one's visual tokens are drawn towards that one's, so that its tower reads them."""
        self.size, self.press, self.options, self.device = size, press, options, torch.device(device)
        self.name = "heads" if options.still else "see"
        self.like = Eye(like.to(device).eval()) if like else None
        self.drawing = Pages(press, options)
        self.eye = Eye(net.to(device))
        self.embeddings: Tensor = net.model.language_model.embed_tokens.weight
        self.characters = CharacterHead(size.eye).to(device)
        self.pieces = PieceHead(size.hidden, size.vocabulary).to(device)
        self.modules: dict[str, nn.Module] = {"net": net, "characters": self.characters, "pieces": self.pieces}
        heads = [*self.characters.parameters(), *self.pieces.parameters()]
        self.trained = heads if options.still else [*self.eye.tower.parameters(), *heads]
        self.optimisers = optimisers(self.modules.values(), self.trained, options.rate, options.muon_rate)
        self._exam: list[list[tuple[Sheet, int]]] = []
        net.train()

    def take(self, drawn: list[tuple[Sheet, int]]) -> None:
        """Nothing is kept from step to step."""

    def learn(self, drawn: list[tuple[Sheet, int]], rng: Random, shape: Random | None = None) -> tuple[Tensor, dict[str, float]]:
        return self._look_and_name(drawn)

    @torch.no_grad()
    def exam(self) -> dict[str, float]:
        """Shares of characters and pieces named rightly on whole pages of records, DPI by DPI."""
        if not self._exam:
            self._exam = [exam.pages(dpi, self.options.exam, self.press) for dpi in sorted(set(self.options.dpis))]
        marks: dict[str, float] = {}
        for leaves in self._exam:
            _, figures = self._look_and_name(leaves)
            marks |= {name: mark for name, mark in figures.items() if "loss" not in name and not math.isnan(mark)}
        return marks

    def _look_and_name(self, drawn: list[tuple[Sheet, int]]) -> tuple[Tensor, dict[str, float]]:
        sheets = [sheet for sheet, _ in drawn]
        patches = torch.from_numpy(np.concatenate([sheet.patches for sheet in sheets])).to(self.device)
        with torch.set_grad_enabled(torch.is_grad_enabled() and not self.options.still):
            features, tokens = self.eye.look(patches, [sheet.grid for sheet in sheets])
        characters, pieces = asked_of(sheets, self.device)
        seen, characters_right = self.characters.loss(features, characters)
        named, pieces_right = self.pieces.loss(tokens, self.embeddings, pieces)
        figures = {"characters loss": float(seen.detach()), "pieces loss": float(named.detach())}
        unlike = torch.zeros((), device=self.device)
        if self.like:
            with torch.no_grad():
                _, wanted = self.like.look(patches, [sheet.grid for sheet in sheets])
            # The share of the other's variance that is missed: 1 for a constant, 0 for the very tokens.
            unlike = F.mse_loss(tokens, wanted) / wanted.var(0).mean()
            figures["unlike loss"] = float(unlike.detach())
        of_patch = torch.tensor([dpi for sheet, dpi in drawn for _ in sheet.patches], device=self.device)
        for dpi in sorted(set(self.options.dpis)):
            figures[f"characters {dpi}"] = share(characters_right[of_patch[characters.where] == dpi])
            figures[f"pieces {dpi}"] = share(pieces_right[of_patch[:: MERGE**2][pieces.where] == dpi])
        return seen + named + unlike, figures


def evenly(rng: Random, choices: Sequence[int], n: int) -> list[int]:
    """n of the choices in random order, each as often as any other, or once more."""
    whole, rest = divmod(n, len(choices))
    found = [*choices] * whole + rng.sample(choices, rest)
    rng.shuffle(found)
    return found


def height(rng: Random, most: int) -> int:
    """Lines of a page, 1 to `most`, the more the likelier: a low page is mostly margin, and a step of them teaches little for its time."""
    return max(rng.randint(1, most), rng.randint(1, most))


def random_line(rng: Random, wide: float = 0.0) -> str:
    """A line as records have it, one of values and names alone, or, one time in twelve, of any printable characters, so that rare ones are met.

    `wide` is the share of lines on wider ground (`ground.py`).

    The words around a value are soon known, and a patch costs the same whatever it shows: lines of values teach more for their time.
    """
    if wide and rng.random() < wide:
        return ground.sentence(rng)
    kind = rng.random()
    if kind < 0.1:
        return world.filler(rng)[:WIDTH]
    if kind >= 0.92:
        return "".join(chr(rng.randint(33, 126)) if rng.random() > 0.15 else " " for _ in range(rng.randint(5, WIDTH)))
    if kind < 0.4:
        return values_line(rng)
    attribute = rng.choice(world.ATTRIBUTES)
    what, thing = world.value(rng, attribute), world.entity(rng)
    if kind < 0.75:
        return world.state(rng, thing, attribute, what)[:WIDTH]
    if kind < 0.8:
        return world.sentence_case(thing) + ":"
    return world.row(rng, attribute, what)[:WIDTH]


def values_line(rng: Random) -> str:
    """Values and names to the line's end: "Dupu Hiovin, $23,890. the green castle: ZK-3920"."""
    words = ""
    while len(words) < WIDTH:
        thing = world.entity(rng) if rng.random() < 0.3 else world.value(rng, rng.choice(world.ATTRIBUTES))
        words += (rng.choice((" ", ", ", ". ", ": ", "'s ")) if words else rng.choice(("", "  "))) + thing
    return words[:WIDTH].rstrip()
