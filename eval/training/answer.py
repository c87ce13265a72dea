"""Stage two: lessons and an eye that sees in; a reader that answers out.

The eye's first half is frozen, so each page is looked at once and its features serve many steps; the merger and the tower move. With
`moving` the whole eye learns on, too, and steps are some three times dearer; without the naming loss that made reading worse.
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

from eval.records import ABSENT, Query
from eval.world import NOT_STATED

from . import exam, guide
from .batch import Batch, with_gaps
from .curriculum import Curriculum
from .lessons import Course, Lesson, draw_lesson, questions, transcribe
from .loop import optimisers
from .model import Eye, Size, positions
from .pages import Press, Sheet
from .see import CharacterHead, PieceHead, asked_of, share
from .tokenizer import Mark

# The pool holds this many batches of lessons.
_POOL = 8
# Words of a text context count less than words of an answer: they are many, and half of them cannot be foreseen.
_CONTEXT_WEIGHT = 0.3
# Peak rates of AdamW and Muon for what begins from nothing.
_FRESH = 2e-3, 0.02


@dataclass(frozen=True)
class AnswerOptions:
    """batch: lessons a step; reuse: steps a lesson serves, on average; rows: most rows of a step (0: no limit); guidance, placing, binding,
    naming: weights of the guide's three losses (`guide.py`), and of the characters' and pieces', beside the answers' own (0: none); moving:
    the eye's first half moves, too; moving_pages: it learns from contexts of that many pages at most, longer ones it only looks at; rate,
    muon_rate: the peak learning rates of AdamW and Muon; exam: questions of each paper of an examination.
    """

    batch: int = 16
    reuse: int = 3
    rows: int = 0
    guidance: float = 0.5
    placing: float = 0.0
    naming: float = 0.5
    binding: float = 0.0
    moving: bool = False
    moving_pages: int = 2
    rate: float = _FRESH[0]
    muon_rate: float = _FRESH[1]
    exam: int = 24
    curriculum: Curriculum = field(default_factory=lambda: Curriculum.of(Course()))

    @property
    def fresh(self) -> int:
        """New lessons a step."""
        return max(1, self.batch // self.reuse)


@dataclass(frozen=True)
class Lessons:
    """Draws a step's new lessons."""

    press: Press
    options: AnswerOptions

    def __call__(self, rng: Random, spent: float, shape: Random | None = None) -> list[Lesson]:
        shape, curriculum = shape or rng, self.options.curriculum
        return [draw_lesson(rng, curriculum.pick(shape, spent), self.press, shape) for _ in range(self.options.fresh)]


