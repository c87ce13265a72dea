"""Summaries go in; Markdown for people and CSV for programs come out. Every sentence about the model is computed from its figures."""

from __future__ import annotations

import csv
import io
import itertools
from collections.abc import Sequence
from typing import Any

from .divergence import FLOOR
from .kamera_runs import Row
from .kamera_summary import AGAINST, Line, by_layer, control, discordant, sign_test

# What the paper measured, on other models and other data: never a target, always beside its place.
THEIRS = {
    "main": "Kamera's own: patch of rank 64 closes 0.88 to 0.96 of the KL, token recompute of 50 % of the rows 0.32 to 0.86 (Table 8, six "
    "backbones); at equal bytes, rank 16: patch 0.82, oracle tokens 0.55, first-k 0.31, low-rank K none (Table 6); flips recovered: "
    "patch 96 %, token methods 21 to 44 % (Fig. 7).",
    "orbit": "Kamera's own: orbit 0.92, exact 0.94 (Qwen2.5-VL, section 5).",
    "recall": "Kamera's own at full turnover: stale -0.68, -2.85 and +0.29, fresh 0.87, 0.96 and 0.81 (Table 1, three backbones).",
    "survivors": "Kamera's own: kept as is KL 0.015, 0.113 and 0.023; removal patch 0.87, 0.83 and 0.82 (Table 1, three backbones).",
    "envelope": "Kamera's own, position-matched: stale 0.93, 0.71, 0.39, 0.08 for 0 to 3 distractors, rebuilt about 0.92 (appendix D).",
    "depth": "Kamera's own: ||Delta|| / ||KV|| grows from 0.08 to 0.49 with depth; the deep half of the patch has about 0.95 of its "
    "worth (section 4, Table 2).",
}
TITLES = {
    "main": "Patch and baselines on the same relocated cache",
    "orbit": "Orbit: one patch for every order of the antecedents",
    "recall": "Recall: an evicted page comes back behind another window",
    "survivors": "Survivors: the first page leaves, the last one stays",
    "envelope": "Envelope: pages from elsewhere come in front",
    "depth": "Depth",
}


def markdown(settings: dict[str, Any], rows: dict[str, Sequence[Row]], lines: dict[str, list[Line]]) -> str:
    """The whole report of the runs that were made."""
    parts = ["# Kamera on " + settings["model"], "", _settings(settings)]
    if "main" in rows:
        parts += ["", "## What the figures say of this model", "", verdict(rows["main"], lines["main"])]
    for name, found in lines.items():
        parts += ["", f"## {TITLES[name]}", "", THEIRS[name], "", as_table(name, found)]
        if name == "main":
            ours = control(rows["main"])
            parts += [
                "",
                f"Position alone (isolation against the relocated canonical): KL {_nats(ours['first'])} at the first token, "
                f"{_nats(ours['answer'])} over the answer; `isolated` above holds the conditioning alone.",
            ]
        if name == "depth":
            parts += ["", layers_table(by_layer(rows["depth"]))]
        if name in PLOTS:
            parts += ["", *(f"![{title}]({file}.svg)" for file, title in PLOTS[name])]
    return "\n".join(parts) + "\n"


# File and title of each run's plots; `plots.py` draws them.
PLOTS = {
    "main": [("kl-by-rank", "KL against rank"), ("kl-by-bytes", "KL against bytes")],
    "orbit": [("orbit", "eta by number of antecedents")],
    "recall": [("recall", "eta by turnover")],
    "envelope": [("envelope", "eta by distractors")],
    "depth": [("eta-by-depth", "eta by depth")],
}


def _settings(settings: dict[str, Any]) -> str:
    return (
        f"n = {settings['n']}, pages of {settings['lines']} lines under headings at {settings['dpi']} DPI; the asked row stands on the last page, "
        "its heading on the page before. A row that a page's end has cut off from its heading stands at the top of the page by construction, "
        "which is where methods that compute a page's first rows again do so. KL in nats against full prefill, at the first answer token and as "
        "the mean over full prefill's own answer. eta is 1 - KL / KL of blind reuse, a ratio of means; its median is over items whose blind KL is at least "
        f"{FLOOR:g} nats. Flips are answers that blind reuse changes; recovered are those that are full prefill's again. Intervals are 95 %, "
        "drawn over contexts. Bytes and rows are shares of the page's; a token method's bytes are those of the rows that it computes again, and "
        "a pooled patch's are without the basis that all pages share."
    )


