"""The facts of a run go in; Markdown for people comes out, and a figure of the server's memory where matplotlib is installed."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

from eval.bench.report import table

MIB = 1024 * 1024
# Every promise, and the kinds of breach that say it was broken.
PROMISES = {
    "no status outside 2xx, 429, 503 and the 4xx a bad request asks for": ("status", "stream"),
    "every reply in the one shape, with its request id, and Retry-After where it says later": ("shape",),
    "no connection broken while nobody kills the server": ("connection", "client"),
    "nothing of a deleted document in an answer, a list or an address after its deletion was acknowledged": ("deleted", "deletion"),
    "every acknowledged upload is there, once": ("lost upload", "idempotency", "stuck"),
    "every bad file fails with a reason": ("bad file",),
    "memory is flat": ("memory",),
    "the server stops in good order, and leaves no process behind": ("stop", "orphans"),
    "quire verify finds nothing": ("verify",),
    "no byte of a deleted document's value or name is left in the home": ("left behind",),
}


def markdown(facts: dict[str, Any]) -> str:
    """The whole report."""
    plan = facts["settings"]
    killed = f", killed (-9) about every {plan['kill_every']:.0f} s: {facts['lives'] - 1} times" if plan["kill_every"] else ""
    head = (
        f"# Load: {plan['minutes']:g} minutes, {plan['ask']} ask, {plan['upload']} upload, {plan['delete']} delete{killed}\n\n"
        f"Model `{plan['model']}`, {facts['machine']['cores']} cores, clients and server on one machine. "
        f"{sum(facts['statuses'].values()):,} replies; {facts['counts'].get('answered', 0) + facts['counts'].get('streamed', 0):,} answers; "
        f"the server started in {min(facts['starts']):.1f} to {max(facts['starts']):.1f} s.\n"
    )
    return "\n".join([head, _promises(facts), _examples(facts), _memory(facts), _tables(facts)])


def _promises(facts: dict[str, Any]) -> str:
    rows = [["promise", "kept"]]
    for promise, kinds in PROMISES.items():
        broken = sum(facts["breaches"].get(kind, 0) for kind in kinds)
        rows.append([promise, f"no: {broken}" if broken else _kept(promise, facts)])
    return table(rows) + "\n"


def _kept(promise: str, facts: dict[str, Any]) -> str:
    if promise == "memory is flat" and not (facts["memory"] and facts["memory"]["flat"]):
        return "not judged"
    return "yes"


def _examples(facts: dict[str, Any]) -> str:
    return "".join(f"\n## {kind}\n\n" + "".join(f"- {words}\n" for words in found) for kind, found in facts["examples"].items())


def _memory(facts: dict[str, Any]) -> str:
    memory = facts["memory"]
    if memory is None:
        return ""
    return (
        f"\nMemory of the server: {memory['first'] / MIB:.0f} MiB at first, {memory['peak'] / MIB:.0f} at most, {memory['last'] / MIB:.0f} at last; "
        f"the last two thirds slope by {memory['slope'] / MIB:+.2f} MiB a minute.\n"
    )


def _tables(facts: dict[str, Any]) -> str:
    replies = [["reply", "times"], *([name, f"{count:,}"] for name, count in facts["statuses"].items())]
    counts = [["what happened", "times"], *([name, f"{count:,}"] for name, count in facts["counts"].items())]
    return f"\n{table(replies)}\n\n{table(counts)}\n"


def draw(folder: Path, facts: dict[str, Any]) -> Path | None:
    """memory.png: resident memory over the run, a line a life. None without matplotlib, and without two looks."""
    if importlib.util.find_spec("matplotlib") is None or len(facts["seen"]) < 2:
        return None
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
    for life in sorted({life for _, _, life in facts["seen"]}):
        own = [(at / 60, size / MIB) for at, size, of in facts["seen"] if of == life]
        axes.plot(*zip(*own, strict=True), linewidth=1.2)
    axes.set_xlabel("minutes")
    axes.set_ylabel("resident memory, MiB")
    axes.set_ylim(bottom=0)
    figure.savefig(folder / "memory.png", dpi=140)
    plt.close(figure)
    return folder / "memory.png"
