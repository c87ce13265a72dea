"""Parsed words go in; a server is loaded, and the report printed and written: `quire bench load`. It ends with 1 where a promise was broken."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any


def add(group: Any) -> None:
    """`quire bench load`, into the group of `quire bench`."""
    parser = group.add_parser(
        "load",
        help="the server under clients that ask, upload and delete, and under kill -9",
        description="Starts the product's server over a fresh home and lets clients ask, upload and delete for minutes; with --kill-every it is "
        "killed and started again while they go on. Then everything it promised is held against it. The last line is one JSON document; the "
        "exit code is 1 where a promise was broken.",
    )
    parser.add_argument("--minutes", type=_over_zero, default=10.0, help="default: %(default)s")
    parser.add_argument("--ask", type=_count, default=50, help="clients that ask; default: %(default)s")
    parser.add_argument("--upload", type=_count, default=5, help="clients that upload; default: %(default)s")
    parser.add_argument("--delete", type=_count, default=2, help="clients that delete; default: %(default)s")
    parser.add_argument("--kill-every", type=_over_zero, metavar="SECONDS", help="kill -9 about so often, and start again; default: never")
    parser.add_argument("--about", type=_count, default=40, help="documents that the collection is kept near; default: %(default)s")
    parser.add_argument("--pause", type=_over_zero, default=2.0, help="seconds a deleter waits between two; default: %(default)s")
    parser.add_argument("--seed", type=int, default=1, help="of the documents and the clients' choices; default: %(default)s")
    parser.add_argument("--model", default="reader", help="'reader' or a local directory; default: %(default)s")
    parser.add_argument("--out", metavar="DIR", required=True, help="load.json, load.md, memory.png, server.log and the home go there")
    parser.set_defaults(run=load)


def load(args: argparse.Namespace) -> int:
    from .report import draw, markdown
    from .run import Load, run

    names = ("minutes", "ask", "upload", "delete", "kill_every", "about", "pause", "seed", "model")
    folder = Path(args.out)
    facts = run(Load(**{name: getattr(args, name) for name in names}), folder, _say)
    text = markdown(facts)
    (folder / "load.json").write_text(json.dumps(facts, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    (folder / "load.md").write_text(text, encoding="utf-8")
    draw(folder, facts)
    print(text)
    print(json.dumps({name: value for name, value in facts.items() if name not in ("seen", "examples")}, sort_keys=True))
    return 0 if facts["kept"] else 1


def _say(line: str) -> None:
    print(f"  {line}", file=sys.stderr, flush=True)


def _over_zero(text: str) -> float:
    value = float(text)
    if not 0 < value < 1e6:
        raise argparse.ArgumentTypeError(f"{text}: a number above 0")
    return value


def _count(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text}: a whole number from 0")
    return int(text)
