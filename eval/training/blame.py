"""A checkpoint in; why its answers are wrong, by kind of question, out: `python -m eval.training.blame RUN/answer.safetensors`.

An answer is wrong at its first wrong piece. Either the finding head (`guide.py`) was not on the visual token that shows the piece, or it was and the piece
was taken from another place of it or from its neighbour, or what was said stands nowhere near. Each asks for another remedy.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from eval.records import ABSENT, Query
from eval.world import NOT_STATED

from . import exam
from .answer import Answer, AnswerOptions
from .batch import Batch
from .binding import asked, statements
from .checkpoint import CheckpointError, load, read_header
from .lessons import Aim, Lesson, Transcript, transcribe
from .model import network, positions
from .pages import Press
from .see import asked_of, share
from .tokenizer import Mark, Vocabulary

CAUSES = ("refused", "not found", "beside", "misread", "ended")
KINS = ("the right one", "same attribute", "same thing", "elsewhere")
# The finding head is on a token if one of its layers gives it this much of its mass.
_FOUND = 0.5


@dataclass
class Blame:
    """Of one paper: questions, right answers, wrong ones by cause, and where the finding head's mass lay in the first guided layer, summed over the
    first pieces that it did not find."""

    n: int = 0
    right: int = 0
    causes: Counter[str] = field(default_factory=Counter)
    astray: Counter[str] = field(default_factory=Counter)

    def line(self) -> str:
        """The row of the table: counts, then per cent of the mass."""
        astray = sum(self.astray.values())
        shares = [f"{100 * self.astray[kin] / astray:.0f}" if astray else "" for kin in KINS]
        return " | ".join([f"{self.n} | {self.right}", *(str(self.causes[cause]) for cause in CAUSES), *shares])


def blame(stage: Answer, lesson: Lesson, query: Query, told: Blame) -> None:
    """Ask one question of a lesson that was looked at, its answer already written (`answer.mark` says why that tells as much), and note what came of it."""
    vocabulary = stage.press.vocabulary
    transcript = transcribe(lesson, [query], vocabulary)
    batch = Batch.of([transcript], [positions(transcript.segments)], stage.device)
    embeddings, _ = stage.embed(batch, lesson.features)
    kin = _kin(lesson, query, transcript) if transcript.aims else []
    first = transcript.aims[0].row if transcript.aims else 0
    aims = [*transcript.aims, *(Aim(first, rows) for rows in kin if rows)]
    stage.guide.aim(*batch.aims([Transcript(transcript.ids, [], [], [], aims, [])]))
    hidden = stage.tower(inputs_embeds=embeddings, position_ids=batch.positions, use_cache=False).last_hidden_state
    rows = batch.answers[0].nonzero()[:, 0]
    said, gold = stage.net.lm_head(hidden[0, rows - 1]).argmax(-1), batch.ids[0, rows]
    told.n += 1
    wrong = (said != gold).nonzero()[:, 0].tolist()
    if not wrong:
        told.right += 1
        return
    at, piece = wrong[0], int(said[wrong[0]])
    number = next((i for i, aim in enumerate(transcript.aims) if aim.row == int(rows[at]) - 1), None)
    if at == 0 and piece == vocabulary.encode(NOT_STATED).ids[0]:
        cause = "refused"
    elif number is None:
        cause = "ended"
    elif max(float(layer[number]) for layer in stage.guide.shares) < _FOUND:
        cause = "not found"
        if at == 0:
            shares = iter(float(one) for one in stage.guide.shares[0][len(transcript.aims) :])
            astray = [float(stage.guide.shares[0][0]), *(next(shares) if rows else 0.0 for rows in kin)]
            told.astray.update(dict(zip(KINS, [*astray, max(0.0, 1 - sum(astray))], strict=True)))
    else:
        cause = "beside" if piece in _around(lesson, batch.ids[0], transcript.aims[number]) else "ended" if piece == Mark.EOS else "misread"
    told.causes[cause] += 1


def _kin(lesson: Lesson, query: Query, transcript: Transcript) -> list[list[int]]:
    """The visual tokens of values that share the asked attribute but not the thing, and of those that share the thing: none of them the right one's."""
    if not (parts := asked(query.question)):
        return [[], []]
    thing, attribute = (query.question[start:end].lower() for start, end in parts)
    taken, kin = set(transcript.aims[0].rows), [set[int](), set[int]()]
    for said, tie in zip(statements(lesson.pages), (tie for tie in transcript.ties if tie.half is not None), strict=True):
        words = ["\n".join(lesson.pages[part.page])[part.start : part.end].lower() for part in (said.subject, said.attribute)]
        if words[0] == thing:
            kin[1] |= set(tie.rows)
        elif words[1] == attribute:
            kin[0] |= set(tie.rows)
    kin[1] -= taken
    kin[0] -= taken | kin[1]
    return [sorted(rows) for rows in kin]


def _around(lesson: Lesson, ids: Tensor, aim: Aim) -> set[int]:
    """The pieces that the aim's visual tokens show, and those to their left and right."""
    cells = {int(row): i for i, row in enumerate((ids == Mark.IMAGE).nonzero()[:, 0])}
    near = {cells[row] + step for row in aim.rows if row in cells for step in (-1, 0, 1)}
    _, pieces = asked_of(lesson.flat(), ids.device)
    return {int(piece) for where, piece in zip(pieces.where.tolist(), pieces.label.tolist(), strict=True) if where in near}


@torch.no_grad()
def report(stage: Answer, n: int) -> str:
    """Markdown: what the naming heads tell of whole pages, and the table of causes over n questions of each paper that has answers."""
    lines = ["| DPI | characters named | pieces named |", "|---|---|---|"]
    for dpi in (72, 120):
        sheets = [sheet for sheet, _ in exam.pages(dpi, max(2, n // 8), stage.press)]
        seen = torch.cat(stage.seen(sheets))
        characters, pieces = asked_of(sheets, stage.device)
        named = (
            stage.characters.loss(seen, characters)[1],
            stage.pieces.loss(stage.eye.merge(seen), stage.tower.embed_tokens.weight, pieces)[1],
        )
        lines.append(f"| {dpi} | " + " | ".join(f"{100 * share(right):.1f} %" for right in named) + " |")
    lines += [
        "",
        f"| questions | n | right | {' | '.join(CAUSES)} | mass astray, %: {' | '.join(KINS)} |",
        "|---" * (3 + len(CAUSES) + len(KINS)) + "|",
    ]
    # The guide listens in training only; nothing here is random in it.
    stage.net.train()
    for paper in exam.PAPERS:
        if paper.hops != ABSENT:
            told = Blame()
            for lesson, queries in exam.questions(paper, n, stage.press):
                stage.look([lesson])
                for query in queries:
                    blame(stage, lesson, query, told)
            lines.append(f"| {paper.name} | {told.line()} |")
    return "\n".join(lines)


def stage_of(path: Path, **options: Any) -> Answer:
    """The stage as a checkpoint has it. Raises CheckpointError."""
    size = read_header(path).size
    stage = Answer(network(size, 0), size, Press(Vocabulary.load(path.parent / "tokenizer.json")), AnswerOptions(**options))
    load(path, stage.modules)
    return stage


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m eval.training.blame", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("checkpoint", type=Path, metavar="CHECKPOINT", help="answer.safetensors or best-answer.safetensors of a run")
    parser.add_argument("--n", type=int, default=80, metavar="N", help="questions of each kind (default: 80)")
    args = parser.parse_args(argv)
    try:
        print(report(stage_of(args.checkpoint), args.n))
    except CheckpointError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
