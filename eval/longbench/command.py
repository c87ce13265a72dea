"""`quire eval longbench`: its words go in, and an exit code comes out: 0 when every sample has a line, whatever it scored."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from .tasks import PROTOCOLS, TASKS


def add(group: Any) -> None:
    """Add `longbench` to the subparsers of `quire eval`."""
    parser: argparse.ArgumentParser = group.add_parser(
        "longbench",
        help="LongBench's six English question tasks: token F1, per arm",
        description="LongBench's six English question tasks, from local files, under the official protocol or Glyph's. Each finished sample is a line "
        "of OUT/results.jsonl: stop it at will, and run the same command to go on. Writes summary.json, table.md, table.csv and times.json besides.",
        epilog="Arms: image-full[@DPI], image-pic[@DPI][:condition], qv-pic[@LOW-HIGH][:condition]; condition: template, free or dummy-K.",
    )
    parser.add_argument("data", metavar="DATA", help="a jsonl file, or a folder of <task>.jsonl or <task>.parquet files")
    parser.add_argument("--tasks", help=f"comma-separated, of {','.join(TASKS)}; default: those in DATA")
    parser.add_argument("--arms", default="image-pic@72,image-pic@120,qv-pic", help="comma-separated; default: %(default)s")
    parser.add_argument("--protocol", choices=sorted(PROTOCOLS), default="official", help="default: %(default)s")
    parser.add_argument("--limit", type=_positive, metavar="N", help="the first N rows of each task; default: all")
    parser.add_argument(
        "--max-length",
        type=_length,
        default=31_500,
        metavar="N",
        help="tokens that a prompt is cut to, in the middle; default: %(default)s",
    )
    parser.add_argument(
        "--max-tokens", type=_positive, metavar="N", help="new tokens, to try things out; default: the protocol's own limits"
    )
    parser.add_argument("--workers", type=_positive, default=1, metavar="N", help="samples in hand at once; default: %(default)s")
    parser.add_argument("--model", default="reader", help="'reader' or a local directory; default: %(default)s")
    parser.add_argument("--embedder", default="minilm", help="of qv-pic: minilm, bge-m3 (the paper's) or a folder; default: %(default)s")
    parser.add_argument("--alpha", type=float, default=0.65, help="of qv-pic: the share of relevance to promote; default: %(default)s")
    parser.add_argument("--cap", type=int, default=4, help="of qv-pic: the most pages to promote; default: %(default)s")
    parser.add_argument("--out", default="longbench", metavar="DIR", help="default: %(default)s")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Everything that can be wrong with words, files and the folder is found before the model is loaded."""
    from retrieval.plan import check_budget
    from retrieval.types import Budget

    from . import records, tasks
    from .arms import arms_named, make_arm
    from .results import Results, prepare

    arms = arms_named(args.arms)
    chosen = tasks.tasks_named(args.tasks) if args.tasks is not None else None
    rows = records.read(Path(args.data), chosen, args.limit)
    budget = Budget(alpha=args.alpha, cap=args.cap)
    check_budget(budget)
    folder = Path(args.out)
    prepare(folder)

    from cache_compiler.load import load_backbone

    from . import report
    from .house import House
    from .run import run as answer

    protocol = tasks.protocol_named(args.protocol)
    house = House(load_backbone(args.model), protocol, args.max_length, args.max_tokens, args.embedder, budget)
    made = [make_arm(name, house) for name in arms]
    settings = house.settings()
    with Results(folder, settings) as results:
        if results.note:
            print(results.note, file=sys.stderr)
        answer(rows, made, protocol, results, args.workers)
        summary = report.summarise(rows, arms, settings, results)
        report.write(folder, summary, report.times(arms, rows, results))
    print(report.text(summary))
    return 0


def _positive(text: str) -> int:
    if not (text.isdecimal() and int(text) > 0):
        raise argparse.ArgumentTypeError(f"{text}: a whole number from 1")
    return int(text)


def _length(text: str) -> int:
    value = _positive(text)
    if value < 64:
        raise argparse.ArgumentTypeError(f"{text}: at least 64, or no word of the context is left")
    return value
