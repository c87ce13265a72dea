"""Stage two: lessons and an eye that sees in; a reader that answers out.

The eye's first half is frozen, so each page is looked at once and its features serve many steps; the merger and the tower move. Joint
training of eye and tower made reading worse and steps many times dearer.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn

from . import guide
from .lessons import Course, Lesson, Transcript, draw_lesson, transcribe
from .loop import optimisers
from .model import Eye, Size, positions
from .pages import Press
from .see import PieceHead, share
from .tokenizer import Mark

# Words of a text context count less than words of an answer: they are many, and half of them cannot be foreseen.
_CONTEXT_WEIGHT = 0.3


@dataclass(frozen=True)
class AnswerOptions:
    """batch: lessons a step; reuse: steps a lesson serves, on average; rows: most rows of a step (0: no limit); guidance, naming: weights
    of the guide's and the pieces' losses beside the answers' own; rate, muon_rate: the peak learning rates of AdamW and Muon.
    """

    batch: int = 16
    reuse: int = 3
    rows: int = 0
    guidance: float = 0.5
    naming: float = 0.5
    rate: float = 2e-3
    muon_rate: float = 0.02
    course: Course = field(default_factory=Course)


class Answer:
    """The stage as the loop runs it. A resumed run starts with an empty pool of lessons: it goes on, but not bit for bit."""

    name = "answer"

    def __init__(self, net: Any, size: Size, press: Press, options: AnswerOptions) -> None:
        self.net, self.size, self.press, self.options = net, size, press, options
        self.eye = Eye(net)
        self.tower = net.model.language_model
        self.guide = guide.install(self.tower)
        self.pieces = PieceHead(size.hidden, size.vocabulary)
        self.modules: dict[str, nn.Module] = {"net": net, "pieces": self.pieces}
        self.trained = [
            *self.tower.parameters(),
            *net.lm_head.parameters(),
            *self.eye.second_half(),
            *self.pieces.parameters(),
        ]
        self.optimisers = optimisers(self.modules.values(), self.trained, options.rate, options.muon_rate)
        self.pool: list[Lesson] = []
        net.train()

    def step(self, rng: Random) -> tuple[Tensor, dict[str, float]]:
        lessons = self._choose(rng)
        transcripts = [transcribe(rng, lesson, self.options.course, self.press.vocabulary) for lesson in lessons]
        batch = _Batch.of(transcripts, rng, self.options.course.gap)
        embeddings = self.tower.embed_tokens(batch.ids)
        named, pieces_right = torch.zeros(()), math.nan
        features = [feature for lesson in lessons for feature in lesson.features]
        if features:
            tokens = self.eye.merge(torch.cat(features).float())
            embeddings = embeddings.masked_scatter((batch.ids == Mark.IMAGE)[..., None], tokens)
            labels = torch.from_numpy(np.concatenate([sheet.pieces for lesson in lessons for sheet in lesson.flat()]))
            # A third of the tokens is enough to keep the names; all of them would cost as much as the tower.
            some = torch.randperm(len(tokens))[: max(1, len(tokens) // 3)]
            named, right_pieces = self.pieces.loss(tokens[some], self.tower.embed_tokens.weight, labels[some])
            pieces_right = share(right_pieces, labels[some])
        self.guide.aim(*batch.aims(transcripts))
        hidden = self.tower(inputs_embeds=embeddings, position_ids=batch.positions, use_cache=False).last_hidden_state
        # Row i predicts what stands at row i + 1.
        asked = batch.targets[:, 1:] != -100
        logits = self.net.lm_head(hidden[:, :-1][asked])
        wanted, is_answer = batch.targets[:, 1:][asked], batch.answers[:, 1:][asked]
        weight = torch.where(is_answer, 1.0, _CONTEXT_WEIGHT)
        said = (F.cross_entropy(logits, wanted, reduction="none") * weight).sum() / weight.sum()
        right = (logits.argmax(-1) == wanted).float()
        as_text = torch.tensor([lesson.sheets is None for lesson in lessons])[:, None].expand_as(asked)[asked]
        loss = said + self.options.guidance * self.guide.loss() + self.options.naming * named
        mass = self.guide.mass
        return loss, {
            "text": _mean(right[as_text & is_answer]),
            "image": _mean(right[~as_text & is_answer]),
            "mass": sum(mass) / len(mass) if mass else math.nan,
            "pieces": pieces_right,
        }

    def _choose(self, rng: Random) -> list[Lesson]:
        """Some new lessons into the pool; out of it a batch of like length, for the shorter ones are padded to the longest."""
        options = self.options
        new = [draw_lesson(rng, options.course, self.press) for _ in range(max(1, options.batch // options.reuse))]
        self._look(new)
        self.pool += new
        near = rng.sample(self.pool, min(options.batch * 3, len(self.pool)))
        near.sort(key=lambda lesson: lesson.span(options.course))
        first = rng.randint(0, max(0, len(near) - options.batch))
        near = near[first : first + options.batch]
        while options.rows and len(near) > 1 and len(near) * near[-1].span(options.course) > options.rows:
            near.pop(0)
        if len(self.pool) > options.batch * options.reuse * 8:
            del self.pool[: options.batch * options.reuse * 4]
        return near

    @torch.no_grad()
    def _look(self, lessons: Sequence[Lesson]) -> None:
        sheets = [(lesson, sheet) for lesson in lessons for sheet in lesson.flat()]
        if not sheets:
            return
        patches = torch.from_numpy(np.concatenate([sheet.patches for _, sheet in sheets]))
        features, _ = self.eye.look(patches, [sheet.grid for _, sheet in sheets])
        # Half precision halves the pool's memory; the features are normalised, so nothing is lost that training would notice.
        parts = torch.split(features.half(), [len(sheet.patches) for _, sheet in sheets])
        for (lesson, _), feature in zip(sheets, parts, strict=True):
            lesson.features.append(feature)


@dataclass(frozen=True)
class _Batch:
    """Transcripts padded on the right: ids, targets, answers [batch, length]; positions [3, batch, length]."""

    ids: Tensor
    targets: Tensor
    answers: Tensor
    positions: Tensor

    @classmethod
    def of(cls, transcripts: Sequence[Transcript], rng: Random, gap: int) -> _Batch:
        shape = len(transcripts), max(len(t.ids) for t in transcripts)
        batch = cls(
            torch.full(shape, Mark.PAD),
            torch.full(shape, -100),
            torch.zeros(shape, dtype=torch.bool),
            torch.zeros((3, *shape), dtype=torch.long),
        )
        for i, transcript in enumerate(transcripts):
            length = len(transcript.ids)
            batch.ids[i, :length] = torch.tensor(transcript.ids)
            batch.targets[i, :length] = torch.tensor(transcript.targets)
            batch.answers[i, :length] = torch.tensor(transcript.answers)
            batch.positions[:, i, :length] = _with_gaps(transcript, rng, gap)
        return batch

    def aims(self, transcripts: Sequence[Transcript]) -> tuple[Tensor, Tensor, Tensor]:
        """As `Guide.aim` takes them."""
        aims = [(i, row, rows) for i, transcript in enumerate(transcripts) for row, rows in transcript.aims]
        target = torch.zeros(len(aims), self.ids.shape[1], dtype=torch.bool)
        for n, (_, _, rows) in enumerate(aims):
            target[n, rows] = True
        return torch.tensor([i for i, _, _ in aims], dtype=torch.long), torch.tensor([row for _, row, _ in aims], dtype=torch.long), target


def _with_gaps(transcript: Transcript, rng: Random, gap: int) -> Tensor:
    """Positions [3, length]; in half of the lessons pages move on by up to `gap`, so that far positions are trained on short rows."""
    found = positions(transcript.segments)
    if not gap or rng.random() < 0.5:
        return found
    row = 0
    for before, segment in zip([0, *transcript.segments], transcript.segments[:-1], strict=False):
        row += segment if isinstance(segment, int) else segment[0] * segment[1]
        # Behind the prefix, a page of text, or the mark that closes an image: never inside a page.
        if isinstance(segment, int) and (segment > 1 or isinstance(before, tuple)):
            found[:, row:] += rng.choice((0, 0, rng.randint(0, gap)))
    return found


def _mean(values: Tensor) -> float:
    return float(values.mean()) if len(values) else math.nan
