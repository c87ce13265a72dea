"""A question whose fact stands on page B, behind antecedents that are reordered, replaced, evicted or added to, goes in; what B needs comes out.

Four probes of Kamera (section 5, appendices B and D). In all of them the antecedents' own rows are those of the full prefill in every
arm, so that what is measured is page B's alone. Ranks are the paper's: 32 for a patch, 64 for a removal.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cache_compiler.condition import Deficit, deficit
from cache_compiler.form import orderings
from cache_compiler.patch import Patch
from cache_compiler.types import Canonical

from .kamera import Lab, Leaf, cut_to, others
from .records import Sample

RANK, REMOVAL_RANK = 32, 64
TURNOVERS = (0.0, 0.5, 1.0)
DISTRACTORS = (0, 1, 2, 3)


def _patch(delta: Deficit, given: Sequence[Leaf], page: Canonical, rank: int = RANK) -> Patch:
    return cut_to(delta, [leaf.image.key for leaf in given], page, rank)


def _read(
    lab: Lab, sample: Sample, held: Sequence[Canonical], page: Canonical, patches: dict[str, Patch], facts: dict[str, Any]
) -> list[dict[str, Any]]:
    """Readings of full prefill, blind reuse and each patch of the last page; `held` is what every page of the context holds in it."""
    before = [*held[:-1], page]
    judge = lab.judge(lab.linked(held), sample)
    found = {"full": lab.linked(held), "blind": lab.linked(before)}
    none: list[Patch | None] = [None] * (len(held) - 1)
    found |= {name: lab.linked(before, [*none, patch]) for name, patch in patches.items()}
    return [{"arm": name, **facts, **lab.read(context, judge)[0]} for name, context in found.items()]


def orbit(lab: Lab, sample: Sample, number: int) -> dict[str, Any]:
    """One patch for every ordering of B's antecedents (section 5), in two ways.

    `all orders`: the patch as it is stored, the mean of Delta over all orderings, at each of them; beside it the ordering's own patch.
    `held out`: every ordering but the first, by the first one's patch transferred and by the mean over all orderings but the one under
    test, as the paper tests it. Of two antecedents one ordering is then left, so that the mean and the transfer are the same.
    """
    *given, last = lab.leaves(sample.pages)
    by_key = {leaf.image.key: leaf for leaf in given}
    orders = [[by_key[key] for key in order] for order in orderings(list(by_key))]
    held = [lab.conditioned([*order, last]) for order in orders]
    deltas = [deficit(pages[-1], last.canonical) for pages in held]
    total = deltas[0]
    for delta in deltas[1:]:
        total = total + delta
    first = _patch(deltas[orders.index(given)], given, last.canonical)
    stored = _patch(total.scaled(1 / len(orders)), given, last.canonical)
    readings = []
    for index, (order, pages, delta) in enumerate(zip(orders, held, deltas, strict=True)):
        exact = _patch(delta, order, last.canonical)
        facts = {"setting": f"K = {len(given)}, all orders", "unit": index}
        readings += _read(lab, sample, pages, last.canonical, {"exact": exact, "stored": stored}, facts)
        if order == given:
            continue
        rest = _patch((total + delta.scaled(-1.0)).scaled(1 / (len(orders) - 1)), order, last.canonical)
        facts = {"setting": f"K = {len(given)}, held out", "unit": index}
        readings += _read(lab, sample, pages, last.canonical, {"exact": exact, "transfer": first, "orbit": rest}, facts)
    return {"readings": readings}


def recall(lab: Lab, sample: Sample, number: int) -> dict[str, Any]:
    """B was evicted and comes back behind a window that has turned over by 0, 50 and 100 %: its frozen patch, and a fresh one (appendix B).

    The window holds two pages; the oldest leave first, and new ones from elsewhere come in behind.
    """
    *window, last = lab.leaves(sample.pages)
    new = lab.leaves(others(number + 1, len(window), lab.lines)[number])
    frozen: Patch | None = None
    readings = []
    for turnover in TURNOVERS:
        gone = round(turnover * len(window))
        given = [*window[gone:], *new[:gone]]
        held = lab.conditioned([*given, last])
        fresh = _patch(deficit(held[-1], last.canonical), given, last.canonical)
        frozen = frozen or fresh
        facts = {"setting": f"{turnover:.0%}", "unit": gone}
        readings += _read(lab, sample, held, last.canonical, {"stale": frozen, "fresh": fresh}, facts)
    return {"readings": readings}


def survivors(lab: Lab, sample: Sample, number: int) -> dict[str, Any]:
    """The first of three pages leaves; the last stays as it is and is only relocated, or loses what it had of it by a rank-64 patch.

    `keep` is R(delta) alone on what B held before; `removal` adds KV(B|those that stay) - KV(B|all), truncated; `blind` is the canonical.
    """
    gone, *stay = lab.leaves(sample.pages)
    given, last = stay[:-1], stay[-1]
    before, held = lab.conditioned([gone, *stay])[-1], lab.conditioned(stay)
    removal = cut_to(
        deficit(held[-1], before),
        [leaf.image.key for leaf in (gone, *given)],
        before,
        REMOVAL_RANK,
        kind="removal",
        left=[gone.image.key],
    )
    judge = lab.judge(lab.linked(held), sample)
    rest = held[:-1]
    none: list[Patch | None] = [None] * len(rest)
    found = {
        "full": lab.linked(held),
        "blind": lab.linked([*rest, last.canonical]),
        "keep": lab.linked([*rest, before]),
        "removal": lab.linked([*rest, before], [*none, removal]),
    }
    facts = {"setting": "head evicted", "unit": 0}
    return {"readings": [{"arm": name, **facts, **lab.read(context, judge)[0]} for name, context in found.items()]}


def envelope(lab: Lab, sample: Sample, number: int) -> dict[str, Any]:
    """0 to 3 pages from elsewhere come in front of [A, B]: the patch on A alone against one formed with them there (appendix D).

    This is the appendix's true superset: the count grows and B moves.
    """
    *given, last = lab.leaves(sample.pages)
    distractors = lab.leaves(others(number + 1, max(DISTRACTORS), lab.lines)[number])
    stale: Patch | None = None
    readings = []
    for count in DISTRACTORS:
        before = [*distractors[:count], *given]
        held = lab.conditioned([*before, last])
        rebuilt = _patch(deficit(held[-1], last.canonical), before, last.canonical)
        stale = stale or rebuilt
        facts = {"setting": f"{count}", "unit": count}
        readings += _read(lab, sample, held, last.canonical, {"stale": stale, "rebuilt": rebuilt}, facts)
    return {"readings": readings}
