"""Measured figures and a paper's claim go in; a verdict with its sentence comes out, by rules that stand here and read nothing but the figures.

    seen            the claim's difference stands clear of its 95 % interval
    not seen        it does not, or the opposite does
    not testable    this model or this data cannot show it either way, and the sentence says why
    not measured    an arm that it needs was not run

A claim is tested on a model's arms as the paper states it: a against b over the same items. Doubts come first: one that voids a test (`void`) is
asked before it, one that explains a difference that is not there (`excuse`) behind it.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from .figures import Figures, Gap
from .plans import is_text
from .published import quoted

Verdict = Literal["seen", "not seen", "not testable", "not measured"]

# Points of F1: two arms are said to be alike when the interval of their difference stays within it.
ALIKE = 3.0
# Share of the rows between all low and all high that promotion took: above it, promoting is hardly choosing.
MOST_PROMOTED = 0.6
# Share of the best full prefill's F1 that a size must reach to count as one that the model reads.
READ_WELL = 0.5


@dataclass(frozen=True)
class View:
    """One model's arms, over some groups. Text arms may be another model's."""

    figures: Figures
    model: str
    text_model: str
    groups: tuple[str, ...]

    def place(self, arm: str) -> tuple[str, str]:
        return (self.text_model if is_text(arm) else self.model), arm

    def has(self, arm: str) -> bool:
        return self.place(arm) in self.figures.measured

    def mean(self, arm: str) -> float:
        return self.figures.mean(self.place(arm), self.groups)

    def rows(self, arm: str, group: str) -> float:
        return self.figures.rows(self.place(arm), group)

    def gap(self, a: str, b: str, groups: Sequence[str] = ()) -> Gap:
        return self.figures.gap(self.place(a), self.place(b), tuple(groups) or self.groups)


Outcome = tuple[Verdict, str]
Doubt = Callable[[View], str]  # why a test says nothing here, or ""
Test = Callable[[View], Outcome]


@dataclass(frozen=True)
class Claim:
    """`says`: the paper's claim in our words. `theirs`: keys of `published`. `needs`: arms without which there is nothing to say."""

    says: str
    where: str
    theirs: tuple[str, ...]
    needs: tuple[str, ...]
    test: Test
    void: tuple[Doubt, ...] = ()
    excuse: tuple[Doubt, ...] = ()
    choosing: bool = False  # judged only on groups where promotion has to choose


def judge(claim: Claim, view: View) -> dict[str, Any]:
    """The finding as JSON holds it: what was claimed, where, the verdict, why, and the paper's own figures."""
    verdict, why = _outcome(claim, view)
    models = list(dict.fromkeys(view.place(arm)[0] for arm in claim.needs))
    facts = {"says": claim.says, "where": claim.where, "model": " and ".join(models)}
    return {**facts, "verdict": verdict, "why": why, "theirs": [quoted(key) for key in claim.theirs]}


def _outcome(claim: Claim, view: View) -> Outcome:
    if missing := [arm for arm in claim.needs if not view.has(arm)]:
        return "not measured", f"{', '.join(missing)}: not run."
    if single := [group for group in view.groups if view.figures.draws.contexts(group) < 2]:
        return "not testable", f"{', '.join(single)}: a single context, which says nothing of others; ask over more."
    if claim.choosing:
        shares = {group: promoted(view, group) for group in view.groups}
        said = "Rows that promotion added, of those that 120 DPI adds to all pages: " + "; ".join(
            f"{group} {100 * share:.0f} %" for group, share in shares.items()
        )
        chosen = tuple(group for group, share in shares.items() if share <= MOST_PROMOTED)
        if not chosen:
            return "not testable", f"{said}: with so few pages the share of relevance to be promoted is most of them, so nothing is chosen."
        view = replace(view, groups=chosen)
    if reason := next((said for doubt in claim.void if (said := doubt(view))), ""):
        return "not testable", reason
    verdict, why = claim.test(view)
    if claim.choosing:
        why += f" Judged on {', '.join(view.groups)}, where promotion chooses."
    if verdict == "not seen" and (reason := next((said for doubt in claim.excuse if (said := doubt(view))), "")):
        return "not testable", f"{why} {reason}"
    return verdict, why


def promoted(view: View, group: str) -> float:
    """The share of the rows between uniform 72 and uniform 120 DPI that QV-PIC took."""
    low, high = view.rows("image-pic@72", group), view.rows("image-pic@120", group)
    return (view.rows("qv-pic", group) - low) / (high - low) if high > low else 1.0


# Tests


def better(a: str, b: str) -> Test:
    """a has a higher F1 than b."""

    def test(view: View) -> Outcome:
        gap = view.gap(a, b)
        above = gap.interval is not None and gap.interval[0] > 0
        below = gap.interval is not None and gap.interval[1] < 0
        opposite = " The opposite stands clear." if below else ""
        return ("seen" if above else "not seen"), _scores(view, a, b, gap) + (opposite if not above else "")

    return test


