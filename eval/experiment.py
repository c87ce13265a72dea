"""Samples and arms go in; a table of exact match and F1 comes out, and one JSON document that says what was measured, and with what."""

from __future__ import annotations

import json
import platform
import subprocess
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from retrieval.embedder import Embedder
from retrieval.types import Budget

from .arms import Bench
from .records import Sample
from .resolution import promoted, uniform
from .score import exact_match, token_f1, wilson
from .world import NOT_STATED

HOPS = {0: "absent", 1: "one hop", 2: "two hops", 3: "heading on the page before"}


@dataclass(frozen=True)
class Outcome:
    """One sample under one arm."""

    arm: str
    sample: Sample
    dpis: tuple[int, ...]
    rows: int  # cache rows of the context: what the question attends to
    answer: str
    exact: bool
    f1: float


def run(
    samples: Sequence[Sample],
    arms: Sequence[str],
    dpi: str,
    bench: Bench,
    embedder: Embedder | None,
    progress: Callable[[int, int], None] = lambda *_: None,
) -> list[Outcome]:
    """Every sample under every arm. `dpi` is a number, or "promote" for query-aware allocation (then `embedder` is needed)."""
    outcomes: list[Outcome] = []
    kept: dict[tuple[str, tuple[str, ...], tuple[int, ...]], Any] = {}
    for number, sample in enumerate(samples):
        pages = ["\n".join(page) for page in sample.pages]
        dpis = tuple(promoted(pages, sample.question, _needed(embedder), Budget()) if dpi == "promote" else uniform(pages, int(dpi)))
        for arm in arms:
            place = (arm, tuple(pages), dpis)
            if place not in kept:
                # Questions over one context follow each other: the context is prefilled or linked once, and only the last of each arm is kept.
                kept = {at: assembly for at, assembly in kept.items() if at[0] != arm}
                kept[place] = bench.assemble(arm, bench.images(pages, dpis), room=256)
            reply = bench.reply(kept[place], sample.question)
            right = exact_match(reply.text, [sample.answer])
            outcomes.append(Outcome(arm, sample, dpis, kept[place].length, reply.text, right, token_f1(reply.text, sample.answer)))
        progress(number + 1, len(samples))
    return outcomes


def _needed(embedder: Embedder | None) -> Embedder:
    if embedder is None:
        raise ValueError("query-aware allocation needs an embedder")
    return embedder


def summary(outcomes: Sequence[Outcome], arms: Sequence[str]) -> list[dict[str, Any]]:
    """A row an arm and kind of question: n, exact match with its 95 % interval, F1 (per cent), questions refused ("not stated"), cache rows,
    answers equal to the `full` arm's.
    """
    judge = {outcome.sample.id: outcome.answer for outcome in outcomes if outcome.arm == "full"}
    groups: dict[tuple[str, int], list[Outcome]] = defaultdict(list)
    for outcome in outcomes:
        groups[outcome.arm, outcome.sample.hops].append(outcome)
    kinds = sorted({hops for _, hops in groups})
    rows = []
    for hops in [None, *kinds] if len(kinds) > 1 else [None]:
        for arm in arms:
            found = [o for (name, kind), group in groups.items() if name == arm and hops in (None, kind) for o in group]
            if not found:
                continue
            right = sum(o.exact for o in found)
            low, high = wilson(right, len(found))
            rows.append(
                {
                    "arm": arm,
                    "questions": "all" if hops is None else HOPS.get(hops, str(hops)),
                    "n": len(found),
                    "exact": right,
                    "exact_percent": round(100 * right / len(found), 1),
                    "exact_interval": [round(100 * low, 1), round(100 * high, 1)],
                    "f1_percent": round(100 * sum(o.f1 for o in found) / len(found), 1),
                    "refused": sum(exact_match(o.answer, [NOT_STATED]) for o in found),
                    "mean_rows": round(sum(o.rows for o in found) / len(found), 1),
                    "same_as_full": sum(judge.get(o.sample.id) == o.answer for o in found) if judge else None,
                }
            )
    return rows


def table(rows: Sequence[dict[str, Any]]) -> str:
    """The summary as aligned text."""
    lines = [
        f"{'arm':<10} {'questions':<27} {'n':>5} {'EM %':>6} {'95 % interval':>15} {'F1 %':>6} {'refused':>7} {'rows':>7} {'= full':>7}"
    ]
    for row in rows:
        low, high = row["exact_interval"]
        same = "" if row["same_as_full"] is None else str(row["same_as_full"])
        interval = f"{low:.1f} to {high:.1f}"
        lines.append(
            f"{row['arm']:<10} {row['questions']:<27} {row['n']:>5} {row['exact_percent']:>6.1f} {interval:>15} "
            f"{row['f1_percent']:>6.1f} {row['refused']:>7} {row['mean_rows']:>7.1f} {same:>7}"
        )
    return "\n".join(lines)


def document(task: str, settings: dict[str, Any], bench: Bench, rows: Sequence[dict[str, Any]], seconds: float, **more: Any) -> str:
    """One line of JSON that describes the measurement: what ran, on what, how often, and the rows."""
    facts = {
        "task": task,
        "settings": settings,
        "identity": bench.identity.as_mapping(),
        "model": bench.backbone.name,
        "versions": versions(),
        "threads": torch.get_num_threads(),
        "seconds": round(seconds, 1),
        "rows": list(rows),
        **more,
    }
    return json.dumps(facts, sort_keys=True)


def versions() -> dict[str, str]:
    return {"torch": torch.__version__, "python": platform.python_version(), "commit": commit()}


def commit() -> str:
    """The checkout's commit, or "unknown" outside one."""
    root = Path(__file__).resolve().parent.parent
    found = subprocess.run(["git", "rev-parse", "--short=12", "HEAD"], cwd=root, capture_output=True, text=True, check=False)
    return found.stdout.strip() or "unknown"


def stopwatch() -> Callable[[], float]:
    begun = time.perf_counter()
    return lambda: time.perf_counter() - begun
