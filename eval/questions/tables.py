"""A document goes in; Markdown for people, CSV for programs and JSON come out, each written whole or not at all."""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .document import Document


def write(folder: Path, document: Document) -> None:
    """results.json, table.md, table.csv and pairs.csv. Raises OSError where the folder cannot be written."""
    for name, content in (
        ("table.md", markdown(document)),
        ("table.csv", as_csv(document["lines"])),
        ("pairs.csv", as_csv(document["pairs"])),
        ("results.json", as_json(document)),
    ):
        draft = folder / f"{name}.draft"
        draft.write_text(content, encoding="utf-8", newline="\n")
        os.replace(draft, folder / name)


def as_json(document: Document) -> str:
    """Indented, but for the items: one a line, so that two runs can be compared line by line."""
    facts = {name: value for name, value in document.items() if name != "items"}
    head = json.dumps(facts, indent=1, sort_keys=True, ensure_ascii=False)[: -len("\n}")]
    items = ",\n".join(json.dumps(item, sort_keys=True, ensure_ascii=False) for item in document["items"])
    return f'{head},\n "items": [\n{items}\n]}}\n'


def markdown(document: Document) -> str:
    """The question, the command, a paragraph for each claim, the tables."""
    parts = [f"# {document['title']}", "", document["asks"], "", f"After {document['source']}. {_cell(settings_sentence(document))}"]
    parts += ["", "    " + document["command"], "", "## The paper's claims, one by one", ""]
    for found in document["findings"]:
        model = f" ({_cell(found['model'])})" if len(document["models"]) > 1 else ""
        theirs = "; ".join(f"{one['shown']}: {one['what']}" for one in found["theirs"])
        parts += [
            f"**{found['verdict'].capitalize()}{model}.** {found['says']} {_cell(found['why'])} *Theirs: {theirs} ({found['where']}).*",
            "",
        ]
    parts += ["## All together", "", note(document), "", _grid(*lines_table(document, document["overall"]))]
    if len(document["groups"]) > 1:
        for group in document["groups"]:
            parts += ["", f"## {_cell(group)}", "", _grid(*lines_table(document, group))]
    parts += ["", "## Arm against arm, over the same questions", "", _grid(*pairs_table(document, document["overall"]))]
    parts += ["", *(f"![{plot['title']}]({plot['file']}.svg)" for plot in document.get("plots", []))]
    return "\n".join(parts).rstrip() + "\n"


def settings_sentence(document: Document) -> str:
    """What was asked, of what, on what."""
    facts = document["settings"]
    data = f"rows of {', '.join(document['groups'])}" if facts["data"] else f"pages of {facts['lines']} lines of made-up facts"
    ran = "; ".join(
        f"{name} ({one['machine']['parameters'] / 1e6:,.1f} M parameters, {one['machine']['dtype']}, {one['machine']['threads']} threads of "
        f"{one['machine']['cores']} cores, {one['machine']['device']})"
        for name, one in document["models"].items()
    )
    return f"n = {facts['n']} for each of {', '.join(document['groups'])}: {data}. Answered by {ran}."


def note(document: Document) -> str:
    return (
        "F1 and exact match in per cent, with 95 % intervals drawn over contexts; seconds to the first token are medians (means of medians where groups "
        f"are taken together); rows are what stands in the cache before the question. {document['note']}"
    )


def lines_table(document: Document, group: str) -> tuple[list[str], list[list[str]]]:
    """(heads, rows) of one group; the paper's own column where it has a figure for an arm."""
    lines = [line for line in document["lines"] if line["group"] == group]
    several = len({line["model"] for line in lines}) > 1
    theirs = any(line["theirs"] for line in lines)
    heads = [*(["model"] if several else []), "arm", "n", "F1 %", "exact %", "rows", "first token, s", "failed"]
    heads += ["published F1 (another model, other data)"] if theirs else []
    body = [
        [
            *([line["model"]] if several else []),
            line["arm"],
            str(line["n"]),
            _with(line["f1"], line["f1_interval"]),
            _with(line["exact"], line["exact_interval"]),
            f"{line['rows']:,.0f}",
            "" if line["ttft"] is None else f"{line['ttft']:.4g}",
            str(line["failed"]),
            *([_published(line["theirs"])] if theirs else []),
        ]
        for line in lines
    ]
    return heads, body


def pairs_table(document: Document, group: str) -> tuple[list[str], list[list[str]]]:
    """(heads, rows) of the compared arms of one group."""
    rows = [row for row in document["pairs"] if row["group"] == group]
    several = len({row["model_a"] for row in rows}) > 1
    heads = [*(["model"] if several else []), "arm", "against", "F1 points", "time to the first token, times"]
    body = [
        [
            *([row["model_a"]] if several else []),
            row["a"],
            row["b"],
            _with(row["points"], row["interval"], "+.1f"),
            "" if row["ratio"] is None else _with(row["ratio"], row["ratio_interval"], ".3g"),
        ]
        for row in rows
    ]
    return heads, body


def as_csv(rows: Sequence[dict[str, Any]]) -> str:
    """Every field; an interval becomes `_low` and `_high`, and a published figure its text and place."""
    flat = []
    for row in rows:
        one: dict[str, Any] = {}
        for key, value in row.items():
            if key.endswith("interval"):
                one[f"{key}_low"], one[f"{key}_high"] = value or ("", "")
            elif key == "theirs":
                one["published"], one["published_where"] = (value["shown"], value["where"]) if value else ("", "")
            else:
                one[key] = "" if value is None else value
        flat.append(one)
    out = io.StringIO()
    writer = csv.DictWriter(out, list(flat[0]) if flat else [], lineterminator="\n")
    writer.writeheader()
    writer.writerows(flat)
    return out.getvalue()


def _published(quoted: dict[str, Any] | None) -> str:
    return "" if quoted is None else quoted["shown"] + (" *" if quoted["derived"] else "")


def _with(value: float, span: Sequence[float] | None, form: str = ".1f") -> str:
    return f"{value:{form}}" + ("" if span is None else f" ({span[0]:{form}} to {span[1]:{form}})")


def _cell(text: str) -> str:
    # A bar or a newline of a name would end a cell, and Markdown lets HTML through.
    return str(text).replace("&", "&amp;").replace("<", "&lt;").replace("|", "\\|").replace("\n", " ")


def _grid(heads: Sequence[str], body: Sequence[Sequence[str]]) -> str:
    rows = [heads, ["---"] * len(heads), *body]
    return "\n".join("| " + " | ".join(_cell(cell) for cell in row) + " |" for row in rows)
