"""A model goes in; the figures of its card come out: every row of the records task that it is judged by, each with the command that repeats it.

The rows are fixed, so that two readers' cards can be laid side by side. Nothing here decides what is good enough.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cache_compiler.load import READER
from retrieval.embedder import Embedder

from .arms import Bench
from .experiment import run, summary
from .records import HELD_OUT, ONLY, Kind, Sample, first

FILE = "figures.json"
# The arms of QV-PIC's Q1: what a page is compiled behind.
_PREFIXES = ("full", "template", "free", "dummy-4")
_CACHES = ("full", "template")


@dataclass(frozen=True)
class Row:
    """Questions of one sort over contexts of one sort, at some DPIs and by some arms."""

    title: str
    pages: int
    lines: int
    dpis: tuple[str, ...]
    arms: tuple[str, ...] = _CACHES
    kind: Kind = "build"
    only: str = "one-hop"
    each: int = 4
    hops: float = 0.0
    absent: float = 0.0

    def samples(self, n: int) -> list[Sample]:
        where = (self.kind, self.pages, self.lines, HELD_OUT)
        return first(n, *where, each=self.each, hops=self.hops, absent=self.absent, only=ONLY[self.only])

    def command(self, dpi: str, n: int, model: str) -> str:
        """What repeats the row's figures at one DPI."""
        words = [
            f"--pages {self.pages} --lines {self.lines} --each {self.each} --only {self.only} --dpi {dpi} --arms {','.join(self.arms)} --n {n}"
        ]
        words += ["--kind sections"] if self.kind == "sections" else []
        words += [f"--{name} {value:g}" for name, value in (("hops", self.hops), ("absent", self.absent)) if value]
        words += [f"--model {model}"] if model != "reader" else []
        return " ".join(["quire eval records", *words])


ROWS = (
    Row("one page, one hop", 1, 12, ("72", "120"), _PREFIXES),
    Row("one page, two hops", 1, 12, ("120",), only="two-hops", each=6, hops=0.6),
    Row("one page, answer not there", 1, 12, ("120",), only="absent", each=1, absent=1.0),
    Row("two pages, heading on the page before", 2, 6, ("120",), _PREFIXES, "sections", "carried", each=99),
    Row("four pages, one hop", 4, 12, ("72", "120", "promote")),
    Row("eight pages, one hop", 8, 12, ("72", "120", "promote")),
)


def say(line: str) -> None:
    """At once, into a file or a pipe, too: it takes minutes."""
    print(line, flush=True)


def figures(
    bench: Bench, embedder: Embedder, model: str, n: int, chosen: Sequence[Row] = ROWS, report: Callable[[str], None] = say
) -> list[dict[str, Any]]:
    """A line an arm of each row at each DPI: counts, percentages with their 95 % intervals, cache rows, refusals, which questions were
    answered rightly ("0110..."), and the command.
    """
    lines: list[dict[str, Any]] = []
    for row in chosen:
        samples = row.samples(n)
        for dpi in row.dpis:
            outcomes = run(samples, row.arms, dpi, bench, embedder)
            for line in summary(outcomes, row.arms):
                right = "".join(str(int(outcome.exact)) for outcome in outcomes if outcome.arm == line["arm"])
                said = {"row": row.title, "dpi": dpi, **line, "questions": row.only, "right": right, "command": row.command(dpi, n, model)}
                lines.append(said)
                report(f"{row.title:<40} {dpi:>7} {line['arm']:<9} {line['exact_percent']:5.1f}  refused {line['refused']} of {line['n']}")
    return lines


def weights_of(directory: Path) -> str:
    """SHA-256 of a model's weights, file after file by name: what its figures are of. ValueError where there are none."""
    found = sorted(directory.glob("*.safetensors"))
    if not found:
        raise ValueError(f"{directory}: no *.safetensors; name a model's directory")
    digest = hashlib.sha256()
    for path in found:
        digest.update(path.read_bytes())
    return digest.hexdigest()


def directory_of(model: str) -> Path:
    return READER if model == "reader" else Path(model)


def stated(row: Row, dpi: str, arm: str = "full") -> tuple[float, float, float]:
    """What the embedded reader's card says: the percentage answered exactly, and the ends of its 95 % interval."""
    lines = json.loads((READER / FILE).read_text(encoding="utf-8"))["lines"]
    (line,) = (line for line in lines if (line["row"], line["dpi"], line["arm"]) == (row.title, dpi, arm))
    low, high = line["exact_interval"]
    return float(line["exact_percent"]), float(low), float(high)


def document(lines: Sequence[dict[str, Any]], weights: str, facts: dict[str, Any]) -> dict[str, Any]:
    """What `figures.json` holds: `lines` and what they are of."""
    return {"weights": weights, "seed": HELD_OUT, **facts, "lines": list(lines)}


def write(directory: Path, found: dict[str, Any]) -> None:
    """Rows that are there already, of the same weights and as many questions, stay at each DPI at which they were not asked again."""
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / FILE
    before = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    if (before.get("weights"), before.get("n")) == (found["weights"], found["n"]):
        again = {_place(line) for line in found["lines"]}
        lines = [line for line in before["lines"] if _place(line) not in again] + found["lines"]
        order = [(row.title, dpi) for row in ROWS for dpi in row.dpis]
        found = found | {"lines": sorted(lines, key=lambda line: order.index(_place(line)))}
    path.write_text(json.dumps(found, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    (directory / "figures.md").write_text(markdown(found), encoding="utf-8")


def _place(line: dict[str, Any]) -> tuple[str, str]:
    return line["row"], line["dpi"]


def markdown(found: dict[str, Any]) -> str:
    """The table of a card, and under it the commands."""
    lines = found["lines"]
    arms = list(dict.fromkeys(line["arm"] for line in lines))
    asked = list(dict.fromkeys(map(_place, lines)))
    table = {(line["row"], line["dpi"], line["arm"]): line for line in lines}
    rows = [
        f"Held-out seed {found['seed']}, greedy; exactly right, per cent, with the 95 % interval (Wilson); F1 is LongBench's, of full prefill.",
        "",
        f"| questions | n | DPI | {' | '.join(arms)} | F1 | cache rows |",
        "|---" * (len(arms) + 5) + "|",
    ]
    for row, dpi in asked:
        cells = [_cell(table.get((row, dpi, arm))) for arm in arms]
        line = table[row, dpi, next(arm for arm in arms if (row, dpi, arm) in table)]
        rows.append(f"| {row} | {line['n']} | {dpi} | {' | '.join(cells)} | {line['f1_percent']:.1f} | {line['mean_rows']:.0f} |")
    answerable = [line for line in lines if line["arm"] == "full" and line["questions"] != "absent"]
    if answerable:
        rows += ["", "Refused though the answer is there (full prefill): " + _refusals(answerable) + "."]
    rows += ["", "```", *dict.fromkeys(line["command"] for line in lines), "```", ""]
    return "\n".join(rows)


def _cell(line: dict[str, Any] | None) -> str:
    if line is None:
        return ""
    low, high = line["exact_interval"]
    return f"{line['exact_percent']:.1f} ({low:.0f} to {high:.0f})"


def _refusals(lines: Sequence[dict[str, Any]]) -> str:
    return "; ".join(f"{line['row']} at {line['dpi']}: {line['refused']} of {line['n']}" for line in lines)
