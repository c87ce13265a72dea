"""Words of a command line in; what they say, as argparse's namespace and laid over the stages' own defaults, out."""

from __future__ import annotations

import argparse
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

_ABOUT = """Train a reader of record pages, from nothing or on from where one stands.

  see      the eye learns to name characters and pieces of text (out/see.safetensors)
  answer   the tower learns to answer questions about pages    (out/answer.safetensors)
  export   a standard Hugging Face directory                   (out/model)
  all      the three, one after the other

Ctrl-C finishes the step in hand and writes a checkpoint; the same command goes on from it.
A trained reader is taken up again by its directory: all (or answer alone) --from DIR --out new --curriculum again.
A further course starts from the last one: answer --from old/answer.safetensors --out new --pages 1,4 ..."""

# Defaults stand in SeeOptions, AnswerOptions and Course.
_COUNTS = {
    "batch": "see: pages a step; answer: lessons a step (16; on a GPU 128 and 96)",
    "exam": "questions of each paper of an examination; see: pages (24, 12)",
    "reuse": "answer: steps that a lesson serves, on average (3)",
    "rows": "answer: most rows of a step; 0: no limit (0)",
    "moving-pages": "answer: most pages of a context from which the eye learns, if it moves (2)",
}
_WEIGHTS = {
    "rate": "peak learning rate of AdamW (0.002)",
    "muon-rate": "peak learning rate of Muon (0.02)",
    "guidance": "answer: weight of the guided head's loss (0.5)",
    "placing": "answer: weight of the loss of the heads that each look at one place of a token; 0: none (0.0)",
    "naming": "answer: weight of the pieces' loss (0.5)",
    "binding": "answer: weight of the loss of the heads that join a value to its subject and its attribute; 0: none (0.0)",
    "others": "see: share of pages in the styles of --font (0.2)",
}
_COURSE_COUNTS = {
    "shortest": "fewest lines of a page (10)",
    "longest": "most lines of a page (12)",
    "questions": "questions asked of one context (6)",
    "finds": "'Find: some words' tasks beside them (2)",
    "reads": "'Read: some words' tasks, which go on for several lines (0)",
    "gap": "most positions skipped between pages (0)",
}
_COURSE_SHARES = {
    "alike": "contexts whose pages all have one DPI (0.6)",
    "text": "contexts given as text, not as images (0.3)",
    "sections": "contexts that are rows under headings (0.3)",
    "wide": "contexts, and lines of the eye's pages, on wider ground (0.0)",
    "hops": "facts reached through another one (0.2)",
    "dense": "lines that state a fact (0.6)",
    "absent": "contexts with a question whose answer is not there (0.2)",
}


# Fields of `Size`, for trying others: --eye-layers 6 --hidden 384.
_SIZES = ("hidden", "layers", "heads", "kv-heads", "eye", "eye-layers", "eye-heads", "vocabulary", "inner", "rotary")


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(prog="python -m eval.training", description=_ABOUT, formatter_class=argparse.RawDescriptionHelpFormatter)
    top.add_argument("stage", choices=["see", "answer", "export", "all"])
    top.add_argument("--out", type=Path, required=True, metavar="DIR", help="where tokenizer, checkpoints and the model go")
    top.add_argument(
        "--size",
        choices=["reader", "tiny"],
        default="reader",
        help="the embedded reader's, or one for trying things out; any field of it by its name, as --eye-layers 6 or --hidden 384 "
        "(what is taken up again can only get more layers, key-value heads and wider MLPs: --layers 6 --kv-heads 8 --inner 768)",
    )
    for name in _SIZES:
        top.add_argument(f"--{name}", type=int, metavar="N", help=argparse.SUPPRESS)
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
        help="start from this checkpoint (answer: out/see.safetensors is the default), or from a reader's directory: "
        "the heads that name what it sees are then grown first",
    )
    top.add_argument(
        "--like", type=Path, metavar="DIR", help="see: draw the eye's tokens towards those of this reader, whose tower is to read them"
    )
    top.add_argument("--moving", action="store_true", default=None, help="answer: the eye's first half moves, too")
    for name, says in _COUNTS.items():
        top.add_argument(f"--{name}", type=int, metavar="N", help=says)
    for name, says in _WEIGHTS.items():
        top.add_argument(f"--{name}", type=float, metavar="X", help=says)
    top.add_argument(
        "--dpis", type=_numbers, metavar="N,...", help="what pages are drawn at, one out of these (see: 72,72,72,120,120; answer: 72,120)"
    )
    top.add_argument(
        "--curriculum",
        metavar="NAME|FILE",
        help="answer: what is taught when, instead of one course: reader, again, bound, far, far-moving, or a TOML file",
    )
    top.add_argument(
        "--font", type=Path, action="append", default=[], help="see: show pages in this font file, too, 8 on 9 pt; may be repeated"
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


def given(options: Any, args: argparse.Namespace) -> Any:
    """The options with those values replaced that the command line names."""
    said = {f.name: getattr(args, f.name, None) for f in fields(options) if f.name != "curriculum"}
    return replace(options, **{name: value for name, value in said.items() if value is not None})
