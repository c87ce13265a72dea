"""A plan and its figures go in; the one document comes out that tables, plots and the report page are made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .answers import Answered, Asked
from .claims import View, judge
from .figures import ALL, Figures, as_row
from .plans import Plan
from .published import quoted
from .qv_claims import CLAIMS

Document = dict[str, Any]
NOTE = (
    "The paper's figures are its own: Glyph 9B and other models, LongBench's six tasks, other hardware. They cannot be set against ours in absolute terms; "
    "what can be compared is which way a difference points."
)


def document(
    plan: Plan, figures: Figures, asked: Sequence[Asked], answered: Sequence[Answered], settings: Mapping[str, Any], command: str
) -> Document:
    """Everything a run measured, with the verdicts on the paper's claims. `asked` and `answered` are the same models in the same order."""
    names = {one.model: said.name for one, said in zip(asked, answered, strict=True)}
    images = [one for one in asked if any(not arm.startswith("text-") for arm in one.arms)]
    places = [(names[one.model], arm) for one in asked for arm in plan.arms if arm in one.arms]
    lines = [
        {**line, "theirs": quoted(plan.theirs[line["arm"]]) if line["group"] == overall(figures) and line["arm"] in plan.theirs else None}
        for line in figures.lines(places)
    ]
    views = [View(figures, names[one.model], _text_model(one, asked, names), figures.groups) for one in images]
    return {
        "task": plan.name,
        "title": plan.title,
        "asks": plan.asks,
        "source": plan.source,
        "note": NOTE,
        "command": command,
        "settings": dict(settings),
        "models": {said.name: {"machine": dict(said.machine), "answers": dict(said.settings)} for said in answered},
        "groups": list(figures.groups),
        "overall": overall(figures),
        "lines": lines,
        "pairs": [row for view in views for row in _pairs(plan, view)],
        "findings": [judge(claim, view) for view in views for claim in CLAIMS[plan.name]],
        "items": _items(figures, places),
    }


def overall(figures: Figures) -> str:
    """The name of the lines over all groups: of a single group, its own."""
    return ALL if len(figures.groups) > 1 else figures.groups[0]


def _text_model(one: Asked, asked: Sequence[Asked], names: Mapping[str, str]) -> str:
    """A model that reads text itself is its own; else the one that does."""
    for other in (one, *asked):
        if any(arm.startswith("text-") for arm in other.arms):
            return names[other.model]
    return names[one.model]


def _pairs(plan: Plan, view: View) -> list[dict[str, Any]]:
    rows = []
    for a, b in plan.pairs:
        if view.has(a) and view.has(b):
            kinds = [(view.groups, overall(view.figures))]
            kinds += [((group,), group) for group in view.groups] if len(view.groups) > 1 else []
            rows += [as_row(view.place(a), view.place(b), name, view.gap(a, b, groups)) for groups, name in kinds]
    return rows


def _items(figures: Figures, places: Sequence[tuple[str, str]]) -> list[dict[str, Any]]:
    found = []
    for model, arm in places:
        if (model, arm) not in figures.measured:
            continue
        for group, items in figures.items(model, arm).items():
            found += [
                {
                    "model": model,
                    "arm": arm,
                    "group": group,
                    "id": item.id,
                    "f1": round(item.f1, 2),
                    "exact": item.exact,
                    "ttft": None if item.seconds is None else float(f"{item.seconds:.6g}"),
                    "rows": item.rows,
                    **({"failed": item.failed} if item.failed else {}),
                }
                for item in items
            ]
    return found
