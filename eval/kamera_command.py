"""Parsed words go in; Kamera's experiments are run, or what was left of them, and written down; or its patch is timed. The commands of both."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .errors import EvalError

if TYPE_CHECKING:
    from .arms import Bench

NAMES = "main,orbit,recall,survivors,envelope,depth"


def add_kamera(group: Any, positive: Callable[[str], int]) -> None:
    """`quire eval kamera`."""
    parser = group.add_parser(
        "kamera",
        help="conditioning patches against full prefill, blind reuse and other methods",
        description="Measures what blind reuse of page caches loses and what patches and other methods bring back, on pages whose headings "
        "stand on the page before. Writes results.json, tables (Markdown, CSV) and figures (PNG, SVG). Stopped and run again, it goes on.",
    )
    parser.add_argument("--n", type=positive, default=100, help="questions of the main run; the others take a share; default: %(default)s")
    parser.add_argument("--only", default=NAMES, metavar="RUNS", help="comma-separated; default: %(default)s")
    parser.add_argument("--lines", type=positive, default=6, help="lines of a page; default: %(default)s")
    parser.add_argument("--dpi", type=positive, default=120, help="default: %(default)s")
    parser.add_argument("--model", default="reader", help="'reader' or a local directory; default: %(default)s")
    parser.add_argument("--out", default="artefacts/kamera", metavar="DIR", help="default: %(default)s")
    parser.set_defaults(run=kamera)


def kamera(args: argparse.Namespace) -> int:
    """Raises EvalError on a run of no such name, without matplotlib, or on a folder that holds another run."""
    from cache_compiler.load import load_backbone
    from renderer import preset

    from . import plots
    from .arms import Bench
    from .kamera import Lab
    from .kamera_runs import Journal, chosen, run

    try:
        names = chosen(args.only)
    except ValueError as error:
        raise EvalError(f"--only {error}") from error
    plots.require()
    backbone = load_backbone(args.model)
    bench = Bench(backbone, preset(backbone.card.style, cell=backbone.cell))
    folder = Path(args.out)
    settings = {"n": args.n, "lines": args.lines, "dpi": args.dpi, "model": backbone.name}
    journal = Journal(folder / "items.jsonl", {**settings, "identity": bench.identity.as_mapping()})
    lab = Lab(bench, args.dpi, args.lines)
    begun = time.perf_counter()
    try:
        rows = {name: run(name, lab, args.n, journal, _progress(name)) for name in names}
    except KeyboardInterrupt:
        print(f"\nstopped; {len(journal.rows)} items are kept in {journal.path}, the same command goes on from there", file=sys.stderr)
        raise
    # What an earlier command measured of the other runs stays in the report.
    for name in NAMES.split(","):
        if name not in rows and (found := [row for (kind, _), row in journal.rows.items() if kind == name]):
            rows[name] = found
    print(write(folder, bench, settings, {name: rows[name] for name in NAMES.split(",") if name in rows}, time.perf_counter() - begun))
    return 0


def write(folder: Path, bench: Bench, settings: dict[str, Any], rows: dict[str, Any], seconds: float) -> str:
    """results.json, tables and figures of all rows; returns what the terminal shows."""
    from . import plots
    from .experiment import document
    from .kamera_report import as_csv, markdown
    from .kamera_summary import by_layer, summarise

    lines = {name: summarise(name, found) for name, found in rows.items() if found}
    text = markdown(settings, rows, lines)
    (folder / "kamera.md").write_text(text, encoding="utf-8")
    for name, found in lines.items():
        (folder / f"{name}.csv").write_text(as_csv(found), encoding="utf-8")
    if "depth" in lines:
        (folder / "layers.csv").write_text(as_csv(by_layer(rows["depth"])), encoding="utf-8")
    facts = json.loads(document("kamera", settings, bench, [], seconds, summary=lines))
    del facts["rows"]  # what this document calls a summary
    # An item a line: a file that can be read, and compared with another run's.
    items = ",\n".join(json.dumps(row, sort_keys=True) for found in rows.values() for row in found)
    text_of_facts = json.dumps(facts, indent=1, sort_keys=True)[: -len("\n}")]
    (folder / "results.json").write_text(f'{text_of_facts},\n "items": [\n{items}\n]}}\n', encoding="utf-8")
    plots.draw(folder, lines)
    return f"{text}\nwritten to {folder}: results.json, kamera.md, CSV tables, figures"


def add_patch(group: Any, positive: Callable[[str], int]) -> None:
    """`quire bench patch`."""
    parser = group.add_parser(
        "patch",
        help="placing a page with its patch against prefilling it again",
        description="Placing a page with and without its patch, prefilling it again behind the same page, and forming the patch, in turn, in "
        "one run. The last line is one JSON document.",
    )
    parser.add_argument(
        "--model", default="reader", help="'reader', 'small' (random, 142.5 M parameters), or a directory; default: %(default)s"
    )
    parser.add_argument("--tokens", default="256,512,1024,2048", metavar="N,N", help="visual tokens of the page; default: %(default)s")
    parser.add_argument("--rank", type=positive, default=32, help="default: %(default)s")
    parser.add_argument("--repeats", type=positive, default=7, help="counted rounds; default: %(default)s")
    parser.set_defaults(run=patch)


def patch(args: argparse.Namespace) -> int:
    """Raises EvalError on sizes that are no numbers."""
    from .patch_bench import measure, summarise

    words = args.tokens.split(",")
    if bad := [word for word in words if not (word.strip().isdecimal() and int(word) > 0)]:
        raise EvalError(f"--tokens {bad[0]!r}: whole numbers from 1, between commas")
    rows = measure(args.model, [int(word) for word in words], args.rank, args.repeats, lambda line: print(f"  {line}", file=sys.stderr))
    text, line = summarise(args.model, rows, args.repeats)
    print(text)
    print(line)
    return 0


def _progress(name: str) -> Callable[[int, int, float], None]:
    """One line that is written over on a terminal; ten lines in a file."""

    def show(done: int, total: int, rate: float) -> None:
        left = (total - done) / rate
        said = f"{name}: {done} of {total} items, {rate:.2f} a second, about {left / 60:.1f} min left"
        if sys.stderr.isatty():
            print(f"\r\x1b[K{said}", end="\n" if done == total else "", file=sys.stderr, flush=True)
        elif done == total or done % max(1, total // 10) == 0:
            print(said, file=sys.stderr, flush=True)

    return show
