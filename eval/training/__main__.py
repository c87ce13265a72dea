"""A command line in; a reader trained from nothing, or on from where one stands, out: `python -m eval.training {see,answer,export,all} --out DIR`."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .options import given, parser

if TYPE_CHECKING:
    from .pages import Press
    from .tokenizer import Vocabulary

# The heads of a reader that is taken up again are grown in this share of the eye's time, at these rates.
_HEADS_SHARE, _HEADS_RATE, _HEADS_MUON = 0.05, 3e-3, 0.03


def main(argv: Sequence[str] | None = None) -> int:
    """Exit code 0: done or stopped cleanly; 2: a checkpoint is missing or another run's, or a curriculum is none."""
    words = sys.argv[1:] if argv is None else list(argv)
    args = parser().parse_args(words)
    args.words = words
    os.nice(max(0, args.nice - os.nice(0)))
    # torch takes seconds to import: after --help and mistakes in the arguments.
    import torch

    from .checkpoint import CheckpointError
    from .curriculum import CurriculumError
    from .team import helping_with

    torch.set_num_threads(args.threads)
    args.out.mkdir(parents=True, exist_ok=True)
    stages = {
        "all": ["heads", "see", "answer", "export"],
        "see": ["heads", "see"],
        "answer": ["heads", "answer"],
        "export": ["export"],
    }[args.stage]
    if helping := helping_with():
        stages = [helping]
    try:
        for stage in stages:
            if not {"heads": _heads, "see": _see, "answer": _answer, "export": _export}[stage](args):
                break
    except (CheckpointError, CurriculumError) as error:
        print(error, file=sys.stderr)
        return 2
    return 0


def _heads(args: argparse.Namespace) -> bool:
    """Only where a reader's directory is taken up, and not on again: its eye stands still while the heads that name what it sees are grown anew."""
    from .see import See, SeeOptions
    from .warm import size_of, warm

    built_on_them = "answer.safetensors" if args.stage == "answer" else "see.safetensors"
    if not (args.start and args.start.is_dir()) or (args.out / built_on_them).exists():
        return True
    net, size, vocabulary = warm(args.start, given(size_of(args.start), args))
    if not (args.out / "tokenizer.json").exists():
        vocabulary.save(args.out / "tokenizer.json")
    options = replace(SeeOptions(), batch=_batch(args, 16, 128))
    # What the command line says of batches and rates is meant for the stage it names.
    if args.stage != "answer":
        options = given(options, args)
    stage = See(net, size, _press(vocabulary, args), replace(options, still=True, rate=_HEADS_RATE, muon_rate=_HEADS_MUON), args.device)
    return _train(stage, args, _HEADS_SHARE)


def _see(args: argparse.Namespace) -> bool:
    from .checkpoint import CheckpointError, load, read_header
    from .model import SIZES, network
    from .see import See, SeeOptions
    from .warm import size_of, warm

    options = given(replace(SeeOptions(), batch=_batch(args, 16, 128)), args)
    start = args.out / "heads.safetensors" if args.start and args.start.is_dir() else args.start
    if start:
        size = read_header(start).size
        like = warm(args.like)[0] if args.like else None
        if like and (width := size_of(args.like).hidden) != size.hidden:
            raise CheckpointError(
                f"--like {args.like}: its tokens are {width} wide, this network's {size.hidden}; name a reader of the same width"
            )
        stage = See(network(size, args.seed), size, _press(_vocabulary(args, 0, start.parent), args), options, args.device, like)
        load(start, stage.modules)
    else:
        size = given(SIZES[args.size], args)
        stage = See(network(size, args.seed), size, _press(_vocabulary(args, size.vocabulary), args), options, args.device)
    return _train(stage, args)


def _answer(args: argparse.Namespace) -> bool:
    from .answer import Answer, AnswerOptions
    from .checkpoint import CheckpointError, load, read_header
    from .model import network
    from .warm import enlarged

    start = args.start or args.out / "see.safetensors"
    if start.is_dir():
        start = args.out / ("see.safetensors" if args.stage == "all" else "heads.safetensors")
    stored = read_header(start).size
    net, size = network(stored, args.seed), given(stored, args)
    load(start, {"net": net})
    if size != stored:
        net = enlarged(net, stored, size)
    options = given(replace(AnswerOptions(), batch=_batch(args, 16, 96), curriculum=_curriculum(args)), args)
    try:
        stage = Answer(net, size, _press(_vocabulary(args, size.vocabulary, start.parent), args), options, args.device)
    except ValueError as error:
        raise CheckpointError(str(error)) from error
    load(start, {name: module for name, module in stage.modules.items() if name != "net"})
    return _train(stage, args)


def _export(args: argparse.Namespace) -> bool:
    from transformers.utils import logging

    from . import examples
    from .export import export

    logging.disable_progress_bar()
    print("export: loads transformers' own classes and works eight examples ...", flush=True)
    best = args.out / "best-answer.safetensors"
    export(best if best.exists() else args.out / "answer.safetensors", _vocabulary(args, 0), args.out / "model")
    examples.write(args.out / "model")
    print(f"export: {args.out / 'model'}")
    return True


def _train(stage: Any, args: argparse.Namespace, share: float = 1.0) -> bool:
    """Whether the stage came to its end; a stage that was stopped is not built upon."""
    from .checkpoint import read_header
    from .loop import Allowance, Habits, train
    from .team import Team

    allowance = Allowance(args.minutes * share, args.steps)
    path = args.out / f"{stage.name}.safetensors"
    if path.exists() and allowance.spent((at := read_header(path)).step, at.seconds) >= 1:
        return True
    habits = Habits(args.save_every, exam_every=args.exam_every if share == 1 else 0.0, hands=args.hands)
    team = Team.gather(args.workers, stage.name, args.words)
    at = train(stage, path, allowance, args.seed, habits, team=team)
    return allowance.spent(at.step, at.seconds) >= 1


def _batch(args: argparse.Namespace, cpu: int, gpu: int) -> int:
    return cpu if args.device == "cpu" else gpu


def _press(vocabulary: Vocabulary, args: argparse.Namespace) -> Press:
    from renderer import preset

    from .model import MERGE, PATCH
    from .pages import Press

    others = [replace(preset("reader", cell=PATCH * MERGE, font=font), size=8.0, leading=9.0) for font in args.font]
    return Press(vocabulary, others=others)


def _curriculum(args: argparse.Namespace) -> Any:
    from .curriculum import BUILT_IN, Curriculum, read
    from .lessons import Course

    if args.curriculum is None:
        return Curriculum.of(given(Course(), args))
    built_in = BUILT_IN / f"{args.curriculum}.toml"
    return read(built_in if built_in.exists() else Path(args.curriculum))


def _vocabulary(args: argparse.Namespace, size: int, elsewhere: Path | None = None) -> Vocabulary:
    """The run's tokenizer: its own, that of the run it starts from, or a newly learnt one of `size` (0: there must be one)."""
    from .checkpoint import CheckpointError
    from .tokenizer import Vocabulary, train_vocabulary

    own = args.out / "tokenizer.json"
    if own.exists():
        return Vocabulary.load(own)
    if elsewhere and (elsewhere / "tokenizer.json").exists():
        vocabulary = Vocabulary.load(elsewhere / "tokenizer.json")
    elif size and elsewhere is None:
        vocabulary = train_vocabulary(size, args.contexts)
    else:
        raise CheckpointError(f"{own} is not there; it lies beside the checkpoints it was trained with")
    vocabulary.save(own)
    return vocabulary


if __name__ == "__main__":
    sys.exit(main())
