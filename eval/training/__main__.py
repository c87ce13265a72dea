"""A command line in; a reader trained from nothing out: `python -m eval.training {see,answer,export,all} --out DIR`."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .tokenizer import Vocabulary

_ABOUT = """Train a reader of record pages from nothing, on a CPU.

  see      the eye learns to name characters and pieces of text (out/see.safetensors)
  answer   the tower learns to answer questions about pages    (out/answer.safetensors)
  export   a standard Hugging Face directory                   (out/model)
  all      the three, one after the other

Ctrl-C finishes the step in hand and writes a checkpoint; the same command goes on from it.
A further course starts from the last one: answer --from old/answer.safetensors --out new --pages 4 ..."""

# Defaults stand in SeeOptions, AnswerOptions and Course.
_COUNTS = {
    "batch": "see: pages a step; answer: lessons a step (16; on a GPU 128 and 96)",
    "exam": "questions of each paper of an examination; see: pages (24, 12)",
    "reuse": "answer: steps that a lesson serves, on average (3)",
    "rows": "answer: most rows of a step; 0: no limit (0)",
}
_WEIGHTS = {
    "rate": "peak learning rate of AdamW (0.002)",
    "muon-rate": "peak learning rate of Muon (0.02)",
    "guidance": "answer: weight of the guided head's loss (0.5)",
    "naming": "answer: weight of the pieces' loss (0.5)",
}
_COURSE_COUNTS = {
    "shortest": "fewest lines of a page (10)",
    "longest": "most lines of a page (12)",
    "questions": "questions asked of one context (6)",
    "finds": "'Find: some words' tasks beside them (2)",
    "gap": "most positions skipped between pages (0)",
}
_COURSE_SHARES = {
    "alike": "contexts whose pages all have one DPI (0.6)",
    "text": "contexts given as text, not as images (0.3)",
    "sections": "contexts that are rows under headings (0.3)",
    "hops": "facts reached through another one (0.2)",
    "dense": "lines that state a fact (0.6)",
    "absent": "contexts with a question whose answer is not there (0.2)",
}


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(prog="python -m eval.training", description=_ABOUT, formatter_class=argparse.RawDescriptionHelpFormatter)
    top.add_argument("stage", choices=["see", "answer", "export", "all"])
    top.add_argument("--out", type=Path, required=True, metavar="DIR", help="where tokenizer, checkpoints and the model go")
    top.add_argument("--size", choices=["reader", "tiny"], default="reader", help="the embedded reader's, or one for trying things out")
    top.add_argument("--seed", type=int, default=0)
    top.add_argument("--minutes", type=float, default=15.0, help="for each stage, resumed runs added up (default: 15)")
    top.add_argument("--steps", type=int, help="for each stage, instead of minutes")
    top.add_argument(
        "--workers", type=int, default=1, metavar="N", help="processes that share each step; --batch is each one's (default: 1)"
    )
    top.add_argument("--threads", type=int, default=2, help="threads each process computes with (default: 2)")
    top.add_argument("--hands", type=int, default=0, metavar="N", help="processes that draw pages ahead, for a GPU (default: 0)")
    top.add_argument("--device", default="cpu", help="cpu or cuda; on a GPU in bf16 autocast (default: cpu)")
    top.add_argument("--exam-every", type=float, default=15.0, metavar="MINUTES", help="between examinations; 0: none (default: 15)")
    top.add_argument("--nice", type=int, default=19, help="how far to stand back behind other work, 0 to 19 (default: 19)")
    top.add_argument("--save-every", type=int, default=100, metavar="STEPS", help="steps between checkpoints (default: 100)")
    top.add_argument("--contexts", type=int, default=20_000, help="contexts the tokenizer is learnt from (default: 20000)")
    top.add_argument(
        "--from",
        dest="start",
        type=Path,
        metavar="PATH",
        help="start from this checkpoint (answer: out/see.safetensors is the default); see: or from a reader's directory",
    )
    top.add_argument("--still", action="store_true", default=None, help="see: only the heads are trained, the eye does not move")
    for name, says in _COUNTS.items():
        top.add_argument(f"--{name}", type=int, metavar="N", help=says)
    for name, says in _WEIGHTS.items():
        top.add_argument(f"--{name}", type=float, metavar="X", help=says)
    top.add_argument(
        "--dpis", type=_numbers, metavar="N,...", help="what pages are drawn at, one out of these (see: 72,72,72,120,120; answer: 72,120)"
    )
    top.add_argument(
        "--curriculum", metavar="NAME|FILE", help="answer: what is taught when, instead of one course: reader, again, or a TOML file"
    )
    course = top.add_argument_group("the course (answer; see eval/training/README.md)")
    course.add_argument("--pages", type=_numbers, metavar="N,...", help="pages of a context, one out of these (1)")
    for name, says in _COURSE_COUNTS.items():
        course.add_argument(f"--{name}", type=int, metavar="N", help=says)
    for name, says in _COURSE_SHARES.items():
        course.add_argument(f"--{name}", type=float, metavar="SHARE", help=says)
    return top


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(number) for number in text.split(","))


def main(argv: Sequence[str] | None = None) -> int:
    """Exit code 0: done or stopped cleanly; 2: a checkpoint is missing or another run's."""
    words = sys.argv[1:] if argv is None else list(argv)
    args = parser().parse_args(words)
    args.words = words
    os.nice(max(0, args.nice - os.nice(0)))
    # torch takes seconds to import: after --help and mistakes in the arguments.
    import torch

    from .checkpoint import CheckpointError
    from .curriculum import CurriculumError

    torch.set_num_threads(args.threads)
    args.out.mkdir(parents=True, exist_ok=True)
    stages = ["see", "answer", "export"] if args.stage == "all" else [args.stage]
    try:
        for stage in stages:
            if not {"see": _see, "answer": _answer, "export": _export}[stage](args):
                break
    except (CheckpointError, CurriculumError) as error:
        print(error, file=sys.stderr)
        return 2
    return 0


