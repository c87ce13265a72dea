"""A scaling run goes in; three figures come out, PNG and SVG: placing against bandwidth, the question against its own forward, and both sums."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from eval import plots

from .scaling import Scaling

LIMIT = {"color": "#777777", "linewidth": 1.2, "linestyle": "--"}


def draw(folder: Path, scaling: Scaling) -> list[Path]:
    """Every figure into `folder`; returns the files. Raises PlotsUnavailable without matplotlib."""
    plots.require()
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    models = list(scaling.fits)
    made = []
    figures: dict[str, Callable[[Any, Scaling, str], None]] = {"place": _place, "question": _question, "first-token": _first_token}
    for file, one in figures.items():
        figure, axes = plt.subplots(1, len(models), figsize=(5.2 * len(models), 4.4), layout="constrained", squeeze=False)
        for model, ax in zip(models, axes[0], strict=True):
            one(ax, scaling, model)
            ax.set_title(model, fontsize=11)
            ax.spines[["top", "right"]].set_visible(False)
            ax.grid(True, axis="y", color="#dddddd", linewidth=0.6)
            ax.set_axisbelow(True)
            ax.legend(frameon=False, fontsize=8)
        for kind, more in (("png", {"dpi": 160}), ("svg", {"metadata": {"Date": None}})):
            path = folder / f"scaling-{file}.{kind}"
            figure.savefig(path, **more)
            made.append(path)
        plt.close(figure)
    return made


def _place(axes: Any, scaling: Scaling, model: str) -> None:
    own = sorted((p for p in scaling.points if p.model == model), key=lambda p: p.bytes)
    place, _ = scaling.fits[model]
    for number, dpi in enumerate(sorted({p.dpi for p in own})):
        found = [p for p in own if p.dpi == dpi]
        _marks(axes, number, [p.bytes / 1e6 for p in found], [p.place for p in found], f"measured, {dpi} DPI")
    ends = [own[0].bytes, own[-1].bytes]
    fitted = [1000 * place.at({"fixed": 1.0, "bytes": size}) for size in ends]
    axes.plot([size / 1e6 for size in ends], fitted, color="#000000", linewidth=1, label="fit: fixed + a x bytes")
    axes.plot([size / 1e6 for size in ends], [2000 * size / scaling.bandwidth for size in ends], label="limit: bytes / bandwidth", **LIMIT)
    axes.set(xlabel="page caches (MB)", ylabel="placing (ms)", ylim=(0, None))


def _question(axes: Any, scaling: Scaling, model: str) -> None:
    own = [p for p in scaling.points if p.model == model]
    _, question = scaling.fits[model]
    for number, tokens in enumerate(sorted({p.question_tokens for p in own})):
        found = sorted((p for p in own if p.question_tokens == tokens), key=lambda p: p.rows)
        rows = [p.rows for p in found]
        _marks(axes, number, rows, [p.question for p in found], f"measured, {tokens} tokens")
        fitted = [1000 * question.at({"fixed": 1.0, "tokens": tokens, "rows x tokens": n * tokens}) for n in rows]
        axes.plot(rows, fitted, color=plots.COLOURS[number], linewidth=1)
        limit = {**LIMIT, "color": plots.COLOURS[number]}
        axes.axhline(1000 * found[0].alone, label="limit: its forward alone" if not number else None, **limit)
    axes.set(yscale="log", xlabel="rows in the cache before it", ylabel="question's prefill (ms)")


def _first_token(axes: Any, scaling: Scaling, model: str) -> None:
    own = [p for p in scaling.points if p.model == model]
    tokens = sorted({p.question_tokens for p in own})
    # One question length, the middle one; every DPI. All of them would hide each other.
    own = sorted((p for p in own if p.question_tokens == tokens[len(tokens) // 2]), key=lambda p: p.rows)
    full = [p for p in own if p.full is not None]
    _marks(axes, 0, [p.rows for p in own], [p.first_token for p in own], "page caches")
    if full:
        _marks(axes, 1, [p.rows for p in full], [p.full or 0.0 for p in full], "full prefill of the same pages")
    axes.plot([p.rows for p in own], [1000 * scaling.limit(p) for p in own], label="limit: bytes / bandwidth + question alone", **LIMIT)
    axes.set(yscale="log", xlabel=f"rows of pages (question of {own[0].question_tokens} tokens)", ylabel="context and question (ms)")


def _marks(axes: Any, number: int, xs: Sequence[float], seconds: Sequence[float], said: str) -> None:
    axes.plot(
        xs, [1000 * s for s in seconds], linestyle="", marker=plots.MARKS[number], color=plots.COLOURS[number], markersize=5, label=said
    )