class Answer:
    """The stage as the loop runs it. The pool holds the last steps' lessons: a resumed run draws them again."""

    name = "answer"

    def __init__(self, net: Any, size: Size, press: Press, options: AnswerOptions, device: str = "cpu") -> None:
        self.net, self.size, self.press, self.options, self.device = net.to(device), size, press, options, torch.device(device)
        self.drawing = Lessons(press, options)
        self.memory = -(-_POOL * options.batch // options.fresh)
        self.eye = Eye(net)
        self.tower = net.model.language_model
        self.guide = guide.install(self.tower, max(2, size.layers // 2), size.heads - 2 if options.placing else 0, bool(options.binding))
        self.pieces = PieceHead(size.hidden, size.vocabulary).to(device)
        # Of a still eye it stays as it is: a later course may let the eye move.
        self.characters = CharacterHead(size.eye).to(device)
        self.modules: dict[str, nn.Module] = {"net": net, "pieces": self.pieces, "characters": self.characters}
        self.trained = [
            *self.tower.parameters(),
            *net.lm_head.parameters(),
            *(self.eye.tower.parameters() if options.moving else self.eye.second_half()),
            *self.pieces.parameters(),
            *(self.characters.parameters() if options.moving else ()),
        ]
        self.optimisers = optimisers(self.modules.values(), self.trained, options.rate, options.muon_rate)
        self.pool: list[Lesson] = []
        self._papers: dict[exam.Paper, list[tuple[Lesson, list[Query]]]] | None = None
        net.train()

    def take(self, lessons: list[Lesson]) -> None:
        """Look at new lessons and put them into the pool, out of which the oldest go."""
        if not self.options.moving:
            self.look(lessons)
        self.pool = [*self.pool, *lessons][-_POOL * self.options.batch :]

    def learn(self, drawn: list[Lesson], rng: Random, shape: Random | None = None) -> tuple[Tensor, dict[str, float]]:
        self.take(drawn)
        lessons = self._choose(shape or rng)
        transcripts = [transcribe(lesson, questions(rng, lesson), self.press.vocabulary) for lesson in lessons]
        gaps = [lesson.course.gap for lesson in lessons]
        batch = Batch.of(transcripts, [with_gaps(t, rng, gap) for t, gap in zip(transcripts, gaps, strict=True)], self.device)
        if self.options.moving:
            features, read = self._look_on(lessons)
        else:
            features, read = [feature for lesson in lessons for feature in lesson.features], None
        embeddings, tokens = self.embed(batch, features)
        named, pieces_right = torch.zeros((), device=self.device), math.nan
        if tokens is not None:
            _, asked_pieces = asked_of([sheet for lesson in lessons for sheet in lesson.flat()], self.device)
            named, right_pieces = self.pieces.loss(tokens, self.tower.embed_tokens.weight, asked_pieces)
            pieces_right = share(right_pieces)
        self.guide.aim(*batch.aims(transcripts))
        self.guide.tie(batch.ties(transcripts) if self.options.binding else None)
        hidden = self.tower(inputs_embeds=embeddings, position_ids=batch.positions, use_cache=False).last_hidden_state
        # Row i predicts what stands at row i + 1.
        asked = batch.targets[:, 1:] != -100
        logits = self.net.lm_head(hidden[:, :-1][asked])
        wanted, is_answer = batch.targets[:, 1:][asked], batch.answers[:, 1:][asked]
        weight = torch.where(is_answer, 1.0, _CONTEXT_WEIGHT)
        said = (F.cross_entropy(logits, wanted, reduction="none") * weight).sum() / weight.sum()
        right = (logits.argmax(-1) == wanted).float()
        as_text = torch.tensor([lesson.sheets is None for lesson in lessons], device=self.device)[:, None].expand_as(asked)[asked]
        loss = said + self.options.guidance * self.guide.loss() + self.options.placing * self.guide.placing() + self.options.naming * named
        loss = loss + self.options.binding * self.guide.binding()
        heard: dict[str, float] = {}
        if read is not None:
            loss = loss + self.options.naming * read
            heard = {"characters loss": float(read.detach())}
        if self.options.binding:
            heard |= {"binding loss": float(self.guide.binding().detach()), "bound": _mean(torch.tensor(self.guide.bound))}
        if self.options.placing:
            heard |= {"placing loss": float(self.guide.placing().detach()), "placed": _mean(torch.tensor(self.guide.put))}
        mass = self.guide.mass
        return loss, {
            "answers loss": float(said.detach()),
            "guide loss": float(self.guide.loss().detach()),
            "pieces loss": float(named.detach()) if tokens is not None else math.nan,
            "text": _mean(right[as_text & is_answer]),
            "image": _mean(right[~as_text & is_answer]),
            "mass": sum(mass) / len(mass) if mass else math.nan,
            "pieces": pieces_right,
            **heard,
        }

    def embed(self, batch: Batch, features: Sequence[Tensor]) -> tuple[Tensor, Tensor | None]:
        """The batch's embeddings [batch, length, hidden], visual tokens in their places, and those tokens [n, hidden] (None: no images).

        `features` are those of all its sheets, in their order.
        """
        embeddings = self.tower.embed_tokens(batch.ids)
        if not features:
            return embeddings, None
        tokens = self.eye.merge(torch.cat([feature.float() for feature in features]))
        return embeddings.masked_scatter((batch.ids == Mark.IMAGE)[..., None], tokens.to(embeddings.dtype)), tokens

    def exam(self) -> dict[str, float]:
        """Exact match on each paper, and how seldom a question that has an answer is refused."""
        if self._papers is None:
            self._papers = {paper: exam.questions(paper, self.options.exam, self.press) for paper in exam.PAPERS}
        for answered in self._papers.values():
            self.look([lesson for lesson, _ in answered if self.options.moving or not lesson.features])
        self.net.eval()
        marks, refused = {}, []
        for paper, answered in self._papers.items():
            marks[paper.name], share_refused = mark(self, answered)
            if paper.hops != ABSENT:
                refused.append(share_refused)
        self.net.train()
        return marks | {"not refused": 1 - sum(refused) / len(refused)}

    def _choose(self, rng: Random) -> list[Lesson]:
        """A batch of like length out of the pool, for the shorter ones are padded to the longest."""
        options = self.options
        near = rng.sample(self.pool, min(options.batch * 3, len(self.pool)))
        near.sort(key=Lesson.span)
        first = rng.randint(0, max(0, len(near) - options.batch))
        near = near[first : first + options.batch]
        while options.rows and len(near) > 1 and len(near) * near[-1].span() > options.rows:
            near.pop(0)
        return near

    def _look_on(self, lessons: Sequence[Lesson]) -> tuple[list[Tensor], Tensor | None]:
        """What the moving eye sees of the batch's sheets, and the loss of the characters it names on those it learns from (None: there are none).

        A long context's pages it only looks at: they teach to find, and learning from all of them would take three times as long.
        """
        short = [sheet for lesson in lessons for sheet in lesson.flat() if len(lesson.pages) <= self.options.moving_pages]
        long = [sheet for lesson in lessons for sheet in lesson.flat() if len(lesson.pages) > self.options.moving_pages]
        learnt = self.seen(short)
        with torch.no_grad():
            found = {id(sheet): seen for sheet, seen in zip([*short, *long], [*learnt, *self.seen(long)], strict=True)}
        features = [found[id(sheet)] for lesson in lessons for sheet in lesson.flat()]
        if not short:
            return features, None
        return features, self.characters.loss(torch.cat(learnt), asked_of(short, self.device)[0])[0]

    @torch.no_grad()
    def look(self, lessons: Sequence[Lesson]) -> None:
        """Let the eye see the lessons' pages, for all that will be asked of them."""
        found = iter(self.seen([sheet for lesson in lessons for sheet in lesson.flat()]))
        for lesson in lessons:
            # Half precision halves the pool's memory; the features are normalised, so nothing is lost that training would notice.
            lesson.features = [next(found).half() for _ in lesson.flat()]

    def seen(self, sheets: Sequence[Sheet]) -> list[Tensor]:
        """What the eye sees of each sheet, before the merger: [n, eye]."""
        if not sheets:
            return []
        patches = torch.from_numpy(np.concatenate([sheet.patches for sheet in sheets])).to(self.device)
        features, _ = self.eye.look(patches, [sheet.grid for sheet in sheets])
        return list(torch.split(features, [len(sheet.patches) for sheet in sheets]))


def _mean(values: Tensor) -> float:
    return float(values.mean()) if len(values) else math.nan


@torch.no_grad()
def mark(stage: Answer, answered: Sequence[tuple[Lesson, list[Query]]]) -> tuple[float, float]:
    """(share of answers exactly right, share of questions refused), 0 to 1. The lessons must have been looked at.

    Greedy decoding gives the gold answer if and only if every piece of it is the likeliest behind the pieces before it: one forward
    with the answer already written tells as much as a decoding of it, in a tenth of the time.
    """
    refusal = stage.press.vocabulary.encode(NOT_STATED).ids[0]
    right = refused = total = 0
    for lesson, queries in answered:
        transcripts = [transcribe(lesson, [query], stage.press.vocabulary) for query in queries]
        batch = Batch.of(transcripts, [positions(t.segments) for t in transcripts], stage.device)
        embeddings, _ = stage.embed(batch, lesson.features * len(queries))
        hidden = stage.tower(inputs_embeds=embeddings, position_ids=batch.positions, use_cache=False).last_hidden_state
        for i in range(len(queries)):
            rows = batch.answers[i].nonzero()[:, 0]
            said = stage.net.lm_head(hidden[i, rows - 1]).argmax(-1)
            right += int(torch.equal(said, batch.ids[i, rows]))
            refused += int(said[0] == refusal)
        total += len(queries)
    return right / total, refused / total
