"""Rows of a batch with the rows they should look at in; losses on attention heads' mass out.

Unguided, a small language model sat for hours on a plateau where it answered with the right *kind* of value. Guided, one head of each of
the last layers is drawn to the tokens that hold the next piece of the answer, and the plateau is gone within the hour. Others can be drawn each to one
place of such a token, and, in the layers before, from a value on a page to what it belongs to.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import ALL_MASK_ATTENTION_FUNCTIONS
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

from .pages import MARGIN

NAME = "guided"


@dataclass(frozen=True)
class Spots:
    """Where in visual tokens the next pieces stand, all [m]: which target it is of (one on a border has two, one in text none), the token's row,
    its half (0 upper, 1 lower), and across, 0 to 1 and a margin.
    """

    aim: Tensor
    cell: Tensor
    half: Tensor
    across: Tensor


@dataclass(frozen=True)
class Ties:
    """What values on page images belong to. batch, row, half [n]: a visual token of a value, and the half of it that the value is in (0 upper, 1
    lower; -1: a row that predicts an answer); subject, attribute: bool [n, length], the rows that show what the value is said of, or asked by.
    """

    batch: Tensor
    row: Tensor
    half: Tensor
    subject: Tensor
    attribute: Tensor


@dataclass
class Guide:
    """What the guided layers of one network share: this batch's targets, and what they have found.

    batch, row: [n], which row of which sample predicts a piece of an answer; target: bool [n, length], the rows that hold that piece; spots:
    where in them. `places`: how many heads beside the first are each drawn to one place of a token; 0: none. shares: by guided layer, what the
    finding head gives to each target, [n].
    """

    head: int = 0
    places: int = 0
    batch: Tensor | None = None
    row: Tensor | None = None
    target: Tensor | None = None
    spots: Spots | None = None
    losses: list[Tensor] = field(default_factory=list)
    shares: list[Tensor] = field(default_factory=list)
    placed: list[Tensor] = field(default_factory=list)
    put: list[float] = field(default_factory=list)
    ties: Ties | None = None
    tied: list[Tensor] = field(default_factory=list)
    bound: list[float] = field(default_factory=list)

    def tie(self, ties: Ties | None) -> None:
        """Set what the binding heads of the coming forward are drawn to; None: nothing."""
        self.ties, self.tied, self.bound = ties, [], []

    def binding(self) -> Tensor:
        """Mean over the binding heads of -log(mass on what their value belongs to); 0 where no image states anything."""
        return torch.stack(self.tied).mean() if self.tied else torch.zeros(())

    def aim(self, batch: Tensor, row: Tensor, target: Tensor, spots: Spots | None = None) -> None:
        """Set the targets of the coming forward, and forget the last one's losses."""
        self.batch, self.row, self.target, self.spots = batch, row, target, spots
        self.losses, self.shares, self.placed, self.put = [], [], [], []

    @property
    def mass(self) -> list[float]:
        """By guided layer, the mean of what the finding head gives to its targets."""
        return [float(share.mean()) for share in self.shares]

    def loss(self) -> Tensor:
        """Mean over the guided layers of -log(mass on the target rows); 0 where the batch had no targets."""
        return torch.stack(self.losses).mean() if self.losses else torch.zeros(())

    def placing(self) -> Tensor:
        """Mean over the two placing layers of the places' heads' loss; 0 where no image had a target."""
        return torch.stack(self.placed).mean() if self.placed else torch.zeros(())


def install(language_model: Any, last: int = 2, places: int = 0, ties: bool = False) -> Guide:
    """Let the last layers of a GLM-4V text model be guided; returns the guide they listen to. The forward's results do not change.

    A visual token holds several pieces, and one head brings all of them or none. With `places`, heads 1 to `places` of the last layer but
    one are drawn to a token only if the next piece stands at their place across its upper half, those of the last layer for the lower
    half; else they look at the first row, where nothing is to be had. So each need carry one piece. With `ties`, the last two heads of the two
    layers in front of the guided ones are drawn to subjects and to attributes, one head from each half of a token. Raises ValueError for a model that has
    no such layers.
    """
    ALL_ATTENTION_FUNCTIONS.register(NAME, _attend)
    ALL_MASK_ATTENTION_FUNCTIONS.register(NAME, ALL_MASK_ATTENTION_FUNCTIONS["sdpa"])
    guide = Guide(places=places)
    for layer in language_model.layers[-last:]:
        layer.self_attn.guide = guide
    for half, layer in enumerate(language_model.layers[-2:] if places else ()):
        layer.self_attn.placed_half = half
    if ties:
        if len(language_model.layers) < last + 2:
            raise ValueError(
                f"binding needs two layers in front of the {last} that look for answers, {last + 2} layers in all: give --layers, or no --binding"
            )
        for part, layer in zip(("subject", "attribute"), language_model.layers[-last - 2 : -last], strict=True):
            layer.self_attn.guide, layer.self_attn.ties = guide, part
    language_model.config._attn_implementation = NAME
    return guide


def _log_mass(q: Tensor, k: Tensor, guide: Guide, sample: int, scaling: float) -> Tensor:
    """The log of what one head gives to the target rows of one sample; q, k [length, d] -> [rows of the sample that predict]."""
    assert guide.batch is not None
    assert guide.row is not None
    assert guide.target is not None
    mine = guide.batch == sample
    return _log_share(q, k, guide.row[mine], guide.target[mine], scaling)


