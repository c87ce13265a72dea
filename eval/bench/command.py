"""Parsed words go in; the time to the first token is measured, printed and written down: `quire bench ttft`."""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eval.errors import EvalError

if TYPE_CHECKING:
    from .scaling import Grid, Scaling
    from .served import Request


def add(group: Any) -> None:
    """`quire bench ttft`, into the group of `quire bench`."""
    parser = group.add_parser(
        "ttft",
        help="time to first token, with page caches and by full prefill",
        description="Takes a drawn document into a temporary home and asks it questions: by the served walk with page caches in memory, on a "
        "warm and on a cold disk, and by full prefill of the same pages, in turn, in one process. The last line is one JSON document.",
    )
    parser.add_argument(
        "--models", default="reader", help="comma-separated: reader, random-small (142 M), a directory; default: %(default)s"
    )
    parser.add_argument("--requests", type=_positive, default=50, help="counted requests each way; default: %(default)s")
    parser.add_argument("--warmup", type=_count, default=5, help="requests before them; default: %(default)s")
    parser.add_argument("--pages", type=_positive, default=4, help="pages a question takes; default: %(default)s")
    parser.add_argument("--dpi", default="72", help="one DPI, or 'promote': 72 and 120 by relevance; default: %(default)s")
    parser.add_argument("--arms", default="full,caches", help="default: %(default)s")
    parser.add_argument(
        "--patches", choices=["off", "adjacent"], default="off", help="place pages with their patches too; default: %(default)s"
    )
    parser.add_argument("--http", action="store_true", help="also what a client waits for the first text, from the product's own server")
    parser.add_argument("--permutator", action="store_true", help="also documents in many orders, against a prefix cache")
    parser.add_argument("--documents", type=_positive, default=5, help="of the permutator; default: %(default)s")
    parser.add_argument("--document-pages", type=_positive, default=2, help="pages of each; default: %(default)s")
    parser.add_argument("--orders", type=_positive, default=10, help="of the permutator; default: %(default)s")
    parser.add_argument(
        "--scaling", action="store_true", help="also a run over pages, DPI, question length and model size, fitted; takes minutes"
    )
    parser.add_argument("--grid-models", default="reader,random-small", help="default: %(default)s")
    parser.add_argument("--grid-pages", type=_numbers, default=(1, 2, 4, 8), metavar="N,N", help="default: 1,2,4,8")
    parser.add_argument("--grid-dpi", type=_numbers, default=(72, 120), metavar="N,N", help="default: 72,120")
    parser.add_argument("--grid-question", type=_numbers, default=(16, 64, 256), metavar="N,N", help="tokens; default: 16,64,256")
    parser.add_argument("--grid-repeats", type=_positive, default=5, help="default: %(default)s")
    parser.add_argument("--out", metavar="DIR", help="write ttft.json, ttft.md, CSV tables and the scaling run's figures there")
    parser.set_defaults(run=ttft)


def ttft(args: argparse.Namespace) -> int:
    """Raises EvalError on words that mean nothing and on what cannot be measured as asked, before anything long is begun where it can."""
    from eval import plots

    from . import report
    from .corpus import dpis
    from .pages import RANDOM
    from .scaling import scale

    models = args.models.split(",")
    arms = args.arms.split(",")
    dpis(args.dpi)
    if bad := [arm for arm in arms if arm not in ("full", "caches")]:
        raise EvalError(f"--arms {bad[0]!r}: full, caches, or both between commas")
    if args.http and (drawn := [model for model in models if model in RANDOM]):
        raise EvalError(f"--http: {drawn[0]} is drawn in memory, and no server can load it; take 'reader' or a directory")
    if args.scaling:
        _grid(args).require()
    if args.scaling and args.out:
        plots.require()
    begun = time.perf_counter()
    found: list[tuple[str, Request]] = []
    documents, texts = [], []
    for model in models:
        facts = _one(model, arms, args, found)
        documents.append(facts)
        texts.append(report.model_report(facts))
        print(texts[-1], flush=True)
    scaling = scale(_grid(args), _say) if args.scaling else None
    if scaling:
        texts.append(report.scaling_report(scaling))
        print("\n" + texts[-1], flush=True)
    whole = {"task": "ttft", "models": documents, "scaling": scaling.facts() if scaling else None, "seconds": time.perf_counter() - begun}
    if args.out:
        _write(Path(args.out), texts, whole, found, scaling)
    print(json.dumps(whole, sort_keys=True))
    return 0


