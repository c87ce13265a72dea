"""Parsed words go in; a table of recall, a line a question and one JSON document come out: `quire eval recall`."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .recall import Found


def add(group: Any) -> None:
    """`quire eval recall`, into the group of `quire eval`."""
    parser = group.add_parser(
        "recall",
        help="whether the right page of real documents is among the first hits",
        description="Takes the documents that the questions name into a home of their own and looks for each question's page. Prints a table, a line "
        "a question, and as its last line one JSON document.",
    )
    parser.add_argument("--documents", metavar="DIR", required=True, help="the folder of the documents")
    parser.add_argument("--questions", metavar="FILE", required=True, help="jsonl: doc, page (from 1), input, answers, language")
    parser.add_argument("--top", type=int, default=4, help="hits that are looked at; default: %(default)s")
    parser.add_argument("--model", default="reader", help="whose page style cuts the chunks, and who answers; default: %(default)s")
    parser.add_argument("--embedder", default="minilm", help="default: %(default)s")
    parser.add_argument(
        "--search", choices=("hybrid", "dense"), default="hybrid", help="by meaning and by words, or by meaning alone; default: %(default)s"
    )
    parser.add_argument("--quick", action="store_true", help="compile with a random tiny model: the same hits, sooner; no --answers")
    parser.add_argument("--answers", action="store_true", help="also ask the model, and score it by LongBench's F1")
    parser.add_argument("--home", metavar="DIR", help="keep what was taken in there, for another run; default: a temporary one")
    parser.add_argument("--out", metavar="DIR", help="write recall.json and recall.md there")
    parser.set_defaults(run=recall)


def recall(args: argparse.Namespace) -> int:
    """Raises EvalError on words that do not fit together, NoData and BadRecord for the file of questions."""
    from . import recall as measures
    from .errors import EvalError
    from .longbench.documents import questions_of

    if args.quick and args.answers:
        raise EvalError("--quick compiles with a random model, which cannot answer; leave one of --quick and --answers out")
    if args.top < 1:
        raise EvalError(f"--top {args.top}: a whole number from 1")
    asked = [row for _, row in questions_of(Path(args.questions))]
    with nullcontext(args.home) if args.home else tempfile.TemporaryDirectory(prefix="quire-recall-") as home:
        house = measures.open_house(Path(home), args.model, args.embedder, args.quick, args.search)
        try:
            found, report = measures.measure(house, Path(args.documents), asked, args.top, args.answers, _progress())
        finally:
            house.close()
    names = ("documents", "questions", "top", "model", "embedder", "search", "quick", "answers")
    facts = measures.facts(found, report, args.top) | {"settings": {name: getattr(args, name) for name in names}}
    text = markdown(found, facts)
    if args.out:
        folder = Path(args.out)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "recall.json").write_text(json.dumps(facts, indent=1, sort_keys=True, ensure_ascii=False) + "\n", encoding="utf-8")
        (folder / "recall.md").write_text(text, encoding="utf-8")
    print(text)
    print(json.dumps(facts, sort_keys=True))
    return 1 if report.failed else 0


def markdown(found: Sequence[Found], facts: dict[str, Any]) -> str:
    from .bench.report import table

    settings = facts["settings"]
    whole = [["language", "n", f"right page in top {settings['top']}", "recall", "95 %", "answer's words in a hit", "F1 of the answers"]]
    for row in facts["rows"]:
        low, high = row["interval"]
        f1 = "-" if row["f1"] is None else f"{100 * row['f1']:.1f}"
        whole.append(
            [
                row["language"],
                str(row["n"]),
                str(row["right"]),
                f"{100 * row['recall']:.0f} %",
                f"{100 * low:.0f} to {100 * high:.0f}",
                str(row["holds"]),
                f1,
            ]
        )
    each = [["question", "page", "rank", "words", *(["said", "F1"] if settings["answers"] else [])]]
    for one in found:
        said = [repr(one.said or ""), "-" if one.f1 is None else f"{100 * one.f1:.0f}"] if settings["answers"] else []
        rank = "-" if one.rank is None else str(one.rank)
        each.append([f"{one.question} ({one.document})".replace("|", "\\|"), str(one.page), rank, "yes" if one.holds else "no", *said])
    failed = "".join(f"\nNot taken in: {one['name']}: {one['reason']}\n" for one in facts["failed"])
    return f"# Recall\n\n`{settings['embedder']}`, {settings['search']} search, pages of `{settings['model']}`.\n\n{table(whole)}\n{failed}\n{table(each)}\n"


def _progress() -> Any:
    """A line when the stage changes, on a terminal; nothing in a file."""
    last = ""

    def say(line: str) -> None:
        nonlocal last
        if line != last and sys.stderr.isatty():
            print(f"  {line}", file=sys.stderr, flush=True)
        last = line

    return say
