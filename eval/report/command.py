"""`quire eval report`: a folder's name goes in; one HTML file, and an exit code, come out."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any

from eval.errors import EvalError


def add(group: Any) -> None:
    """Add `report` to the subparsers of `quire eval`."""
    parser: argparse.ArgumentParser = group.add_parser(
        "report",
        help="one HTML page of all results in a folder",
        description="Gathers what q1 to q4, kamera and bench ttft wrote below DIR into one self-contained HTML page, with the papers' published "
        "figures beside ours, marked as theirs. What is missing is named as missing.",
    )
    parser.add_argument("folder", metavar="DIR", nargs="?", default="docs/results", help="default: %(default)s")
    parser.add_argument("--out", metavar="FILE", help="default: DIR/report.html")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Raises EvalError where DIR is no folder, holds no result, or holds one of another version; or where the file cannot be written."""
    from .find import find
    from .page import page

    folder = Path(args.folder)
    if not folder.is_dir():
        raise EvalError(f"{folder}: no such folder; give the one that q1 to q4 and kamera wrote to")
    found = find(folder)
    if not found.results:
        raise EvalError(f"{folder}: no results of q1 to q4, kamera or ttft in it; run one of them with --out {folder}/q1 first")
    out = Path(args.out) if args.out else folder / "report.html"
    draft = out.with_name(out.name + ".draft")
    try:
        draft.write_text(page(found), encoding="utf-8", newline="\n")
        os.replace(draft, out)
    except OSError as error:
        raise EvalError(f"{out}: cannot be written ({error.strerror or error}); give another --out") from error
    print(
        f"{out}: {', '.join(result.task for result in found.results)}" + (f"; missing: {', '.join(found.missing)}" if found.missing else "")
    )
    for line in found.unreadable:
        print(f"not read: {line}")
    return 0
