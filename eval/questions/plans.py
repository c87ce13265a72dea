"""A question's name goes in; what QV-PIC asked there comes out: the arms, which of them is compared with which, and the paper's own figures.

All four are data. Arms are named as `eval.longbench.arms` has them; `text-` arms read the text of the same pages.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field

LOW, HIGH = 72, 120
DPIS = (72, 96, 120, 144, 168)
DUMMIES = (2, 4, 8, 16)
CONDITIONS = (":free", *(f":dummy-{length}" for length in DUMMIES), "")


@dataclass(frozen=True)
class Plan:
    """`pairs` (a, b): a is compared with b, item by item. `theirs`: the key in `published` of what the paper has for an arm."""

    name: str
    title: str
    asks: str
    source: str
    arms: tuple[str, ...]
    pairs: tuple[tuple[str, str], ...]
    theirs: dict[str, str] = field(default_factory=dict)


def is_text(arm: str) -> bool:
    """Whether an arm reads text: such arms are answered by the text model."""
    return arm.startswith("text-")


def _image_settings(dpi: int) -> tuple[str, ...]:
    pic = f"image-pic@{dpi}"
    return (f"image-full@{dpi}", *(pic + condition for condition in CONDITIONS), f"{pic}:free+epic-2", f"{pic}:free+epic-4")


_TEXT_SETTINGS = ("text-full", *("text-pic" + condition for condition in CONDITIONS))

Q1 = Plan(
    "q1",
    "What a page is compiled behind",
    "Does compiling a page behind the model's own chat template keep more of the answer than compiling it behind nothing, behind dummy tokens, "
    "or computing its first rows again when it is used?",
    "QV-PIC, Experiments, Q1: figure 3 (images at 72 and 120 DPI), figure 4 (text)",
    # EPIC computes rows again of caches that were compiled behind nothing, as the paper's baselines do.
    arms=(*_image_settings(LOW), *_image_settings(HIGH), *_TEXT_SETTINGS),
    pairs=tuple(
        (arm, base + ":free")
        for base, arms in (
            (f"image-pic@{LOW}", _image_settings(LOW)),
            (f"image-pic@{HIGH}", _image_settings(HIGH)),
            ("text-pic", _TEXT_SETTINGS),
        )
        for arm in arms
        if arm != base + ":free"
    ),
    theirs={
        "image-pic@72:free": "free@72",
        "image-pic@120:free": "free@120",
        "text-pic:free": "free-text",
        "image-pic@72:dummy-2": "dummy-2@72",
        "image-pic@120:dummy-2": "dummy-2@120",
        "image-pic@72:dummy-4": "dummy-4@72",
        "image-pic@120:dummy-4": "dummy-4@120",
        "text-pic:dummy-4": "dummy-4-text",
        "image-pic@72": "template@72",
        "image-pic@120": "template@120",
        "text-pic": "template-text",
    },
)

Q2 = Plan(
    "q2",
    "Resolution: what it gives and what it costs",
    "With pages compiled behind the template, how do the score and the time to the first token change as all pages are drawn finer?",
    "QV-PIC, Experiments, Q2: figure 5 (the range 72 to 168 DPI, per task, time on a logarithmic axis)",
    arms=(*(f"image-full@{dpi}" for dpi in DPIS), *(f"image-pic@{dpi}" for dpi in DPIS), "text-full", "text-pic"),
    pairs=(
        *((f"image-pic@{dpi}", f"image-full@{dpi}") for dpi in DPIS),
        *((f"image-pic@{high}", f"image-pic@{low}") for low, high in itertools.pairwise(DPIS)),
        (f"image-pic@{HIGH}", f"image-pic@{LOW}"),
        ("text-pic", "text-full"),
    ),
    theirs={"image-pic@72": "template@72", "image-pic@120": "template@120", "text-pic": "template-text"},
)

Q3 = Plan(
    "q3",
    "Finer pages only where the question needs them",
    "Does it pay to take only the pages that matter to the question at 120 DPI and all others at 72, and does it need the template?",
    "QV-PIC, Experiments, Q3: figure 6 (methods and the ablation of both components)",
    arms=(
        "qv-pic",
        f"image-pic@{LOW}",
        f"image-pic@{HIGH}",
        "text-pic",
        "qv-pic:free",
        f"image-pic@{LOW}:free",
        f"image-full@{LOW}",
        f"image-full@{HIGH}",
    ),
    pairs=(
        *(("qv-pic", other) for other in (f"image-pic@{LOW}", f"image-pic@{HIGH}", "text-pic", "qv-pic:free", f"image-pic@{LOW}:free")),
        *(("qv-pic", f"image-full@{dpi}") for dpi in (LOW, HIGH)),
        ("qv-pic:free", f"image-pic@{LOW}:free"),
        (f"image-pic@{LOW}", f"image-pic@{LOW}:free"),
        (f"image-pic@{HIGH}", f"image-pic@{LOW}"),
    ),
    theirs={
        "qv-pic": "qv",
        "image-pic@72": "template@72",
        "image-pic@120": "template@120",
        "text-pic": "template-text",
        "qv-pic:free": "qv-free",
        "image-pic@72:free": "free@72",
    },
)

Q4 = Plan(
    "q4",
    "The same over several models",
    "Do template and finer pages where they matter help models that were never trained on rendered text?",
    "QV-PIC, Experiments, Q4: figure 7",
    arms=(f"image-pic@{LOW}:free", f"image-pic@{LOW}", f"image-pic@{HIGH}", "text-pic", "qv-pic", f"image-full@{HIGH}"),
    pairs=(
        (f"image-pic@{LOW}", f"image-pic@{LOW}:free"),
        (f"image-pic@{HIGH}", f"image-pic@{LOW}"),
        *(("qv-pic", other) for other in (f"image-pic@{LOW}", f"image-pic@{HIGH}", "text-pic")),
    ),
)

PLANS: dict[str, Plan] = {plan.name: plan for plan in (Q1, Q2, Q3, Q4)}