def alike(a: str, b: str) -> Test:
    """a brings at most next to nothing over b: the whole interval lies below `ALIKE`."""

    def test(view: View) -> Outcome:
        gap = view.gap(a, b)
        seen = gap.interval is not None and gap.interval[1] < ALIKE
        wide = gap.interval is not None and gap.interval[0] <= 0 and not seen
        more = f" The interval does not rule out a gain of {ALIKE:g} points." if wide else ""
        return ("seen" if seen else "not seen"), _scores(view, a, b, gap) + more

    return test


def sooner(a: str, b: str) -> Test:
    """a's first token comes earlier than b's."""

    def test(view: View) -> Outcome:
        gap = view.gap(a, b)
        if gap.ratio is None:
            return "not measured", f"{a} or {b} has no time: all its samples failed."
        seen = gap.ratio_interval is not None and gap.ratio_interval[1] < 1
        return ("seen" if seen else "not seen"), _times(a, b, gap)

    return test


def both(*tests: Test) -> Test:
    """Seen when each is; their sentences one behind the other."""

    def test(view: View) -> Outcome:
        outcomes = [one(view) for one in tests]
        order: tuple[Verdict, ...] = ("not measured", "not testable", "not seen", "seen")
        return min((verdict for verdict, _ in outcomes), key=order.index), " ".join(why for _, why in outcomes)

    return test


def rises(arms: Sequence[str]) -> Test:
    """The time to the first token grows from each arm to the next."""

    def test(view: View) -> Outcome:
        steps = [(low, high, view.gap(high, low)) for low, high in itertools.pairwise(arms)]
        if any(gap.ratio is None for _, _, gap in steps):
            return "not measured", "An arm has no time: all its samples failed."
        clear = [gap.ratio_interval is not None and gap.ratio_interval[0] > 1 for _, _, gap in steps]
        said = "; ".join(f"{high} takes {gap.ratio:.2f}{_times_span(gap)} times as long as {low}" for low, high, gap in steps)
        return ("seen" if all(clear) else "not seen"), f"{sum(clear)} of {len(steps)} steps are slower, clear of their interval: {said}."

    return test


def unsteady(steps: Sequence[tuple[str, str]]) -> Test:
    """In some group F1 falls from an arm to the next, clear of its interval. Steps are (arm, full prefill of the same pages).

    Only what full prefill reads counts: a model that was never shown pages of some size misreads them whatever their caches are.
    """

    def test(view: View) -> Outcome:
        scores = {full: view.mean(full) for _, full in steps}
        read = [arm for arm, full in steps if scores[full] >= READ_WELL * max(scores.values())]
        if len(read) < 3:
            said = ", ".join(f"{full} {score:.1f}" for full, score in scores.items())
            return "not testable", (
                f"Read in full, only {len(read)} of {len(steps)} sizes reach half of the best score (F1: {said}): the model does not read the others, "
                "and a fall to them says nothing of caches."
            )
        found = [(g, low, high, view.gap(high, low, (g,))) for g in view.groups for low, high in itertools.pairwise(read)]
        falls = [(g, low, high, gap) for g, low, high, gap in found if gap.interval is not None and gap.interval[1] < 0]
        if falls:
            said = "; ".join(f"{g}: {low} to {high} {points(gap)}" for g, low, high, gap in falls)
            return "seen", f"F1 falls in {len(falls)} of {len(found)} steps, clear of the interval: {said}."
        down = sum(gap.points < 0 for _, _, _, gap in found)
        return "not seen", f"In {down} of {len(found)} steps F1 is lower than one step before, and in none of them clear of its interval."

    return test


def many_times_sooner(pairs: Sequence[tuple[str, str]], times: float) -> Test:
    """In most groups a's first token comes at least `times` times earlier than b's."""

    def test(view: View) -> Outcome:
        found = [(a, b, group, view.gap(a, b, (group,)).ratio) for a, b in pairs for group in view.groups]
        known = [(a, b, group, 1 / ratio) for a, b, group, ratio in found if ratio]
        if not known:
            return "not measured", "No arm has a time."
        most = sum(factor >= times for *_, factor in known) * 2 > len(known)
        said = "; ".join(f"{group} {factor:.1f} times ({view.rows(b, group):,.0f} rows)" for _, b, group, factor in known)
        return ("seen" if most else "not seen"), f"{known[0][0]} is sooner than {known[0][1]}: {said}."

    return test


# Sentences


def _scores(view: View, a: str, b: str, gap: Gap) -> str:
    return f"F1 {view.mean(a):.1f} ({a}) against {view.mean(b):.1f} ({b}): {points(gap)} over {gap.n} questions."


def points(gap: Gap) -> str:
    """A difference with its interval, as sentences have it."""
    return f"{gap.points:+.1f} points" + ("" if gap.interval is None else f" ({gap.interval[0]:+.1f} to {gap.interval[1]:+.1f})")


def _times(a: str, b: str, gap: Gap) -> str:
    ratio = gap.ratio or 1.0
    change = f"{100 * (1 - ratio):.1f} % less" if ratio <= 1 else f"{100 * (ratio - 1):.1f} % more"
    return f"Time to the first token: {a} takes {ratio:.3g}{_times_span(gap)} times that of {b}, {change}."


def _times_span(gap: Gap) -> str:
    return "" if gap.ratio_interval is None else f" ({gap.ratio_interval[0]:.3g} to {gap.ratio_interval[1]:.3g})"
