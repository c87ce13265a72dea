"""A result goes in; its section of the page comes out: verdicts, our table with the paper's own column, plots, and the command that made it."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from eval.kamera_report import PLOTS, TITLES
from eval.kamera_summary import AGAINST
from eval.questions import tables

from . import claims
from .find import Result
from .markup import Html, join, paragraph, table, tag

NAMES = {
    "q1": "Question 1: what a page is read behind",
    "q2": "Question 2: how finely pages are drawn",
    "q3": "Question 3: finer pages only where they matter",
    "q4": "Question 4: other models",
    "kamera": "Kamera: what a page misses, and the patch that brings it back",
    "ttft": "How long a person waits",
}
COMMANDS = {"kamera": "quire eval kamera", "ttft": "quire bench ttft"}
_PLOT = re.compile(r"[a-z0-9][a-z0-9-]{0,60}")
LARGEST_PLOT = 8 << 20


def section(result: Result, number: int = 1) -> Html:
    """`number`: which of several results of one task it is; from the second on the heading says where it lies.

    Raises KeyError, TypeError, ValueError, IndexError or StopIteration on a document of another form.
    """
    made = {"kamera": _kamera, "ttft": _ttft}.get(result.task, _question)(result)
    name = NAMES[result.task] + (f" ({result.place})" if number > 1 else "")
    return tag("section", tag("h2", name), *made, id=result.task if number == 1 else f"{result.task}-{number}")


def missing(task: str) -> Html:
    """The place of a part that was not made."""
    command = COMMANDS.get(task, f"quire eval {task}")
    return tag(
        "section",
        tag("h2", NAMES[task]),
        paragraph("Not there: no results of this part were found. ", tag("code", command), " makes them.", class_="missing"),
        id=task,
    )


def findings(result: Result) -> list[dict[str, Any]]:
    """The verdicts of a result; of times alone there are none."""
    if result.task == "ttft":
        return []
    found: list[dict[str, Any]] = claims.kamera(result.facts) if result.task == "kamera" else result.facts["findings"]
    return found


def _question(result: Result) -> list[Html]:
    facts = result.facts
    found, groups = findings(result), facts["groups"]
    several = len(facts["models"]) > 1
    heads, body = tables.lines_table(facts, facts["overall"])
    theirs = len(heads) - 1 if heads[-1].startswith("published") else None
    apart = [table(*tables.lines_table(facts, group), caption=f"{group}") for group in groups if len(groups) > 1]
    return [
        paragraph(facts["asks"], class_="lead"),
        paragraph(f"After {facts['source']}. {tables.settings_sentence(facts)}", class_="quiet"),
        _command(facts["command"]),
        tag("h3", "What the paper claims, and what was seen"),
        claims.tally(found),
        *(claims.box(one, several) for one in found),
        tag("h3", "The figures"),
        paragraph(tables.note(facts), class_="quiet"),
        table(heads, body, f"All of {', '.join(groups)} together" if len(groups) > 1 else groups[0], theirs),
        *(_plot(result.folder, plot["file"], plot["title"], plot["alt"]) for plot in facts.get("plots", [])),
        tag("details", tag("summary", f"Each of {', '.join(groups)} apart"), *apart) if apart else Html(""),
        tag(
            "details",
            tag("summary", "Arm against arm, over the same questions"),
            table(
                *tables.pairs_table(facts, facts["overall"]), caption="Differences of F1 in points and ratios of time, with 95 % intervals"
            ),
        ),
    ]


_KAMERA = {
    "setting": "setting",
    "arm": "arm",
    "n": "n",
    "exact": "exact",
    "kl": "KL over the answer, nats",
    "eta": "share of the loss closed",
}


def _kamera(result: Result) -> list[Html]:
    facts = result.facts
    settings = facts["settings"]
    found = findings(result)
    made = [
        paragraph(
            "A page that was read alone has not seen the pages before it. How much is lost by that, what a small patch brings back, and what other "
            "methods do with as many bytes.",
            class_="lead",
        ),
        paragraph(
            f"n = {settings['n']}, pages of {settings['lines']} lines under headings at {settings['dpi']} DPI, answered by {facts['model']}. What is asked "
            "stands on the last page, and the heading that it needs on the page before. Loss is measured as KL divergence from full prefill: how far "
            "the model's opinion of the next word is from the one it has when it reads everything.",
            class_="quiet",
        ),
        _command(f"quire eval kamera --n {settings['n']} --lines {settings['lines']} --dpi {settings['dpi']}"),
        tag("h3", "What the paper claims, and what was seen"),
        claims.tally(found),
        *(claims.box(one, False) for one in found),
        tag("h3", "The figures"),
    ]
    for name, lines in facts["summary"].items():
        made.append(tag("details", tag("summary", TITLES.get(name, name)), _kamera_table(name, lines)))
        made += [_plot(result.folder, file, title, f"{title}. The figures are those of the table.") for file, title in PLOTS.get(name, [])]
    return made


def _kamera_table(name: str, lines: Sequence[Mapping[str, Any]]) -> Html:
    # At every layer full prefill and blind reuse are the same two contexts.
    shown = [line for line in lines if name != "depth" or line["setting"] == "0" or line["arm"] not in ("full", "blind")]
    several = any(line["setting"] for line in shown)
    against = AGAINST.get(name, "blind")
    measured = f" (from {against})" if name in AGAINST else ""
    heads = [head + (measured if key == "eta" else "") for key, head in _KAMERA.items() if key != "setting" or several]
    body = [
        [
            *([str(line["setting"])] if several else []),
            line["arm"],
            str(line["n"]),
            f"{line['exact']} of {line['n']}",
            f"{line['kl_answer']:.2g}",
            ""
            if line["eta_answer"] is None or line["arm"] in ("full", against)
            else _span(line["eta_answer"], line["eta_answer_interval"]),
        ]
        for line in shown
    ]
    return table(heads, body, TITLES.get(name, name))


def _ttft(result: Result) -> list[Html]:
    facts = result.facts
    made = [
        paragraph(
            "The same questions over the same pages, in one run: by full prefill, and with page caches from memory and from disk.",
            class_="lead",
        )
    ]
    for model in facts["models"]:
        settings = model["settings"]
        body = [
            [
                row["way"],
                *(f"{1000 * row['first_token'][key]:.4g}" for key in ("p50", "p90", "p99") if key in row["first_token"]),
                f"{row['rows'][0]:,} to {row['rows'][1]:,}",
            ]
            for row in model["rows"]
        ]
        kept = [key for key in ("p50", "p90", "p99") if key in model["rows"][0]["first_token"]]
        said = (
            f"{model['model']}: {settings['pages']} pages a question at {settings['dpi']} DPI, "
            f"{settings['requests']} requests each way. Milliseconds to the first token."
        )
        made.append(table(["way", *(f"{key[1:]} % below" for key in kept), "rows"], body, said))
        ratios = [[row["way"], f"{row['first_token']['p50']:.3g}"] for row in model.get("ratios", [])]
        if ratios:
            made.append(
                table(
                    ["way", "time, as a share of full prefill (median)"],
                    ratios,
                    f"{model['model']}: against full prefill of the same question",
                )
            )
        made.append(_command(f"quire bench ttft --pages {settings['pages']} --dpi {settings['dpi']} --requests {settings['requests']}"))
    made += [
        _plot(result.folder, name, title, f"{title}. The figures are those of the table beside this page.")
        for name, title in (("scaling-first-token", "First token by rows of pages"), ("scaling-place", "Placing by bytes"))
        if (result.folder / f"{name}.svg").is_file()
    ]
    return made


def _command(text: str) -> Html:
    # A word is broken only where it is longer than a narrow screen: "--" at a line's end reads as something else.
    words = (tag("span", word, **({"class_": "word"} if len(word) < 24 else {})) for word in text.split(" "))
    spaced = (part for word in words for part in (word, " "))
    return join(paragraph("Made by:", class_="quiet"), tag("pre", tag("code", *spaced)))


def _plot(folder: Path, file: str, title: str, alt: str) -> Html:
    """The SVG beside the document, or the PNG, inlined; a name that is none of ours never becomes a path."""
    if _PLOT.fullmatch(file):
        for kind, media in (("svg", "image/svg+xml"), ("png", "image/png")):
            path = folder / f"{file}.{kind}"
            if path.is_file() and path.stat().st_size <= LARGEST_PLOT:
                data = base64.b64encode(path.read_bytes()).decode("ascii")
                picture = tag("img", src=f"data:{media};base64,{data}", alt=alt)
                # Small print of a figure is kept readable on a narrow screen: it scrolls in its own box.
                return tag("figure", tag("div", picture, tabindex="0", role="group", aria_label=title), tag("figcaption", title))
    return paragraph(f"Not there: the figure “{title}” was not found beside the results.", class_="missing")


def _span(value: float, span: Sequence[float] | None) -> str:
    return f"{value:.2f}" + (f" ({span[0]:.2f} to {span[1]:.2f})" if span else "")
