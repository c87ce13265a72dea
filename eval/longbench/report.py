"""A finished run goes in; `summary.json`, `table.md`, `table.csv` and `times.json` come out, and the table as text.

The summary is a function of records, answers and settings alone: a run that was stopped and gone on with writes the same bytes. What took how
long differs from run to run, and stands apart in `times.json`.
"""

from __future__ import annotations

import csv
import io
import json
import os
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from itertools import combinations
from pathlib import Path
from typing import Any

from eval.score import score_sample

from . import scoring
from .records import Record
from .results import Line, Results
from .tasks import LONGBENCH_E, ROWS, TASKS

_SHOWN_FAILURES = 20


def summarise(
    records: Mapping[str, Sequence[Record]], arms: Sequence[str], settings: Mapping[str, Any], results: Results
) -> dict[str, Any]:
    """Every arm's tasks and mean, every pair of arms, every failure. Each row of the data has a line: `run` ends only then."""
    lines = {arm: {task: [results.done[arm, task, r.id] for r in group] for task, group in records.items()} for arm in arms}
    scores = {arm: {task: [score(line) for line in group] for task, group in tasks.items()} for arm, tasks in lines.items()}
    return {
        "protocol": settings["protocol"],
        "settings": dict(settings),
        "notes": _notes(records),
        "arms": [_arm(arm, lines[arm], scores[arm]) for arm in arms],
        "pairs": [_pair(a, b, scores) for a, b in combinations(arms, 2)],
        "failures": [
            {"arm": line.arm, "task": line.task, "id": line.id, "error": line.error}
            for tasks in lines.values()
            for group in tasks.values()
            for line in group
            if line.error is not None
        ],
    }


def score(line: Line) -> float:
    """0 to 1. A failed sample is a row like any other: 0 in the sum, and 1 in the count."""
    return 0.0 if line.error is not None else score_sample(line.task, line.pred, line.answers)


def _notes(records: Mapping[str, Sequence[Record]]) -> list[str]:
    notes = [f"{task}: {len(group)} of {ROWS[task]} rows" for task, group in records.items() if len(group) != ROWS[task]]
    if len(records) < len(TASKS):
        notes.append(f"the mean is over {len(records)} of {len(TASKS)} tasks: {', '.join(records)}")
    if set(records) - LONGBENCH_E:
        notes.append(f"LongBench-E has no {', '.join(sorted(set(records) - LONGBENCH_E))}: their buckets are ours")
    return notes


def _arm(arm: str, lines: Mapping[str, Sequence[Line]], scores: scoring.Scores) -> dict[str, Any]:
    tasks = {}
    for task, group in lines.items():
        buckets = scoring.by_length(scores[task], [line.length for line in group])
        tasks[task] = {
            "f1": scoring.per_cent(scores[task]),
            "interval": scoring.interval(task, scores[task]),
            "n": len(group),
            "failed": sum(line.error is not None for line in group),
            "mean_rows": round(statistics.fmean(line.rows for line in group), 1),
            "buckets": {name: {"f1": f1, "n": n} for name, (f1, n) in buckets.items()},
        }
    mean = {"f1": scoring.mean_of_tasks(scores), "interval": scoring.interval_of_mean(scores), "tasks": len(scores)}
    return {"arm": arm, "tasks": tasks, "mean": mean}


def _pair(a: str, b: str, scores: Mapping[str, scoring.Scores]) -> dict[str, Any]:
    tasks, mean = scoring.compare(scores[a], scores[b])
    return {"a": a, "b": b, "tasks": {task: asdict(found) for task, found in tasks.items()}, "mean": asdict(mean)}


def times(arms: Sequence[str], records: Mapping[str, Sequence[Record]], results: Results) -> dict[str, Any]:
    """Seconds to the first token and generated tokens, of the samples that have an answer."""
    found: dict[str, Any] = {}
    for arm in arms:
        for task, group in records.items():
            answered = [line for record in group if (line := results.done[arm, task, record.id]).error is None]
            firsts = [line.first_token_seconds for line in answered if line.first_token_seconds is not None]
            found.setdefault(arm, {})[task] = {
                "n": len(firsts),
                "first_token_mean": round(statistics.fmean(firsts), 4) if firsts else None,
                "first_token_median": round(statistics.median(firsts), 4) if firsts else None,
                "tokens_mean": round(statistics.fmean(line.tokens for line in answered), 1) if answered else None,
            }
    return found


def text(summary: Mapping[str, Any]) -> str:
    """The tables for a terminal: F1 an arm and task, the pairs, what failed."""
    names = list(summary["arms"][0]["tasks"])
    wide = max(len("arm"), *(len(arm["arm"]) for arm in summary["arms"]))
    lines = [
        _title(summary),
        "",
        f"{'arm':<{wide}}" + "".join(f" {name:>15}" for name in names) + f" {'mean':>7} {'95 % interval':>15} {'failed':>6}",
    ]
    for arm in summary["arms"]:
        cells = "".join(f" {task['f1']:>15.2f}" for task in arm["tasks"].values())
        low, high = arm["mean"]["interval"]
        failed = sum(task["failed"] for task in arm["tasks"].values())
        lines.append(f"{arm['arm']:<{wide}}{cells} {arm['mean']['f1']:>7.2f} {f'{low:.2f} to {high:.2f}':>15} {failed:>6}")
    lines += [""] * bool(summary["pairs"]) + [_said(pair) for pair in summary["pairs"]]
    lines += _failures(summary) + [""] * bool(summary["notes"]) + [f"note: {note}" for note in summary["notes"]]
    return "\n".join(lines)


