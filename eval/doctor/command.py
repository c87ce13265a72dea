"""`quire doctor MODEL`: its words go in; a verdict comes out, kept where this home keeps the model's page caches. 0 trusted, 1 degraded, 7 refused."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from app.errors import INSTALLATION
from cache_compiler.verdict import Verdict, Word

EXITS: dict[Word, int] = {"trusted": 0, "degraded": 1, "refused": INSTALLATION}


def add(commands: Any) -> None:
    """Add `doctor` to the subparsers of `quire`."""
    from app.options import add_settings

    parser: argparse.ArgumentParser = commands.add_parser(
        "doctor",
        help="examine a model: whether its page caches are what it would have made itself",
        description="Runs the model's self-check, the exact oracles, and twenty bundled questions from page caches and by full prefill, and says "
        "trusted, degraded (with figures) or refused. The verdict is kept in the home, with the store of that model: ingest, ask, chat and serve "
        "ask for it. Minutes on a CPU. Exit code: 0 trusted, 1 degraded, 7 refused.",
    )
    parser.add_argument("model", metavar="MODEL", help='"reader", "smollm2", or a local directory in the Hugging Face layout')
    parser.add_argument("--json", action="store_true", help="print the verdict as one JSON document")
    add_settings(parser, "home", "config", "dtype", "style", "high")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Raises the rooms' errors: no such model, a failed self-check (then the model is refused, and cannot be loaded at all), ..."""
    from app.options import settings_of
    from cache_compiler.identity import identify
    from cache_compiler.load import load_backbone
    from cache_compiler.store import CacheStore
    from cache_compiler.verdict import encode_verdict, keep_verdict
    from ingest.home import Home
    from renderer import preset

    from .examine import examine, verdict

    settings = settings_of(args)
    backbone = load_backbone(settings.model, dtype=settings.dtype)
    # As ingest does: it is the same store that the verdict goes into.
    style = preset(settings.style or backbone.card.style, cell=backbone.cell if backbone.reads_images else None)
    home = Home(Path(settings.home))
    identity = identify(backbone, style.fingerprint, memo=home.weights_memo)
    print(f"{settings.model}: the self-check has passed", file=sys.stderr)
    found = verdict(examine(backbone, style, settings.high, progress=_shown), backbone, identity)
    path = keep_verdict(CacheStore(home.store_root, identity).folder, found)
    print(encode_verdict(found).decode(), end="") if args.json else print(told(settings.model, found, path))
    return EXITS[found.word]


def told(model: str, found: Verdict, path: Path) -> str:
    """The verdict as a person reads it: what was measured beside what is allowed, the word, and why."""
    from app import printed

    figures, limits = found.figures, found.figures["bounds"]
    oracles = [(name, f"{r['distance']:.1e}", f"{limits['oracles']:.1e}", f"{r['control']:.1e}") for name, r in figures["oracles"].items()]
    answers = [
        (arm, f"{a['same']} of {a['n']}", f"{a['kl_mean']:.1e}", f"{a['kl_max']:.1e}", f"{a['right']} of {a['n']}")
        for arm, a in figures["agreement"].items()
    ]
    return "\n".join(
        [
            printed.table(("oracle", "off by", "allowed", "wrong on purpose"), oracles),
            "(shares of the logits' spread)\n",
            printed.table(("page caches on", "answers as full prefill", "KL, mean", "KL, largest", "exactly right"), answers),
            f"(nats at the first token; on one page {limits['one_page_kl']:.0e} are allowed, on two pages with patches "
            f"{limits['two_pages_same']:.0%} of the answers are wanted)\n",
            f"{model}: {found.word}",
            *(f"  {printed.plain(reason)}" for reason in found.reasons),
            f"kept in {path}",
        ]
    )


def _shown(what: str, done: int, total: int) -> None:
    """A progress line on a terminal, and nothing in a file."""
    if sys.stderr.isatty():
        print(f"\r{done} of {total} {what}", end="\n" if done == total else "", file=sys.stderr, flush=True)