def _see(args: argparse.Namespace) -> bool:
    from .checkpoint import load, read_header
    from .model import SIZES, network
    from .pages import Press
    from .see import See, SeeOptions
    from .warm import warm

    options = _given(replace(SeeOptions(), batch=_batch(args, 16, 128)), args)
    if args.start and args.start.is_dir():
        net, size, vocabulary = warm(args.start)
        if not (args.out / "tokenizer.json").exists():
            vocabulary.save(args.out / "tokenizer.json")
        stage = See(net, size, Press(vocabulary), options, args.device)
    elif args.start:
        size = read_header(args.start).size
        stage = See(network(size, args.seed), size, Press(_vocabulary(args, 0, args.start.parent)), options, args.device)
        load(args.start, stage.modules)
    else:
        size = SIZES[args.size]
        stage = See(network(size, args.seed), size, Press(_vocabulary(args, size.vocabulary)), options, args.device)
    return _train(stage, args)


def _answer(args: argparse.Namespace) -> bool:
    from .answer import Answer, AnswerOptions
    from .checkpoint import load, read_header
    from .model import network
    from .pages import Press

    start = args.start or args.out / "see.safetensors"
    size = read_header(start).size
    options = _given(replace(AnswerOptions(), batch=_batch(args, 16, 96), curriculum=_curriculum(args)), args)
    stage = Answer(network(size, args.seed), size, Press(_vocabulary(args, size.vocabulary, start.parent)), options, args.device)
    load(start, stage.modules)
    return _train(stage, args)


def _export(args: argparse.Namespace) -> bool:
    from transformers.utils import logging

    from .export import export

    logging.disable_progress_bar()
    export(args.out / "answer.safetensors", _vocabulary(args, 0), args.out / "model")
    print(f"export: {args.out / 'model'}")
    return True


def _train(stage: Any, args: argparse.Namespace) -> bool:
    """Whether the stage came to its end; a stage that was stopped is not built upon."""
    from .loop import Allowance, Habits, train
    from .team import Team

    allowance = Allowance(args.minutes, args.steps)
    habits = Habits(args.save_every, exam_every=args.exam_every, hands=args.hands)
    team = Team.gather(args.workers, [stage.name if word == args.stage else word for word in args.words])
    at = train(stage, args.out / f"{stage.name}.safetensors", allowance, args.seed, habits, team=team)
    return allowance.spent(at.step, at.seconds) >= 1


def _batch(args: argparse.Namespace, cpu: int, gpu: int) -> int:
    return cpu if args.device == "cpu" else gpu


def _curriculum(args: argparse.Namespace) -> Any:
    from .curriculum import BUILT_IN, Curriculum, read
    from .lessons import Course

    if args.curriculum is None:
        return Curriculum.of(_given(Course(), args))
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


def _given(options: Any, args: argparse.Namespace) -> Any:
    """The options with those values replaced that the command line names."""
    said = {f.name: getattr(args, f.name, None) for f in fields(options) if f.name != "curriculum"}
    return replace(options, **{name: value for name, value in said.items() if value is not None})


if __name__ == "__main__":
    sys.exit(main())
