"""Summaries go in; Markdown for people and CSV for programs come out. A table is aligned, so that a terminal shows it as it stands."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from typing import Any

from . import permutator, served
from .scaling import Scaling
from .summary import Row

SHARES = ("p50", "p90", "p99", "mean")
ORDERED = {"caches": "page caches", "prefix": "prefix cache", "full": "full prefill"}


def model_report(facts: dict[str, Any]) -> str:
    """All tables of one model, from what its JSON holds."""
    settings = facts["settings"]
    head = (
        f"## {facts['model']}: {settings['parameters'] / 1e6:.1f} M parameters, pages a question: {settings['pages']}, at "
        f"{'72 and 120' if settings['dpi'] == 'promote' else settings['dpi']} DPI, {settings['held']} in the collection\n\n"
        f"Milliseconds; {settings['requests']} requests each way behind {settings['warmup']} that are not counted, the ways in turn; "
        f"questions of {_span(facts['rows'][0]['question_tokens'])} tokens."
    )
    if settings["requests"] < 50:
        head += " With fewer than 50 requests, p99 is little more than the slowest one."
    tables = [head, _ways(facts["rows"])]
    tables += [f"Left out: {served.WAYS[way]}: {reason}." for way, reason in facts["left_out"].items()]
    tables.append(_ratios(facts["ratios"]) if facts["ratios"] else "No ratio: full prefill was not among the arms.")
    if facts.get("http"):
        tables.append(_http(facts["http"]))
    if facts.get("permutator"):
        tables.append(_permutator(facts["permutator"]))
    tables.append(_memory(facts["memory"]))
    return "\n\n".join(tables)


def _ways(rows: Sequence[Row]) -> str:
    parts = [part for part in served.PARTS if any(part in row["parts"] for row in rows)]
    lines = [["to the first token", *SHARES, *(f"{part} p50" for part in parts), "rows", "MB read"]]
    for row in rows:
        shares = [_ms(row["first_token"][share]) for share in SHARES]
        split = [_ms(row["parts"][part]["p50"]) if part in row["parts"] else "" for part in parts]
        lines.append([served.WAYS[row["way"]], *shares, *split, _span(row["rows"]), f"{row['bytes_read'] / 1e6:.1f}"])
    return table(lines)


def _ratios(rows: Sequence[Row]) -> str:
    lines = [["ratio to full prefill, paired", *SHARES, "least", "most", "times faster (p50)"]]
    for what, said in (("first_token", "first token"), ("context_and_question", "without retrieval and plan")):
        for row in rows:
            found = row[what]
            lines.append(
                [
                    f"{served.WAYS[row['way']]}: {said}",
                    *(f"{found[share]:.4f}" for share in SHARES),
                    f"{found['min']:.4f}",
                    f"{found['max']:.4f}",
                    f"{1 / found['p50']:.1f}",
                ]
            )
    return table(lines)


def _http(row: Row) -> str:
    lines = [["over HTTP, caches in memory", *SHARES]]
    for name, said in (
        ("client", "client: connection to first text"),
        ("engine", "engine, in the same requests"),
        ("overhead", "difference"),
    ):
        lines.append([said, *(_ms(row[name][share]) for share in SHARES)])
    ratio = row["ratio_of_medians"]
    more = "" if ratio is None else f"\n\nClient's median over that of full prefill, which has no HTTP in it: {ratio:.4f}."
    silent = row["without_text"]
    return table(lines) + more + (f" {silent} answers had no text and are not counted." if silent else "")


def _permutator(row: Row) -> str:
    lines = [["documents in drawn orders", *SHARES, "rows prefilled", "of rows", "served %", "ratio to full (p50)"]]
    for one in row["ways"]:
        lines.append(
            [
                ORDERED[one["way"]],
                *(_ms(one["seconds"][share]) for share in SHARES),
                f"{one['prefilled']:,}",
                f"{one['rows']:,}",
                f"{100 * one['served']:.1f}",
                f"{one['ratio_to_full']['p50']:.4f}",
            ]
        )
    paid = {way: "never" if after is None else f"after {after:.1f}" for way, after in row["repaid_after"].items()}
    said = (
        f"{row['orders']} orders of {row['pages']} pages. Compiling the page caches took {row['compile_seconds']:.2f} s, once: repaid "
        f"{paid['full']} requests against full prefill, {paid['prefix']} against the prefix cache, which keeps everything and pays nothing "
        "to find it. Rows are the pages'; the question's are prefilled in every way."
    )
    assert set(ORDERED) == set(permutator.WAYS)
    return f"{table(lines)}\n\n{said}"


def _memory(row: Row) -> str:
    lines = [["on disk", "pages", "rows", "caches MB", "MB a page", "kB a row", "PNG MB", "caches / PNG"]]
    for one in row["stored"]:
        size = one["cache_bytes"]
        lines.append(
            [
                f"{one['dpi']} DPI",
                f"{one['pages']}",
                f"{one['rows']:,}",
                f"{size / 1e6:.1f}",
                f"{size / one['pages'] / 1e6:.2f}",
                f"{size / one['rows'] / 1e3:.2f}",
                f"{one['png_bytes'] / 1e6:.2f}",
                f"{size / one['png_bytes']:.0f}",
            ]
        )
    held = ", ".join(f"{when} {size / 1e6:.0f}" for when, size in row["peaks"])
    return f"{table(lines)}\n\nMost memory held by the process so far, MB: {held}. Patches on disk: {row['patch_bytes'] / 1e6:.1f} MB."


def scaling_report(scaling: Scaling) -> str:
    """The points and the fits."""
    lines = [["model", "pages", "DPI", "question", "rows", "MB", "place", "question ms", "limit", "to limit", "full", "ratio"]]
    for point in scaling.points:
        limit = scaling.limit(point)
        lines.append(
            [
                point.model,
                f"{point.pages}",
                f"{point.dpi}",
                f"{point.question_tokens}",
                f"{point.rows:,}",
                f"{point.bytes / 1e6:.1f}",
                _ms(point.place),
                _ms(point.question),
                _ms(limit),
                f"{point.first_token / limit:.2f}",
                "" if point.full is None else _ms(point.full),
                "" if point.ratio is None else f"{point.ratio:.4f}",
            ]
        )
    fits = [["fit", "fixed ms", "a: ns a byte", "= GB/s", "b: ms a token", "c: ns a row x token", "median error %", "R2"]]
    for model, (place, question) in scaling.fits.items():
        a = place.coefficients["bytes"]
        first = [_ms(place.coefficients["fixed"]), f"{1e9 * a:.4f}", "" if not a else f"{2e-9 / a:.2f}", "", ""]
        fits.append([f"{model}: place", *first, f"{100 * place.error:.1f}", f"{place.r2:.3f}"])
        own = question.coefficients
        second = [_ms(own["fixed"]), "", "", f"{1e3 * own['tokens']:.4f}", f"{1e9 * own['rows x tokens']:.3f}"]
        fits.append([f"{model}: question", *second, f"{100 * question.error:.1f}", f"{question.r2:.3f}"])
    return (
        "## What it grows with\n\nMilliseconds, medians, caches in memory. Limit: the pages' bytes read and written once at "
        f"{scaling.bandwidth / 1e9:.2f} GB/s, measured by a copy in this run, and the question's own forward with no page before it. "
        f"Ratio: place and question over full prefill of the same pages.\n\n{table(lines)}\n\n{table(fits)}"
    )


def requests_csv(found: Iterable[tuple[str, served.Request]]) -> str:
    """A line a request: seconds of every part."""
    rows = [
        {
            "model": model,
            "way": one.way,
            "number": one.number,
            "rows": one.rows,
            "question_tokens": one.question_tokens,
            "bytes_read": one.bytes_read,
            **{part: one.parts.get(part, "") for part in served.PARTS},
            "first_token": one.first_token,
        }
        for model, one in found
    ]
    return as_csv(rows)


def as_csv(rows: Sequence[dict[str, Any]]) -> str:
    out = io.StringIO()
    writer = csv.DictWriter(out, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


def table(lines: Sequence[Sequence[str]]) -> str:
    """Head and rows -> a Markdown table; the first column to the left, numbers to the right."""
    widths = [max(len(line[at]) for line in lines) for at in range(len(lines[0]))]

    def row(line: Sequence[str]) -> str:
        cells = [line[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(line[1:], widths[1:], strict=True))]
        return "| " + " | ".join(cells) + " |"

    rule = "|" + "|".join([":" + "-" * (widths[0] + 1), *("-" * (width + 1) + ":" for width in widths[1:])]) + "|"
    return "\n".join([row(lines[0]), rule, *map(row, lines[1:])])


def _ms(seconds: float) -> str:
    return f"{1000 * seconds:.2f}"


def _span(rows: Sequence[int]) -> str:
    return f"{rows[0]:,}" if rows[0] == rows[1] else f"{rows[0]:,} to {rows[1]:,}"
