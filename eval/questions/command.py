"""`quire eval q1`, `q2`, `q3`, `q4`: their words go in; a folder with one JSON, tables and plots, and an exit code, come out."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from app.command import positive
from eval.errors import EvalError

from .plans import PLANS, Plan, is_text

if TYPE_CHECKING:
    from cache_compiler.backbone import Backbone
    from eval.longbench.house import House
    from eval.longbench.records import Record

# What a model may be called in a command that strangers read; anything else is a path of this machine.
_NAMED = ("reader", "smollm2", "same")


def add(group: Any) -> None:
    """Add `q1` to `q4` to the subparsers of `quire eval`."""
    for plan in PLANS.values():
        parser: argparse.ArgumentParser = group.add_parser(
            plan.name,
            help=f"QV-PIC's {plan.name.upper()}: {plan.title[0].lower() + plan.title[1:]}",
            description=f"{plan.asks} Writes results.json, table.md, CSV tables and plots (PNG and SVG). Every finished sample is kept: stopped "
            "and run again, the command goes on.",
            epilog=f"After {plan.source}. The arms: {', '.join(plan.arms)}.",
        )
        parser.add_argument(
            "data",
            metavar="DATA",
            nargs="?",
            help="LongBench's jsonl file, or a folder of such; default: records, drawn from the held-out seed",
        )
        parser.add_argument(
            "--n", type=positive, default=100, help="questions of each task, or for each number of pages; default: %(default)s"
        )
        parser.add_argument("--tasks", help="of DATA, comma-separated; default: those that are there")
        parser.add_argument(
            "--pages", type=_numbers, default=(2, 4, 8), metavar="N,N", help="pages of a context of records; default: 2,4,8"
        )
        parser.add_argument("--lines", type=positive, default=6, help="lines of a page of records; default: %(default)s")
        parser.add_argument("--each", type=positive, default=4, help="questions asked of one context of records; default: %(default)s")
        parser.add_argument(
            "--kind", choices=["build", "sections"], default="build", help="records: sentences in any order, or rows under headings"
        )
        parser.add_argument("--model", default="reader", help="'reader' or a local directory; default: %(default)s")
        if plan.name == "q4":
            parser.add_argument("--models", metavar="A,B", help="several of them, comma-separated; default: --model alone")
        parser.add_argument(
            "--text-model",
            default="smollm2",
            help="who reads the text arms: 'smollm2', a directory, or 'same', each model itself; default: %(default)s",
        )
        parser.add_argument("--arms", help="comma-separated: only these of the question's arms; default: all")
        parser.add_argument(
            "--embedder", default="minilm", help="of qv-pic: minilm, bge-m3 (the paper's) or a folder; default: %(default)s"
        )
        parser.add_argument(
            "--max-tokens", type=positive, metavar="N", help="new tokens, to try things out; default: the protocol's limits"
        )
        parser.add_argument(
            "--answers", metavar="DIR", help="where samples are kept; commands that share it answer no arm twice; default: OUT/answers"
        )
        parser.add_argument("--out", default=f"docs/results/{plan.name}", metavar="DIR", help="default: %(default)s")
        parser.set_defaults(run=run, plan=plan, parser=parser)


def run(args: argparse.Namespace) -> int:
    """Words, files and the folder are checked before a model is loaded. Raises EvalError and what the rooms below raise."""
    from eval import plots as style
    from eval.longbench import tasks
    from eval.longbench.arms import arms_named
    from eval.longbench.drawn import with_drawn
    from eval.longbench.results import prepare

    plan: Plan = args.plan
    arms = _arms(plan, args.arms)
    arms_named(",".join(arms))
    style.require()
    rows = _rows(args)
    folder = Path(args.out)
    answers = Path(args.answers) if args.answers else folder / "answers"
    folder.mkdir(parents=True, exist_ok=True)
    prepare(answers)

    from cache_compiler.load import load_backbone

    from . import plots, tables
    from .answers import answer, division
    from .asked import grouped
    from .document import document
    from .figures import Figures

    models = (getattr(args, "models", None) or args.model).split(",")
    asked = division([model.strip() for model in models if model.strip()], args.text_model, arms)
    protocol = with_drawn(tasks.OFFICIAL)

    def house_of(backbone: Backbone) -> House:
        from eval.longbench.house import House, usual_length

        return House(backbone, protocol, usual_length(backbone), args.max_tokens, args.embedder)

    answered = []
    try:
        for one in asked:
            print(f"{plan.name}: {one.model}, {len(one.arms)} arms", file=sys.stderr, flush=True)
            answered.append(answer(one, rows, house_of, load_backbone, answers))
    except KeyboardInterrupt:
        print(f"\nstopped; what is finished is kept in {answers}, and the same command goes on from there", file=sys.stderr)
        raise
    made = document(plan, Figures(grouped(rows), answered), asked, answered, _settings(args, arms), command(args))
    made["plots"] = plots.draw(folder, made)
    tables.write(folder, made)
    print(tables.markdown(made))
    return 0


def command(args: argparse.Namespace) -> str:
    """The words that make the same run, those that are the default left out; a path of this machine is DATA or DIR."""
    words = ["quire", "eval", args.plan.name]
    if args.data:
        words.append("DATA")
    for action in args.parser._actions:
        name, value = action.dest, getattr(args, action.dest, None)
        if not action.option_strings or name == "help" or value is None or value == action.default:
            continue
        words += [action.option_strings[-1], _said(name, value)]
    return " ".join(words)


def _said(name: str, value: Any) -> str:
    if name in ("model", "text_model", "models"):
        return ",".join(model if model in _NAMED else "DIR" for model in str(value).split(","))
    if name == "embedder":
        return value if value in ("minilm", "bge-m3") else "DIR"
    if name in ("out", "answers"):
        path = Path(value)
        return "DIR" if path.is_absolute() or ".." in path.parts else path.as_posix()
    return ",".join(str(one) for one in value) if isinstance(value, tuple) else str(value)


def _rows(args: argparse.Namespace) -> dict[str, list[Record]]:
    from eval.longbench.drawn import DRAWN, chosen, read

    from .asked import Drawn

    if args.data:
        return read(Path(args.data), chosen(args.tasks), args.n)
    if args.tasks:
        raise EvalError(f"--tasks {args.tasks!r}: tasks are those of DATA; give LongBench's file or folder first")
    return {DRAWN: Drawn(args.n, args.pages, args.lines, args.each, args.kind).rows()}


def _arms(plan: Plan, text: str | None) -> tuple[str, ...]:
    if text is None:
        return plan.arms
    wanted = [name.strip() for name in text.split(",") if name.strip()]
    if unknown := [name for name in wanted if name not in plan.arms]:
        raise EvalError(f"--arms {unknown[0]!r}: {plan.name} has {', '.join(plan.arms)}")
    if not any(not is_text(name) for name in wanted):
        raise EvalError(f"--arms {text!r}: at least one arm that reads images, for the question is about them")
    return tuple(arm for arm in plan.arms if arm in wanted)


def _settings(args: argparse.Namespace, arms: Sequence[str]) -> dict[str, Any]:
    drawn = {} if args.data else {name: getattr(args, name) for name in ("lines", "each", "kind")} | {"pages": list(args.pages)}
    names = ("n", "embedder", "max_tokens")
    facts = {name: getattr(args, name) for name in names} | drawn
    facts["embedder"] = _said("embedder", args.embedder)
    return facts | {"data": bool(args.data), "text_model": _said("text_model", args.text_model), "arms": list(arms)}


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(sorted({positive(word) for word in text.split(",")}))