def _title(summary: Mapping[str, Any]) -> str:
    facts = summary["settings"]
    cut = f", prompts cut to {facts['max_length']:,} tokens" if facts["max_length"] else ""
    odd = f", answers cut to {facts['max_tokens']} tokens (not the protocol's)" if facts["max_tokens"] else ""
    return f"LongBench, token F1 in per cent; protocol {summary['protocol']}; model {facts['model']}{cut}{odd}"


def _said(pair: Mapping[str, Any]) -> str:
    low, high = pair["mean"]["interval"]
    return f"{pair['a']} - {pair['b']}: {pair['mean']['points']:+.2f} points ({low:+.2f} to {high:+.2f}), p = {pair['mean']['p']:.4f}"


def _failures(summary: Mapping[str, Any]) -> list[str]:
    failed = summary["failures"]
    if not failed:
        return []
    lines = ["", f"{len(failed)} samples failed and count as 0:"]
    # An error may run over several lines; here it has one.
    lines += [f"  {one['arm']}  {one['task']} {one['id']}: {' '.join(one['error'].split())}" for one in failed[:_SHOWN_FAILURES]]
    return lines + [f"  and {len(failed) - _SHOWN_FAILURES} more, in summary.json"] * (len(failed) > _SHOWN_FAILURES)


def markdown(summary: Mapping[str, Any]) -> str:
    """The same tables in Markdown, with the length buckets and the pairs task by task."""
    names = list(summary["arms"][0]["tasks"])
    out = [_title(summary), "", _row("arm", *names, "mean", "95 % interval", "failed"), _row(*["---"] * (len(names) + 4))]
    for arm in summary["arms"]:
        f1s = [f"{task['f1']:.2f} ({task['interval'][0]:.2f} to {task['interval'][1]:.2f})" for task in arm["tasks"].values()]
        low, high = arm["mean"]["interval"]
        failed = sum(task["failed"] for task in arm["tasks"].values())
        out.append(_row(arm["arm"], *f1s, f"{arm['mean']['f1']:.2f}", f"{low:.2f} to {high:.2f}", failed))
    out += ["", _row("arm", "task", *(f"{name} (rows)" for name in scoring.BUCKETS)), _row(*["---"] * 5)]
    for arm in summary["arms"]:
        for name, task in arm["tasks"].items():
            cells = ("" if cell["f1"] is None else f"{cell['f1']:.2f} ({cell['n']})" for cell in task["buckets"].values())
            out.append(_row(arm["arm"], name, *cells))
    if summary["pairs"]:
        out += ["", _row("pair", "task", "points", "95 % interval", "p"), _row(*["---"] * 5)]
    for pair in summary["pairs"]:
        for name, found in (*pair["tasks"].items(), ("mean", pair["mean"])):
            low, high = found["interval"]
            out.append(
                _row(f"{pair['a']} - {pair['b']}", name, f"{found['points']:+.2f}", f"{low:+.2f} to {high:+.2f}", f"{found['p']:.4f}")
            )
    out += ["", *(f"* {note}" for note in summary["notes"])] + [f"* {line.strip()}" for line in _failures(summary) if line]
    return "\n".join(out) + "\n"


def _row(*cells: object) -> str:
    # A bar or a newline of an error's text would end a cell.
    return "| " + " | ".join(str(cell).replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"


def table_csv(summary: Mapping[str, Any]) -> str:
    """One row an arm and task, and one of each arm's mean."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["protocol", "arm", "task", "f1", "low", "high", "n", "failed", "mean_rows", *scoring.BUCKETS])
    for arm in summary["arms"]:
        for name, task in arm["tasks"].items():
            buckets = [cell["f1"] for cell in task["buckets"].values()]
            facts = [task["f1"], *task["interval"], task["n"], task["failed"], task["mean_rows"]]
            writer.writerow([summary["protocol"], arm["arm"], name, *facts, *buckets])
        writer.writerow([summary["protocol"], arm["arm"], "mean", arm["mean"]["f1"], *arm["mean"]["interval"], *[""] * 6])
    return out.getvalue()


def write(folder: Path, summary: Mapping[str, Any], seconds: Mapping[str, Any]) -> None:
    """Each file whole, or as it was before."""
    for name, content in (
        ("summary.json", json.dumps(summary, indent=1, sort_keys=True) + "\n"),
        ("table.md", markdown(summary)),
        ("table.csv", table_csv(summary)),
        ("times.json", json.dumps(seconds, indent=1, sort_keys=True) + "\n"),
    ):
        draft = folder / f"{name}.draft"
        draft.write_text(content, encoding="utf-8", newline="\n")
        os.replace(draft, folder / name)