def _one(model: str, arms: list[str], args: argparse.Namespace, kept: list[tuple[str, Request]]) -> dict[str, Any]:
    """All that is measured of one model, as its JSON; the requests go into `kept`."""
    from eval.arms import Bench
    from eval.experiment import document, stopwatch

    from . import client, memory, permutator, served, summary
    from .corpus import open_corpus

    clock = stopwatch()
    with open_corpus(model, args.pages, args.dpi, args.patches) as corpus:
        house = corpus.house
        device = house.backbone.device
        peaks = [("when taken in", memory.peak())]
        bench = Bench(house.backbone, house.workshop.style, keep=max(256, args.documents * args.document_pages))
        _say(f"{corpus.held} pages taken in, {corpus.ingest_seconds:.1f} s")
        ways, without = served.ways_of(arms, corpus)
        requests = served.measure(corpus, ways, args.requests, args.warmup, _say)
        peaks.append(("when asked", memory.peak()))
        more: dict[str, Any] = {"ratios": summary.ratios(requests), "left_out": without}
        if args.http:
            more["http"] = summary.heard(client.hear(corpus, args.requests, args.warmup, _say), requests)
        if args.permutator:
            dpi = max(house.workshop.dpis)
            done = permutator.permute(bench, args.documents, args.document_pages, args.orders, dpi, 20, _say)
            more["permutator"] = summary.permuted(done)
            peaks.append(("when permuted", memory.peak()))
        if (on_device := memory.device_peak(device)) is not None:
            peaks.append(("on the GPU", on_device))
        more["memory"] = {
            "stored": [vars(row) for row in memory.stored(house)],
            "patch_bytes": memory.patch_bytes(house),
            "peaks": peaks,
            "resident": memory.resident(),
        }
        names = ("pages", "dpi", "arms", "requests", "warmup", "patches")
        settings = {name: getattr(args, name) for name in names}
        settings |= {"held": corpus.held, "parameters": sum(p.numel() for p in house.backbone.model.parameters())}
        settings |= {"device": str(device), "ingest_seconds": corpus.ingest_seconds}
        facts: dict[str, Any] = json.loads(document("ttft", settings, bench, summary.by_way(requests), clock(), **more))
    kept += [(model, request) for request in requests]
    return facts


def _grid(args: argparse.Namespace) -> Grid:
    from .scaling import Grid

    return Grid(tuple(args.grid_models.split(",")), args.grid_pages, args.grid_dpi, args.grid_question, args.grid_repeats)


def _write(folder: Path, texts: list[str], whole: dict[str, Any], found: list[tuple[str, Request]], scaling: Scaling | None) -> None:
    from . import figures, report

    folder.mkdir(parents=True, exist_ok=True)
    (folder / "ttft.json").write_text(json.dumps(whole, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    (folder / "ttft.md").write_text("# Time to first token\n\n" + "\n\n".join(texts) + "\n", encoding="utf-8")
    (folder / "requests.csv").write_text(report.requests_csv(found), encoding="utf-8")
    if scaling:
        (folder / "scaling.csv").write_text(report.as_csv(scaling.facts()["points"]), encoding="utf-8")
        figures.draw(folder, scaling)
    _say(f"written to {folder}")


def _say(line: str) -> None:
    print(f"  {line}", file=sys.stderr, flush=True)


def _positive(text: str) -> int:
    if not (text.isdecimal() and int(text) > 0):
        raise argparse.ArgumentTypeError(f"{text}: a whole number from 1")
    return int(text)


def _count(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text}: a whole number from 0")
    return int(text)


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(sorted({_positive(word) for word in text.split(",")}))