def _log_share(q: Tensor, k: Tensor, row: Tensor, target: Tensor, scaling: float) -> Tensor:
    """The log of what each of some rows [n] gives to its targets, bool [n, length]; q, k [length, d] -> [n]."""
    scores = (q[row] @ k.T * scaling).float()
    later = torch.arange(len(k), device=q.device)[None] > row[:, None]
    log_share = scores.masked_fill(later, float("-inf")).log_softmax(-1)
    return log_share.masked_fill(~target, float("-inf")).logsumexp(-1)


def _placing(q: Tensor, k: Tensor, guide: Guide, half: int, sample: int, scaling: float) -> tuple[Tensor, Tensor] | None:
    """Log masses of the places' heads of one sample where they should be: (on each of the a pieces that this half's heads are to bring [a], on the
    first row by each head for each piece that it is not to bring [b]).

    q [heads, length, d], k [kv_heads, length, d]; None where the sample's targets are text.
    """
    assert guide.batch is not None
    assert guide.row is not None
    assert guide.spots is not None
    spots, places = guide.spots, guide.places
    mine = guide.batch[spots.aim] == sample
    if not bool(mine.any()):
        return None
    # Of the sample's n targets in images, `of` [m] tells which one a spot belongs to.
    aims, of = torch.unique(spots.aim[mine], return_inverse=True)
    row = guide.row[aims]
    heads = torch.arange(1, 1 + places, device=q.device)
    keys = k[heads // (len(q) // len(k))]
    scores = (q[heads][:, row] @ keys.transpose(1, 2) * scaling).float()
    later = torch.arange(k.shape[1], device=q.device)[None] > row[:, None]
    log_share = scores.masked_fill(later, float("-inf")).log_softmax(-1)
    # How far each head's place is from the piece, in places: a piece between two is looked at by the nearer one, by the other as it likes.
    at = (spots.across[mine] + MARGIN) / (1 + 2 * MARGIN) * (places - 1)
    away = (at[None] - (heads - 1)[:, None]).abs()
    here = (spots.half[mine] == half)[None]
    wanted, near = here & (away <= 0.5), here & (away <= 0.7)
    # A piece on a border is brought by the last place of one token or the first of the next, or by both in part.
    share = torch.zeros(places, len(aims), device=q.device).index_add(1, of, log_share[:, of, spots.cell[mine]].exp() * wanted)
    asked = torch.zeros_like(share).index_add(1, of, wanted.float()).any(0)
    elsewhere = torch.zeros_like(share).index_add(1, of, near.float()) == 0
    return share.sum(0)[asked].clamp(min=1e-9, max=1).log(), log_share[..., 0][elsewhere]


def _tying(q: Tensor, k: Tensor, ties: Ties, part: str, scaling: float) -> Tensor:
    """The log masses that values' tokens give to what they belong to: by the last head but one those in an upper half, by the last those in a lower,
    by both an answer's rows: what is asked is then put as what is stated.

    q [batch, heads, length, d], k [batch, kv_heads, length, d] -> [n of `ties` that have a target].
    """
    targets: Tensor = getattr(ties, part)
    found = [torch.zeros(0, device=q.device)]
    for sample in range(len(q)):
        for half in (0, 1):
            mine = (ties.batch == sample) & (ties.half != 1 - half) & targets.any(1)
            head = q.shape[1] - 2 + half
            keys = k[sample, head // (q.shape[1] // k.shape[1])]
            found.append(_log_share(q[sample, head], keys, ties.row[mine], targets[mine], scaling))
    return torch.cat(found)


def _attend(module: nn.Module, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, **options: Any) -> tuple[Tensor, Any]:
    """Attention as it is, and beside it the guide's losses; q [batch, heads, length, d], k [batch, kv_heads, length, d], both rotated."""
    guide: Any = getattr(module, "guide", None)
    if (binds := getattr(module, "ties", None)) is not None:
        if module.training and guide.ties is not None and len(tied := _tying(q, k, guide.ties, binds, float(options["scaling"]))):
            guide.tied.append(-tied.clamp(min=-20).mean())
            guide.bound.append(float(tied.detach().exp().mean()))
    elif guide is not None and module.training and guide.row is not None and len(guide.row):
        kv_head = guide.head // (q.shape[1] // k.shape[1])
        # Sample by sample: a copy of the keys for each row that looks would take a fifth of the whole step.
        samples = guide.batch.unique().tolist()
        log_mass = torch.cat([_log_mass(q[at, guide.head], k[at, kv_head], guide, at, float(options["scaling"])) for at in samples])
        # A head that is far off has a vanishing mass; past e^-20 its log would swamp the rest of the loss.
        guide.losses.append(-log_mass.clamp(min=-20).mean())
        guide.shares.append(log_mass.detach().exp())
        if guide.spots is not None and (half := getattr(module, "placed_half", None)) is not None:
            parts = [part for at in samples if (part := _placing(q[at], k[at], guide, half, at, float(options["scaling"])))]
            if parts:
                on, off = (torch.cat(logs) for logs in zip(*parts, strict=True))
                # Most heads should look away from most pieces: both sides count alike, however many they are.
                guide.placed += [-side.clamp(min=-20).mean() for side in (on, off) if len(side)]
                if len(on):
                    guide.put.append(float(on.detach().exp().mean()))
    attended: tuple[Tensor, Any] = sdpa_attention_forward(module, q, k, v, mask, **options)
    return attended
