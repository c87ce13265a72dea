"""Arms and figures go in; the reason why a test of them says nothing here comes out, or nothing where there is none."""

from __future__ import annotations

from .claims import Doubt, View, points

# Points of F1. Full prefill below it reads next to nothing, and what is lost of nothing cannot be told.
LEAST_F1 = 5.0


def reads_little(*full: str) -> Doubt:
    """Full prefill scores next to nothing."""

    def doubt(view: View) -> str:
        known = [(arm, view.mean(arm)) for arm in full if view.has(arm)]
        low = [(arm, score) for arm, score in known if score < LEAST_F1]
        if not known or len(low) < len(known):
            return ""
        said = ", ".join(f"{arm} {score:.1f}" for arm, score in low)
        return f"Even full prefill scores next to nothing here (F1: {said}; at least {LEAST_F1:g} is asked), so no loss can be told."

    return doubt


def nothing_lost(full: str, pic: str) -> Doubt:
    """Blind reuse loses nothing that the items could show, so there is nothing to repair."""

    def doubt(view: View) -> str:
        if not (view.has(full) and view.has(pic)):
            return ""
        gap = view.gap(full, pic)
        if gap.interval is not None and gap.interval[0] > 0:
            return ""
        return f"There is no loss to repair: full prefill ({full}) lies {points(gap)} above {pic}."

    return doubt


def no_detail(low: str, high: str) -> Doubt:
    """The higher DPI itself brings nothing, so choosing where to use it cannot either."""

    def doubt(view: View) -> str:
        gap = view.gap(high, low)
        if gap.interval is not None and gap.interval[0] > 0:
            return ""
        return f"Finer pages bring nothing here to begin with: {high} lies {points(gap)} above {low}."

    return doubt


def other_reader(view: View) -> str:
    """Text and images are read by two models."""
    if view.text_model == view.model:
        return ""
    return f"Images are read by {view.model} and text by {view.text_model}: their difference is one of models, not of what a page is compiled from."
