"""`quire eval longbench`: its words go in, and an exit code comes out: 0 when every sample has a line, whatever it scored."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from app.command import positive

from .tasks import PROTOCOLS, TASKS

if TYPE_CHECKING:
    from .records import Record
    from .results import Results


def add(group: Any) -> None:
    """Add `longbench` to the subparsers of `quire eval`."""
    parser: argparse.ArgumentParser = group.add_parser(
        "longbench",
        help="LongBench's six English question tasks: token F1, per arm",
        description="LongBench's six English question tasks, from local files, under the official protocol or Glyph's. Each finished sample is a line "
        "of OUT/results.jsonl: stop it at will, and run the same command to go on. Writes summary.json, table.md, table.csv and times.json besides.",
        epilog="Arms: text-full, text-pic[@TOKENS][:condition], image-full[@DPI], image-pic[@DPI][:condition], qv-pic[@LOW-HIGH][:condition]; "
        "condition: template, free or dummy-K. Behind a pic arm: +patch[-chain][-RANK], patches of the page before or of all before; then +epic-K, "
        "the first K rows of each page recomputed. measures.json holds the parts of the time to the first token, and what was made beforehand.",
    )
    parser.add_argument("data", metavar="DATA", help="a jsonl file, or a folder of <task>.jsonl or <task>.parquet files")
    parser.add_argument(
        "--documents",
        metavar="DIR",
        help='DATA holds questions on the documents in DIR ("doc", "page", "input", "answers", "language"), each asked over a window around its answer',
    )
    parser.add_argument("--words", type=positive, default=600, help="of such a window; default: %(default)s")
    parser.add_argument(
        "--tasks", help=f"comma-separated, of {','.join(TASKS)}; and records, which is none of the six; default: those of the six in DATA"
    )
    parser.add_argument("--arms", default="image-pic@72,image-pic@120,qv-pic", help="comma-separated; default: %(default)s")
    parser.add_argument("--protocol", choices=sorted(PROTOCOLS), default="official", help="default: %(default)s")
    parser.add_argument("--limit", type=positive, metavar="N", help="the first N rows of each task; default: all")
    parser.add_argument(
        "--max-length",
        type=_length,
        metavar="N",
        help="tokens that a prompt is cut to, in the middle; default: 31,500, and of a model that reads text alone 500 below its positions",
    )
    parser.add_argument(
        "--max-tokens", type=positive, metavar="N", help="new tokens, to try things out; default: the protocol's own limits"
    )
    parser.add_argument("--workers", type=positive, default=1, metavar="N", help="samples in hand at once; default: %(default)s")
    parser.add_argument("--model", default="reader", help="'reader' or a local directory; default: %(default)s")
    parser.add_argument("--embedder", default="minilm", help="of qv-pic: minilm, bge-m3 (the paper's) or a folder; default: %(default)s")
    parser.add_argument("--alpha", type=float, default=0.65, help="of qv-pic: the share of relevance to promote; default: %(default)s")
    parser.add_argument("--cap", type=int, default=4, help="of qv-pic: the most pages to promote; default: %(default)s")
    parser.add_argument("--kl", action="store_true", help="also KL to full prefill of the same pages at the first answer token; slow")
    parser.add_argument("--out", default="longbench", metavar="DIR", help="default: %(default)s")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Everything that can be wrong with words, files and the folder is found before the model is loaded."""
    from retrieval.plan import check_budget
    from retrieval.types import Budget

    from . import drawn, tasks
    from .arms import arms_named, make_arm
    from .results import Results, prepare

    arms = arms_named(args.arms)
    folder = Path(args.out)
    data = _windows(args, folder) if args.documents else Path(args.data)
    rows = drawn.read(data, drawn.chosen(args.tasks), args.limit)
    budget = Budget(alpha=args.alpha, cap=args.cap)
    check_budget(budget)
    prepare(folder)

    from cache_compiler.load import load_backbone

    from . import measures
    from .house import House, usual_length
    from .run import run as answer

    protocol = drawn.with_drawn(tasks.protocol_named(args.protocol))
    backbone = load_backbone(args.model)
    length = args.max_length or usual_length(backbone)
    house = House(backbone, protocol, length, args.max_tokens, args.embedder, budget, args.kl)
    made = [make_arm(name, house) for name in arms]
    settings = house.settings()
    with Results(folder, settings) as results, measures.Measures(folder) as beside:
        if results.note:
            print(results.note, file=sys.stderr)
        answer(rows, [measures.Measured(arm, beside) for arm in made], protocol, results, args.workers)
        said = _tables(folder, rows, arms, settings, results)
        costs = measures.summarise(arms, rows, beside)
        measures.write(folder, costs)
    print("\n\n".join(filter(None, (*said, measures.text(costs)))))
    return 0


def _windows(args: argparse.Namespace, folder: Path) -> Path:
    """Questions on documents as LongBench's rows, kept beside the results: what was asked can be read there."""
    from .documents import rows_of, write
    from .results import prepare

    made = rows_of(Path(args.data), Path(args.documents), args.words)
    for passed in made.passed:
        print(f"passed over: {passed}", file=sys.stderr)
    prepare(folder)
    write(folder / "questions.jsonl", made.rows)
    return folder / "questions.jsonl"


def _tables(
    folder: Path, rows: Mapping[str, Sequence[Record]], arms: Sequence[str], settings: Mapping[str, Any], results: Results
) -> list[str]:
    """The six tasks' tables, and apart from them that of `records`; each only where it was asked for."""
    from . import drawn_report, report
    from .drawn import DRAWN

    said = []
    if six := {task: group for task, group in rows.items() if task != DRAWN}:
        summary = report.summarise(six, arms, settings, results)
        report.write(folder, summary, report.times(arms, rows, results))
        said.append(report.text(summary))
    if DRAWN in rows:
        drawn_summary = drawn_report.summarise(rows[DRAWN], arms, settings, results)
        drawn_report.write(folder, drawn_summary)
        said.append(drawn_report.text(drawn_summary))
    return said


def _length(text: str) -> int:
    value = positive(text)
    if value < 64:
        raise argparse.ArgumentTypeError(f"{text}: at least 64, or no word of the context is left")
    return value
