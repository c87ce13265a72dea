"""A document goes in; its figures come out, PNG and SVG: F1 by setting for the first question, F1 against time for the others.

Colours, marks and the check for matplotlib are those of `eval.plots`.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from eval import plots

from .document import Document
from .plans import CONDITIONS, DPIS

GREY = "#767676"


def draw(folder: Path, document: Document) -> list[dict[str, str]]:
    """Every figure into `folder`; returns file (without its ending), title and alternative text of each. Raises PlotsUnavailable."""
    plots.require()
    import matplotlib

    matplotlib.use("Agg")
    # Without it the ids in an SVG are drawn by lot, and two runs of the same figures differ.
    matplotlib.rcParams["svg.hashsalt"] = "quire"
    import matplotlib.pyplot as plt

    made = []
    for file, title, panels in _figures(document):
        columns = min(3, len(panels))
        rows = -(-len(panels) // columns)
        figure, axes = plt.subplots(rows, columns, figsize=(max(6.4, 3.9 * columns), 0.9 + 3.5 * rows), layout="constrained", squeeze=False)
        for (name, one), place in zip(panels, axes.flat, strict=False):
            one(place)
            place.set_title(name, fontsize=11)
            place.spines[["top", "right"]].set_visible(False)
            place.grid(True, axis="y", color="#dddddd", linewidth=0.6)
            place.set_axisbelow(True)
        for place in list(axes.flat)[len(panels) :]:
            place.set_visible(False)
        named = {said: handle for place in axes.flat for handle, said in zip(*place.get_legend_handles_labels(), strict=True)}
        figure.legend(named.values(), named.keys(), loc="outside lower center", ncols=3, frameon=False, fontsize=8)
        figure.suptitle(title, fontsize=12)
        for kind, more in (("png", {"dpi": 150}), ("svg", {"metadata": {"Date": None}})):
            figure.savefig(folder / f"{file}.{kind}", **more)
        plt.close(figure)
        made.append({"file": file, "title": title, "alt": f"{title}. The figures are those of the table."})
    return made


def _figures(document: Document) -> list[tuple[str, str, list[tuple[str, Any]]]]:
    """(file, title, panels) of a document; a panel is a name and what draws it."""
    lines, overall = document["lines"], document["overall"]
    if document["task"] == "q1":
        shown = [line for line in lines if line["group"] == overall]
        return [("f1-by-setting", "F1 by what a page was compiled behind", [("", lambda axes: _settings(axes, shown))])]
    draw_one = _sweep if document["task"] == "q2" else _scatter
    if document["task"] == "q4":
        models = list(dict.fromkeys(line["model"] for line in lines if line["reads"] == "images"))
        panels = [
            (
                model,
                _panel(draw_one, [line for line in lines if line["group"] == overall and line["model"] in (model, _reader(lines, model))]),
            )
            for model in models
        ]
    else:
        groups = list(dict.fromkeys(line["group"] for line in lines))
        panels = [
            ("all together" if group == "all" else group, _panel(draw_one, [line for line in lines if line["group"] == group]))
            for group in groups
        ]
    return [("f1-by-time", "F1 against time to the first token", panels)]


def _reader(lines: Sequence[dict[str, Any]], model: str) -> str:
    """Who read the text for a model: itself, or the one that read it for all."""
    readers = [line["model"] for line in lines if line["reads"] == "text"]
    return model if model in readers or not readers else str(readers[0])


def _panel(one: Any, lines: Sequence[dict[str, Any]]) -> Any:
    return lambda axes: one(axes, lines)


def _settings(axes: Any, lines: Sequence[dict[str, Any]]) -> None:
    """A mark with its interval for each setting, a colour a representation; full prefill is a line across."""
    names = ["nothing", *(condition.removeprefix(":") for condition in CONDITIONS[1:-1]), "template", "epic-2", "epic-4"]
    ends = [*CONDITIONS, ":free+epic-2", ":free+epic-4"]
    found = {line["arm"]: line for line in lines}
    for number, (base, said) in enumerate((("image-pic@72", "images, 72 DPI"), ("image-pic@120", "images, 120 DPI"), ("text-pic", "text"))):
        shown = [(at, found[base + end]) for at, end in enumerate(ends) if base + end in found]
        _marks(axes, number, [at + 0.18 * (number - 1) for at, _ in shown], [line for _, line in shown], said, "")
        full = found.get(base.replace("-pic", "-full"))
        if full:
            axes.axhline(
                full["f1"], color=plots.COLOURS[number], linewidth=1, linestyle=("--", ":", "-.")[number], label=f"{said}: full prefill"
            )
    axes.set_xticks(range(len(names)), names, rotation=30, ha="right")
    axes.set(ylabel="F1 (%)", xlabel="compiled behind", ylim=(0, None))


def _sweep(axes: Any, lines: Sequence[dict[str, Any]]) -> None:
    """Image points are joined in the order of their DPI, as in the paper's figure 5."""
    found = {line["arm"]: line for line in lines if line["ttft"] is not None}
    for number, (base, said) in enumerate((("image-full", "images, full prefill"), ("image-pic", "images, page caches"))):
        shown = [(dpi, found[f"{base}@{dpi}"]) for dpi in DPIS if f"{base}@{dpi}" in found]
        _marks(axes, number, [line["ttft"] for _, line in shown], [line for _, line in shown], said, "-")
        for dpi, line in shown:
            axes.annotate(str(dpi), (line["ttft"], line["f1"]), textcoords="offset points", xytext=(5, 5), fontsize=7, color=GREY)
    for number, (arm, said) in enumerate((("text-full", "text, full prefill"), ("text-pic", "text, page caches")), 2):
        if arm in found:
            _marks(axes, number, [found[arm]["ttft"]], [found[arm]], said, "")
    _time(axes)


def _scatter(axes: Any, lines: Sequence[dict[str, Any]]) -> None:
    """A mark an arm, each its own colour and shape."""
    for number, line in enumerate(line for line in lines if line["ttft"] is not None):
        _marks(axes, number, [line["ttft"]], [line], line["arm"], "")
    _time(axes)


def _time(axes: Any) -> None:
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    axes.set(xscale="log", xlabel="time to the first token (s)", ylabel="F1 (%)", ylim=(0, None))
    axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.xaxis.set_minor_formatter(NullFormatter())


def _marks(axes: Any, number: int, xs: Sequence[float], lines: Sequence[dict[str, Any]], said: str, style: str) -> None:
    if not lines:
        return
    spans = [line["f1_interval"] or (line["f1"], line["f1"]) for line in lines]
    axes.errorbar(
        xs,
        [line["f1"] for line in lines],
        yerr=[
            [max(0.0, line["f1"] - low) for line, (low, _) in zip(lines, spans, strict=True)],
            [max(0.0, high - line["f1"]) for line, (_, high) in zip(lines, spans, strict=True)],
        ],
        color=plots.COLOURS[number % len(plots.COLOURS)],
        marker=plots.MARKS[number % len(plots.MARKS)],
        linestyle=style,
        markersize=5,
        linewidth=1.2,
        elinewidth=0.8,
        capsize=2,
        label=said,
    )
