"""Parsed words go in; what 1, 4 and 16 clients of the product's server wait for the first text is measured, printed and written: `quire bench serve`."""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

from eval.errors import EvalError


def add(group: Any) -> None:
    """`quire bench serve`, into the group of `quire bench`."""
    parser = group.add_parser(
        "serve",
        help="time to the first text over HTTP, for several numbers of clients at once",
        description="Takes a drawn document into a temporary home, prefills its questions in full for comparison, and then serves it: clients ask in "
        "a closed loop, and what each waits for the first text is split into waiting, engine and HTTP. The last line is one JSON document.",
    )
    parser.add_argument("--clients", type=_numbers, default=(1, 4, 16), metavar="N,N", help="clients at once; default: 1,4,16")
    parser.add_argument("--n", type=_positive, default=200, help="answers for each number of clients; default: %(default)s")
    parser.add_argument("--rounds", type=_positive, default=4, help="turns that the numbers of clients take; default: %(default)s")
    parser.add_argument("--pages", type=_positive, default=4, help="pages a question takes; default: %(default)s")
    parser.add_argument("--dpi", default="promote", help="one DPI, or 'promote': 72 and 120 by relevance; default: %(default)s")
    parser.add_argument("--patches", choices=["off", "adjacent"], default="adjacent", help="default: %(default)s")
    parser.add_argument("--full", type=int, default=20, help="full prefills in the same run to compare with, 0: none; default: %(default)s")
    parser.add_argument("--model", default="reader", help="'reader' or a local directory; default: %(default)s")
    parser.add_argument("--out", metavar="DIR", help="write serve.json and serve.md there")
    parser.set_defaults(run=serve)


def serve(args: argparse.Namespace) -> int:
    """Raises EvalError where no server can load the model, where it does not come up, and where an ask fails."""
    from . import client, crowd, served
    from .clock import percentiles
    from .corpus import open_corpus
    from .pages import RANDOM

    if args.model in RANDOM:
        raise EvalError(f"--model {args.model} is drawn in memory, and no server can load it; take 'reader' or a directory")
    begun = time.perf_counter()
    with open_corpus(args.model, args.pages, args.dpi, args.patches) as corpus:
        requests = served.measure(corpus, ["full"], args.full, 1, _say) if args.full else []
        full = percentiles([request.first_token for request in requests]) if requests else None
        # One more than may wait is turned away at once; what is measured is the wait, so all of them may.
        words = [*client.words_of(corpus), "--queue", str(max(args.clients)), "--rate", "0", "--ask-rate", "0"]
        with client.server(words) as port:
            levels = crowd.crowd(port, corpus, args.clients, args.n, args.rounds, _say)
        held, rows = corpus.held, max((request.rows for request in requests), default=None)
    found = [crowd.summary(level, full["p50"] if full else None) for level in levels]
    names = ("clients", "n", "rounds", "pages", "dpi", "patches", "full", "model")
    settings = {name: getattr(args, name) for name in names} | {"held": held, "rows": rows, "answer_tokens": client.ANSWER_TOKENS}
    facts = {"task": "serve", "settings": settings, "levels": found, "full_prefill": full, "seconds": time.perf_counter() - begun}
    text = markdown(facts)
    if args.out:
        folder = Path(args.out)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "serve.json").write_text(json.dumps(facts, indent=1, sort_keys=True) + "\n", encoding="utf-8")
        (folder / "serve.md").write_text(text, encoding="utf-8")
    print(text)
    print(json.dumps(facts, sort_keys=True))
    return 0


def markdown(facts: dict[str, Any]) -> str:
    """Two tables: the wait a number of clients, and its parts."""
    from .crowd import PARTS
    from .report import table

    settings, full = facts["settings"], facts["full_prefill"]
    whole = [["clients", "p50 ms", "p99 ms", "answers/s", "to full prefill", "without waiting"]]
    parts = [["clients", *(f"{part} p50" for part in PARTS), *(f"{part} p99" for part in PARTS)]]
    for level in facts["levels"]:
        first = level["first_content"]
        ratios = [level["ratio_to_full"], level["ratio_to_full_without_waiting"]]
        told = ["-" if ratio is None else f"{ratio:.3f}" for ratio in ratios]
        whole.append([str(level["clients"]), _ms(first["p50"]), _ms(first["p99"]), f"{level['answers_a_second']:.2f}", *told])
        parts.append([str(level["clients"]), *(_ms(level["parts"][part][p]) for p in ("p50", "p99") for part in PARTS)])
    compared = f"Full prefill of the same pages, in process, one at a time: p50 {_ms(full['p50'])} ms of {full['n']}. " if full else ""
    return (
        f"# Time to the first text over HTTP\n\n`{settings['model']}`, {settings['pages']} pages of {settings['held']} at {settings['dpi']} DPI, patches "
        f"{settings['patches']}, {settings['n']} answers of {settings['answer_tokens']} tokens for each number of clients, in a closed loop; caches in "
        f"memory. Clients and server share the machine. {compared}\n\n{table(whole)}\n\nMilliseconds by part:\n\n{table(parts)}\n"
    )


def _ms(seconds: float) -> str:
    return f"{1000 * seconds:.1f}"


def _say(line: str) -> None:
    print(f"  {line}", file=sys.stderr, flush=True)


def _positive(text: str) -> int:
    if not (text.isdecimal() and int(text) > 0):
        raise argparse.ArgumentTypeError(f"{text}: a whole number from 1")
    return int(text)


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(sorted({_positive(word) for word in text.split(",")}))
