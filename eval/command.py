"""Command-line words go in; an exit code comes out: the product's own commands, and besides them those that measure it."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Sequence

from app.command import build_parser, positive, run
from app.errors import BadRequest

from .bench.command import add as add_ttft
from .bench.serve import add as add_serve
from .doctor.command import add as add_doctor
from .kamera_command import add_kamera, add_patch
from .load.command import add as add_load
from .longbench.command import add as add_longbench
from .questions.command import add as add_questions
from .recall_command import add as add_recall
from .records import HELD_OUT, ONLY
from .report.command import add as add_report


def main(argv: Sequence[str] | None = None) -> int:
    """`quire`: parse and run."""
    parser, commands = build_parser()
    _add_eval(commands)
    _add_bench(commands)
    add_doctor(commands)
    _add_demo(commands)
    words = sys.argv[1:] if argv is None else argv
    if not words:
        parser.print_help()
        return 2
    return run(parser.parse_args(words))


def _add_eval(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    group = commands.add_parser("eval", help="measure answers", description="Measure answers, arm against arm.").add_subparsers(
        metavar="TASK", required=True
    )
    records = group.add_parser(
        "records",
        help="the records task: exact match and F1, per arm",
        description="Questions about made-up things on rendered pages, drawn from a seed. Prints a table and, as its last line, one JSON document.",
    )
    records.add_argument(
        "--arms", default="full,template,free", help="comma-separated: full, template, free, dummy-K; default: %(default)s"
    )
    records.add_argument("--n", type=positive, default=100, help="questions; default: %(default)s")
    records.add_argument("--pages", type=positive, default=1, help="pages of a context; default: %(default)s")
    records.add_argument("--lines", type=positive, default=12, help="lines of a page; default: %(default)s")
    records.add_argument("--each", type=positive, default=4, help="questions asked of one context; default: %(default)s")
    records.add_argument("--kind", choices=["build", "sections"], default="build", help="sentences in any order, or rows under headings")
    records.add_argument(
        "--hops", type=float, default=0.0, help="share of facts that are reached through another one; default: %(default)s"
    )
    records.add_argument(
        "--absent", type=float, default=0.0, help="share of contexts with a question whose answer is not there; default: 0"
    )
    records.add_argument("--only", choices=[*ONLY], help="ask questions of this sort alone")
    records.add_argument(
        "--dpi",
        type=_dpi,
        default="120",
        help="one DPI for all pages, or 'promote': 72 and 120 by relevance (QV-PIC); default: %(default)s",
    )
    records.add_argument("--seed", type=int, default=HELD_OUT, help="default: %(default)s, the seed of the card's figures")
    records.add_argument("--data", metavar="FILE", help="questions from a jsonl file in LongBench's form, instead of drawing them")
    records.add_argument("--write", metavar="FILE", help="write the questions as such a file and stop")
    records.add_argument("--model", default="reader", help="'reader' or a local directory; default: %(default)s")
    records.set_defaults(run=_records)
    card = group.add_parser(
        "card",
        help="the figures of a reader's card",
        description="Asks a reader every row of the records task that a card has, and writes figures.json and figures.md, each row with the "
        "command that repeats it. On two cores the embedded reader takes the better part of an hour; what is there already of the same weights stays, "
        "so rows and DPIs can be asked one by one.",
    )
    card.add_argument("--model", default="reader", help="'reader' or a local directory; default: %(default)s")
    card.add_argument("--n", type=positive, default=200, help="questions of each row; default: %(default)s")
    card.add_argument("--rows", help="only rows whose title has these words")
    card.add_argument("--dpi", help="only at this DPI (72, 120 or promote)")
    card.add_argument("--out", metavar="DIR", help="where to write; default: print the table alone")
    card.set_defaults(run=_card)
    add_longbench(group)
    add_questions(group)
    add_kamera(group, positive)
    add_report(group)
    add_recall(group)


def _add_bench(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    group = commands.add_parser("bench", help="measure time", description="Measure time, always against the alternative.").add_subparsers(
        metavar="WHAT", required=True
    )
    add_ttft(group)
    add_serve(group)
    add_load(group)
    add_patch(group, positive)


def _add_demo(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    demo = commands.add_parser(
        "demo",
        help="take in the sample documents and ask them twenty questions",
        description="Takes in samples/, asks its twenty questions, and prints each answer beside the expected one, with its page and its time.",
    )
    demo.add_argument("--home", default=None, help="where to keep what comes of it; default: as `quire config` says")
    demo.set_defaults(run=_demo)


def _records(args: argparse.Namespace) -> int:
    from pathlib import Path

    from cache_compiler.load import load_backbone
    from renderer import preset
    from retrieval.embedder import load_embedder

    from .arms import Bench
    from .experiment import document, run, stopwatch, summary, table
    from .records import RecordsError, first, read, write

    arms = args.arms.split(",")
    for arm in arms:
        if not re.fullmatch(r"full|template|free|dummy-\d{1,3}", arm):
            raise BadRequest(f"arm {arm!r}: it is full, template, free or dummy-K with a number K")
    drawn = (args.kind, args.pages, args.lines, args.seed)
    only = ONLY.get(args.only)
    try:
        if args.data:
            chosen = [sample for sample in read(Path(args.data)) if only in (None, sample.hops)][: args.n]
        else:
            chosen = first(args.n, *drawn, each=args.each, hops=args.hops, absent=args.absent, only=only)
    except RecordsError as error:
        raise BadRequest(str(error)) from error
    if args.write:
        write(Path(args.write), chosen)
        print(f"{len(chosen)} questions written to {args.write}")
        return 0
    backbone = load_backbone(args.model)
    bench = Bench(backbone, preset(backbone.card.style, cell=backbone.cell))
    embedder = load_embedder("minilm") if args.dpi == "promote" else None
    clock = stopwatch()
    outcomes = run(chosen, arms, args.dpi, bench, embedder, _counter("questions"))
    rows = summary(outcomes, arms)
    print(table(rows))
    names = ("arms", "n", "pages", "lines", "each", "kind", "hops", "absent", "only", "dpi", "seed", "data", "model")
    print(document("records", {name: getattr(args, name) for name in names}, bench, rows, clock(), questions=len(chosen)))
    return 0


def _card(args: argparse.Namespace) -> int:
    from dataclasses import replace
    from pathlib import Path

    from cache_compiler.load import load_backbone
    from renderer import preset
    from retrieval.embedder import load_embedder

    from . import card
    from .arms import Bench
    from .experiment import versions

    named = [row for row in card.ROWS if not args.rows or args.rows in row.title]
    if not named:
        raise BadRequest(f"--rows {args.rows!r}: no row has these words; the rows are {'; '.join(row.title for row in card.ROWS)}")
    chosen = [replace(row, dpis=(dpi,)) for row in named for dpi in row.dpis if args.dpi in (None, dpi)]
    if not chosen:
        raise BadRequest(f"--dpi {args.dpi}: these rows are asked at {', '.join(dict.fromkeys(dpi for row in named for dpi in row.dpis))}")
    backbone = load_backbone(args.model)
    try:
        weights = card.weights_of(card.directory_of(args.model))
    except ValueError as error:
        raise BadRequest(str(error)) from error
    bench, embedder = Bench(backbone, preset(backbone.card.style, cell=backbone.cell)), load_embedder("minilm")
    lines = []
    for row in chosen:
        lines += card.figures(bench, embedder, args.model, args.n, [row])
        found = card.document(lines, weights, {"n": args.n, "versions": versions()})
        if args.out:
            # DPI by DPI: what is stopped keeps what it has.
            card.write(Path(args.out), found)
    print(card.markdown(found))
    return 0


def _demo(args: argparse.Namespace) -> int:
    from .demo import demo

    return demo(args.home)


def _counter(what: str) -> Callable[[int, int], None]:
    """A progress line on a terminal, and nothing in a file."""

    def show(done: int, total: int) -> None:
        if sys.stderr.isatty():
            print(f"\r{done} of {total} {what}", end="\n" if done == total else "", file=sys.stderr, flush=True)

    return show


def _dpi(text: str) -> str:
    if text != "promote" and not (text.isdecimal() and int(text) > 0):
        raise argparse.ArgumentTypeError(f"{text}: a whole number, or 'promote'")
    return text


if __name__ == "__main__":
    sys.exit(main())
