"""Rows of an experiment go in; one line an arm comes out: scores, KL, eta and flips, with 95 % intervals over contexts."""

from __future__ import annotations

import math
import statistics
from collections import defaultdict
from collections.abc import Sequence
from functools import partial
from typing import Any

from .divergence import bootstrap, eta, eta_median, flip_recover, mean
from .kamera_runs import Row
from .score import wilson

Line = dict[str, Any]
# What eta is measured from: blind reuse, but for a survivor what it would be without the removal patch.
AGAINST = {"survivors": "keep"}


def summarise(name: str, rows: Sequence[Row], draws: int = 1000) -> list[Line]:
    """A line for each setting and arm of a run, in the order in which they were measured.

    `exact` is a count; `kl_first` and `kl_answer` are means in nats; `eta_*` as in `divergence`; `bytes` and `rows` are shares of the
    page; `forming` is the median in seconds. An interval is [low, high], or None where there are too few contexts, and for exact match where
    several readings are of one question.
    """
    grouped: dict[str, dict[str, list[Line]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        for reading in row["readings"]:
            grouped[reading.get("setting", "")][reading["arm"]].append({**reading, "context": row["context"], "id": row["id"]})
    lines = []
    for setting, arms in grouped.items():
        # All arms hold the same units in the same order: each item gives every arm one reading a unit.
        base = arms[AGAINST.get(name, "blind")]
        lines += [{"setting": setting, "arm": arm, **_line(found, base, draws)} for arm, found in arms.items()]
    return lines


def _line(found: Sequence[Line], base: Sequence[Line], draws: int) -> Line:
    groups = _groups(found)
    exact = sum(reading["exact"] for reading in found)
    once = len({reading["id"] for reading in found}) == len(found)
    line: Line = {"n": len(found), "contexts": len(groups), "exact": exact, "exact_interval": wilson(exact, len(found)) if once else None}
    line["f1"] = mean([reading["f1"] for reading in found])
    for kind in ("first", "answer"):
        ours, theirs = [reading[kind] for reading in found], [reading[kind] for reading in base]
        line[f"kl_{kind}"] = mean(ours)
        line[f"kl_{kind}_interval"] = bootstrap(groups, partial(_mean_of, ours), draws)
        line[f"eta_{kind}"] = eta(ours, theirs)
        line[f"eta_{kind}_interval"] = bootstrap(groups, partial(_eta_of, ours, theirs), draws)
        line[f"eta_{kind}_median"], line[f"measurable_{kind}"] = eta_median(ours, theirs)
    line["recovered"], line["flips"] = flip_recover([reading["same"] for reading in base], [reading["same"] for reading in found])
    for fact in ("bytes", "rows"):
        line[fact] = mean([reading[fact] for reading in found]) if fact in found[0] else None
    forming = [reading["forming"] for reading in found if reading.get("forming") is not None]
    line["forming"] = statistics.median(forming) if forming else None
    return line


def _mean_of(values: Sequence[float], pick: Sequence[int]) -> float:
    return mean([values[i] for i in pick])


def _eta_of(arm: Sequence[float], base: Sequence[float], pick: Sequence[int]) -> float | None:
    return eta([arm[i] for i in pick], [base[i] for i in pick])


def _groups(found: Sequence[Line]) -> list[list[int]]:
    groups: dict[str, list[int]] = defaultdict(list)
    for index, reading in enumerate(found):
        groups[reading["context"]].append(index)
    return list(groups.values())


def sign_test(only_one: int, only_other: int) -> float:
    """Two-sided p of so uneven a split of the items that the two decide differently, if both were as good (McNemar's exact test)."""
    n, few = only_one + only_other, min(only_one, only_other)
    return min(1.0, 2.0 * sum(math.comb(n, k) for k in range(few + 1)) / float(2**n))


def discordant(rows: Sequence[Row], one: str, other: str) -> tuple[int, int]:
    """How many items only `one` has exactly right, and how many only `other` has."""
    right = [{reading["arm"]: reading["exact"] for reading in row["readings"]} for row in rows]
    return sum(r[one] and not r[other] for r in right), sum(r[other] and not r[one] for r in right)


def by_layer(rows: Sequence[Row]) -> list[Line]:
    """Means over items of ||Delta|| / ||KV|| and of e90, a line a layer."""
    lines = []
    for layer in range(len(rows[0]["norm"]["keys"])):
        line: Line = {"layer": layer}
        for fact in ("norm", "e90"):
            for part in ("keys", "values"):
                line[f"{fact}_{part}"] = mean([row[fact][part][layer] for row in rows])
        line["rows"] = mean([row["rows"] for row in rows])
        lines.append(line)
    return lines


def control(rows: Sequence[Row]) -> dict[str, float]:
    """Mean KL between isolation and the relocated canonical: position alone (Kamera, table 7: ctrl-KL)."""
    return {kind: mean([row["control"][kind] for row in rows]) for kind in ("first", "answer")}
