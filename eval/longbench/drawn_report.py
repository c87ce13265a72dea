"""Answered rows of `records` go in; exact match beside F1 comes out, an arm a line: `records.json`, `records.md`, and text.

A function of records and answers alone, as the summary of the six tasks is; and apart from it, for it is in no mean.
"""

from __future__ import annotations

import json
import os
import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from eval.score import exact_match, wilson

from . import scoring
from .drawn import DRAWN
from .records import Record
from .report import score
from .results import Results

NOTE = "records: pages of made-up things, not one of LongBench's six tasks; it is in no mean"


def summarise(rows: Sequence[Record], arms: Sequence[str], settings: Mapping[str, Any], results: Results) -> dict[str, Any]:
    """Each arm's exact match with Wilson's interval, and F1 with the bootstrap's; a failed sample is wrong, and counted."""
    found = []
    for arm in arms:
        lines = [results.done[arm, DRAWN, record.id] for record in rows]
        right = sum(line.error is None and exact_match(line.pred, line.answers) for line in lines)
        low, high = wilson(right, len(lines))
        scores = [score(line) for line in lines]
        found.append(
            {
                "arm": arm,
                "n": len(lines),
                "failed": sum(line.error is not None for line in lines),
                "exact": round(100 * right / len(lines), 2),
                "exact_interval": [round(100 * low, 2), round(100 * high, 2)],
                "f1": scoring.per_cent(scores),
                "f1_interval": scoring.interval(DRAWN, scores),
                "mean_rows": round(statistics.fmean(line.rows for line in lines), 1),
            }
        )
    return {"note": NOTE, "settings": dict(settings), "arms": found}


def text(summary: Mapping[str, Any]) -> str:
    """For a terminal."""
    wide = max(len("arm"), *(len(arm["arm"]) for arm in summary["arms"]))
    lines = [
        summary["note"],
        "",
        f"{'arm':<{wide}} {'n':>5} {'EM %':>6} {'95 % interval':>15} {'F1 %':>6} {'95 % interval':>15} {'rows':>8} {'failed':>6}",
    ]
    for arm in summary["arms"]:
        exact, f1 = (" to ".join(f"{end:.1f}" for end in arm[name]) for name in ("exact_interval", "f1_interval"))
        lines.append(
            f"{arm['arm']:<{wide}} {arm['n']:>5} {arm['exact']:>6.1f} {exact:>15} {arm['f1']:>6.1f} {f1:>15} "
            f"{arm['mean_rows']:>8.1f} {arm['failed']:>6}"
        )
    return "\n".join(lines)


def markdown(summary: Mapping[str, Any]) -> str:
    rows = [["arm", "n", "exact match", "F1", "rows", "failed"], ["---"] * 6]
    for arm in summary["arms"]:
        figures = (f"{arm[name]:.2f} ({arm[f'{name}_interval'][0]:.2f} to {arm[f'{name}_interval'][1]:.2f})" for name in ("exact", "f1"))
        rows.append([arm["arm"], arm["n"], *figures, arm["mean_rows"], arm["failed"]])
    return f"{summary['note']}\n\n" + "\n".join("| " + " | ".join(map(str, row)) + " |" for row in rows) + "\n"


def write(folder: Path, summary: Mapping[str, Any]) -> None:
    """Each file whole, or as it was before."""
    for name, content in (("records.json", json.dumps(summary, indent=1, sort_keys=True) + "\n"), ("records.md", markdown(summary))):
        draft = folder / f"{name}.draft"
        draft.write_text(content, encoding="utf-8", newline="\n")
        os.replace(draft, folder / name)
