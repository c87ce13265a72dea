"""Summaries go in; figures come out, as PNG and as SVG. matplotlib is imported here alone, when a figure is drawn.

Colours are Okabe and Ito's, which the colour-blind can tell apart, and every line has its own mark, so that grey print serves too.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .errors import PlotsUnavailable
from .kamera_report import PLOTS
from .kamera_summary import Line

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
MARKS = ("o", "s", "^", "D", "v", "P", "X")


def require() -> None:
    """Raises PlotsUnavailable when matplotlib is not there: before a long run, not behind it."""
    if importlib.util.find_spec("matplotlib") is None:
        raise PlotsUnavailable("figures need matplotlib, which is not installed: pip install -e '.[plots]'")


def draw(folder: Path, lines: dict[str, list[Line]]) -> list[Path]:
    """Every figure of the runs that are there, into `folder`; returns the files. Raises PlotsUnavailable without matplotlib."""
    require()
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    made = []
    for name, found in lines.items():
        for file, title in PLOTS.get(name, []):
            figure, axes = plt.subplots(figsize=(6.4, 4.4), layout="constrained")
            _DRAWN[file](axes, found)
            axes.set_title(title, fontsize=11)
            axes.spines[["top", "right"]].set_visible(False)
            axes.grid(True, axis="y", color="#dddddd", linewidth=0.6)
            axes.set_axisbelow(True)
            figure.legend(loc="outside lower center", ncols=3, frameon=False, fontsize=8)
            for kind, more in (("png", {"dpi": 160}), ("svg", {"metadata": {"Date": None}})):
                path = folder / f"{file}.{kind}"
                figure.savefig(path, **more)
                made.append(path)
            plt.close(figure)
    return made


def _by_rank(axes: Any, lines: Sequence[Line]) -> None:
    arms = {line["arm"]: line for line in lines}
    ranks = sorted(int(name[7:]) for name in arms if name.startswith("patch r") and name[7:].isdecimal())
    for number, (kind, said) in enumerate((("kl_first", "first answer token"), ("kl_answer", "mean over the answer"))):
        _line(axes, number, ranks, [arms[f"patch r{rank}"] for rank in ranks], kind, said)
        axes.axhline(arms["blind"][kind], color=COLOURS[number], linewidth=1, linestyle=":", label=f"blind reuse, {said}")
    axes.set(xscale="log", yscale="log", xlabel="rank of the patch (components a layer)", ylabel="KL to full prefill (nats)")
    axes.set_xticks(ranks, [str(rank) for rank in ranks])
    axes.minorticks_off()


def _by_bytes(axes: Any, lines: Sequence[Line]) -> None:
    arms = {line["arm"]: line for line in lines}
    families = {
        "patch": [name for name in arms if name.startswith("patch r") and name[7:].isdecimal()],
        "epic, mpic": ["epic 16", "mpic 32", "epic = r32"],
        "cacheblend": ["cacheblend 15 %", "cacheblend = r32"],
        "vlcache": ["vlcache 10 %", "vlcache = r32"],
        "oracle tokens": ["oracle = r16", "oracle = r32", "oracle 50 %"],
        "shadow-k": ["shadow-k r32"],
        "re-prefill, deep layers": ["deep re-prefill"],
    }
    for number, (said, names) in enumerate(families.items()):
        found = sorted((arms[name] for name in names if name in arms), key=lambda line: line["bytes"])
        _line(axes, number, [100 * line["bytes"] for line in found], found, "kl_answer", said)
    axes.axhline(arms["blind"]["kl_answer"], color="#777777", linewidth=1, linestyle=":", label="blind reuse")
    axes.set(yscale="log", xlabel="bytes (% of the page's own KV)", ylabel="KL to full prefill, mean over the answer (nats)")


def _by_setting(what: str, shown: dict[str, str]) -> Any:
    """eta over the settings of a run, a line an arm; settings that end alike ("K = 2, held out") stand together."""

    def figure(axes: Any, lines: Sequence[Line]) -> None:
        settings = sorted(dict.fromkeys(line["setting"] for line in lines), key=lambda setting: setting.partition(", ")[2])
        for number, (arm, said) in enumerate(shown.items()):
            # An arm may be measured in some settings only.
            found = [
                (at, line) for at, setting in enumerate(settings) for line in lines if (line["setting"], line["arm"]) == (setting, arm)
            ]
            _line(axes, number, [at for at, _ in found], [line for _, line in found], "eta_answer", said)
        axes.axhline(0, color="#777777", linewidth=1, linestyle=":")
        axes.set_xticks(range(len(settings)), [setting.replace(", ", "\n") for setting in settings])
        axes.set(xlabel=what, ylabel="eta (share of blind reuse's KL that is closed)")

    return figure


def _line(axes: Any, number: int, xs: Sequence[float], lines: Sequence[Line], key: str, said: str) -> None:
    """One series with its 95 % intervals. A value that is not there leaves a gap."""
    points = [(x, line[key], line[f"{key}_interval"]) for x, line in zip(xs, lines, strict=True) if line[key] is not None]
    if not points:
        return
    below = [max(0.0, y - span[0]) if span else 0.0 for _, y, span in points]
    above = [max(0.0, span[1] - y) if span else 0.0 for _, y, span in points]
    axes.errorbar(
        [x for x, _, _ in points],
        [y for _, y, _ in points],
        yerr=[below, above],
        color=COLOURS[number % len(COLOURS)],
        marker=MARKS[number % len(MARKS)],
        markersize=5,
        linewidth=1.2,
        elinewidth=0.8,
        capsize=2,
        label=said,
    )


_DRAWN = {
    "kl-by-rank": _by_rank,
    "kl-by-bytes": _by_bytes,
    "orbit": _by_setting(
        "antecedents before the page",
        {
            "exact": "the ordering's own patch",
            "stored": "one stored orbit patch",
            "orbit": "orbit patch, this ordering held out",
            "transfer": "first order's patch",
        },
    ),
    "recall": _by_setting("share of the window that was turned over", {"fresh": "fresh patch", "stale": "patch frozen at eviction"}),
    "envelope": _by_setting("pages from elsewhere in front", {"rebuilt": "patch formed with them", "stale": "patch formed without them"}),
    "eta-by-depth": _by_setting(
        "layer l",
        {
            "from": "Delta from l on",
            "below": "Delta below l",
            "alone": "Delta at l alone",
            "re-prefill from": "re-prefill from l on",
            "sight below": "page A seen below l only",
        },
    ),
}
