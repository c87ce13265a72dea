"""Transcripts of lessons in; tensors padded to one length, with positions, targets and aims, out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

import torch
from torch import Tensor

from .guide import Spots, Ties
from .lessons import Transcript
from .model import positions
from .tokenizer import Mark


@dataclass(frozen=True)
class Batch:
    """Transcripts padded on the right: ids, targets, answers [batch, length]; positions [3, batch, length]."""

    ids: Tensor
    targets: Tensor
    answers: Tensor
    positions: Tensor

    @classmethod
    def of(cls, transcripts: Sequence[Transcript], places: Sequence[Tensor], device: torch.device) -> Batch:
        """`places` are each transcript's positions [3, length]."""
        shape = len(transcripts), max(len(t.ids) for t in transcripts)
        ids, targets = torch.full(shape, Mark.PAD), torch.full(shape, -100)
        answers, found = torch.zeros(shape, dtype=torch.bool), torch.zeros((3, *shape), dtype=torch.long)
        for i, (transcript, place) in enumerate(zip(transcripts, places, strict=True)):
            length = len(transcript.ids)
            ids[i, :length] = torch.tensor(transcript.ids)
            targets[i, :length] = torch.tensor(transcript.targets)
            answers[i, :length] = torch.tensor(transcript.answers)
            found[:, i, :length] = place
        return cls(ids.to(device), targets.to(device), answers.to(device), found.to(device))

    def aims(self, transcripts: Sequence[Transcript]) -> tuple[Tensor, Tensor, Tensor, Spots]:
        """As `Guide.aim` takes them."""
        aims = [(i, aim) for i, transcript in enumerate(transcripts) for aim in transcript.aims]
        target = torch.zeros(len(aims), self.ids.shape[1], dtype=torch.bool)
        for n, (_, aim) in enumerate(aims):
            target[n, aim.rows] = True
        device = self.ids.device

        def whole(numbers: list[int]) -> Tensor:
            return torch.tensor(numbers, dtype=torch.long, device=device)

        found = [(n, *spot) for n, (_, aim) in enumerate(aims) for spot in aim.spots]
        across = torch.tensor([spot[3] for spot in found], dtype=torch.float32, device=device)
        spots = Spots(whole([spot[0] for spot in found]), whole([spot[1] for spot in found]), whole([spot[2] for spot in found]), across)
        return whole([i for i, _ in aims]), whole([aim.row for _, aim in aims]), target.to(device), spots

    def ties(self, transcripts: Sequence[Transcript]) -> Ties:
        """As `Guide.tie` takes them: a line for each visual token of a value, and each row that predicts an answer."""
        found = [(i, row, tie) for i, transcript in enumerate(transcripts) for tie in transcript.ties for row in tie.rows]
        subject, attribute = (torch.zeros(len(found), self.ids.shape[1], dtype=torch.bool) for _ in range(2))
        for n, (_, row, tie) in enumerate(found):
            # What a line's own token shows of the next ones, it cannot look at.
            subject[n, [at for at in tie.subject if at <= row]] = True
            attribute[n, [at for at in tie.attribute if at <= row]] = True
        numbers = [(i, row, -1 if tie.half is None else tie.half) for i, row, tie in found]
        sample, rows, half = torch.tensor(numbers, dtype=torch.long).view(-1, 3).T
        return Ties(*(one.to(self.ids.device) for one in (sample, rows, half, subject, attribute)))


def with_gaps(transcript: Transcript, rng: Random, gap: int) -> Tensor:
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