def verdict(rows: Sequence[Row], lines: Sequence[Line]) -> str:
    """Whether exact match falls under blind reuse, whether KL falls with rank, and how the token methods fare at the same bytes."""
    arm = {line["arm"]: line for line in lines}
    full, blind, n = arm["full"], arm["blind"], arm["full"]["n"]
    only_full, only_blind = discordant(rows, "full", "blind")
    p = sign_test(only_full, only_blind)
    falls = p < 0.05 and only_full > only_blind
    said = [
        f"Exact match {'falls' if falls else 'does not fall measurably'} under blind reuse: full prefill answers {full['exact']} of {n} exactly, "
        f"blind reuse {blind['exact']}; {only_full} only full prefill, {only_blind} only blind reuse (sign test, p = {p:.2g}). "
        f"Blind reuse changes {blind['flips']} of {n} answers and costs {_nats(blind['kl_first'])} nats at the first token."
    ]
    ladder = [("blind", 0), *((f"patch r{rank}", rank) for rank in (8, 16, 32, 64)), ("patch full", None)]
    for kind, where in (("first", "at the first token"), ("answer", "over the answer")):
        steps = [(name, arm[name][f"kl_{kind}"]) for name, _ in ladder if name in arm]
        rises = [(a, b) for a, b in itertools.pairwise(steps) if b[1] >= a[1]]
        if rises:
            (low, before), (high, after) = rises[0]
            said.append(f"KL {where} does not fall with every step of rank: {low} has {_nats(before)}, {high} {_nats(after)}.")
        else:
            said.append(
                f"KL {where} falls with every step of rank, from {_nats(steps[0][1])} (blind) to {_nats(steps[-1][1])} (whole Delta)."
            )
    rivals = [name for name in arm if name.endswith("= r32")]
    best = max(rivals, key=lambda name: arm[name]["eta_answer"] or 0.0)
    ours = arm["patch r32"]
    word = "more" if (ours["eta_answer"] or 0) > (arm[best]["eta_answer"] or 0) else "less"
    said.append(
        f"At the bytes of rank 32 the patch closes {word} of the KL over the answer than the best token method: {_share(ours['eta_answer'])} "
        f"{_interval(ours['eta_answer_interval'])} against {_share(arm[best]['eta_answer'])} {_interval(arm[best]['eta_answer_interval'])} "
        f"({best})."
    )
    said.append(
        f"One patch of rank 32 takes {100 * ours['bytes']:.0f} % of the page's own bytes here: a patch has a page's rows "
        "plus its width, times the rank."
    )
    return " ".join(said)


COLUMNS = {
    "setting": "setting",
    "arm": "arm",
    "n": "n",
    "contexts": "contexts",
    "exact": "EM %",
    "f1": "F1 %",
    "kl_first": "KL first",
    "kl_answer": "KL answer",
    "eta_first": "eta first",
    "eta_answer": "eta answer",
    "eta_answer_median": "median",
    "flips": "recovered / flips",
    "bytes": "bytes %",
    "rows": "rows %",
}


def as_table(name: str, lines: Sequence[Line]) -> str:
    """Markdown; columns that a run does not have are left out."""
    shown = [key for key in COLUMNS if any(line.get(key) not in (None, "") for line in lines)]
    against = AGAINST.get(name)
    heads = [COLUMNS[key] + (f" (from {against})" if against and key.startswith("eta_") else "") for key in shown]
    # At every layer full prefill and blind reuse are the same two contexts: once is enough.
    said = [line for line in lines if name != "depth" or line["setting"] == "0" or line["arm"] not in ("full", "blind")]
    body = [[_cell(key, line, against or "blind") for key in shown] for line in said]
    return _grid(heads, body)


def layers_table(lines: Sequence[Line]) -> str:
    heads = ["layer", "norm keys", "norm values", "e90 keys", "e90 values", "rows"]
    keys = ["norm_keys", "norm_values", "e90_keys", "e90_values"]
    body = [
        [str(line["layer"]), *(f"{line[key]:.3f}" if "norm" in key else f"{line[key]:.1f}" for key in keys), f"{line['rows']:.0f}"]
        for line in lines
    ]
    return _grid(heads, body)


def as_csv(lines: Sequence[Line]) -> str:
    """Every field; an interval becomes two columns, `_low` and `_high`."""
    flat = []
    for line in lines:
        row: dict[str, Any] = {}
        for key, value in line.items():
            if key.endswith("_interval"):
                row[f"{key[:-9]}_low"], row[f"{key[:-9]}_high"] = value or ("", "")
            else:
                row[key] = "" if value is None else value
        flat.append(row)
    out = io.StringIO()
    writer = csv.DictWriter(out, list(flat[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(flat)
    return out.getvalue()


def _grid(heads: Sequence[str], body: Sequence[Sequence[str]]) -> str:
    rows = [heads, ["---"] * len(heads), *body]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def _cell(key: str, line: Line, against: str) -> str:
    value = line.get(key)
    if value is None or (key.startswith("eta_") and line["arm"] in ("full", against)):
        return ""
    if key == "exact":
        span = line["exact_interval"]
        return f"{100 * value / line['n']:.1f} {_interval([100 * end for end in span], _whole) if span else ''}".strip()
    if key == "flips":
        return f"{line['recovered']} / {value}"
    if key.startswith("kl_") and value == 0:
        return "0"
    if key.startswith("kl_"):
        return f"{_nats(value)} {_interval(line[key + '_interval'], _nats)}".strip()
    if key in ("eta_first", "eta_answer"):
        return f"{_share(value)} {_interval(line[key + '_interval'])}".strip()
    if key == "eta_answer_median":
        return f"{value:.2f} (n {line['measurable_answer']})"
    return f"{100 * value:.1f}" if key in ("f1", "bytes", "rows") else str(value)


def _whole(value: float) -> str:
    return f"{value:.0f}"


def _nats(value: float) -> str:
    return f"{value:.2g}"


def _share(value: float | None) -> str:
    return "none" if value is None else f"{value:.2f}"


def _interval(found: Sequence[float] | None, form: Any = None) -> str:
    shown = form or _share
    return "" if found is None else f"({shown(found[0])} to {shown(found[1])})"
