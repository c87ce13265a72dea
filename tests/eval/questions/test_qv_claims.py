"""The paper's own figures, put in as if they were ours, bear the paper out; their reverse does not."""

import pytest

from eval.questions.claims import judge
from eval.questions.plans import PLANS
from eval.questions.qv_claims import CLAIMS


def scores(percent: float) -> list[float]:
    """200 items of which so many per cent are right, the same first ones in every arm."""
    return [1.0 if i < 2 * percent else 0.0 for i in range(200)]


THEIRS = {
    "image-full@72": (55, 5.0),
    "image-full@120": (58, 9.0),
    "image-pic@72:free": (32, 0.5),
    "image-pic@72:dummy-2": (47, 0.5),
    "image-pic@72:dummy-4": (45, 0.5),
    "image-pic@72:dummy-8": (42, 0.5),
    "image-pic@72:dummy-16": (38, 0.5),
    "image-pic@72": (48, 0.5),
    "image-pic@72:free+epic-2": (31, 0.6),
    "image-pic@72:free+epic-4": (33, 0.6),
    "image-pic@120:free": (33, 0.9),
    "image-pic@120:dummy-2": (48, 0.9),
    "image-pic@120:dummy-4": (46, 0.9),
    "image-pic@120:dummy-8": (44, 0.9),
    "image-pic@120:dummy-16": (40, 0.9),
    "image-pic@120": (52, 0.9),
    "image-pic@120:free+epic-2": (32, 1.0),
    "image-pic@120:free+epic-4": (33, 1.0),
    "text-full": (59, 8.0),
    "text-pic:free": (44, 1.1),
    "text-pic:dummy-2": (50, 1.1),
    "text-pic:dummy-4": (46, 1.1),
    "text-pic:dummy-8": (44, 1.1),
    "text-pic:dummy-16": (42, 1.1),
    "text-pic": (51, 1.1),
    "qv-pic": (54, 0.7),
    "qv-pic:free": (32, 0.7),
}
ROWS = {"image-pic@72": 100, "qv-pic": 130, "image-pic@120": 200}


@pytest.mark.parametrize("name", ["q1", "q3", "q4"])
def test_the_papers_figures_bear_out_the_papers_claims(name, view, arm) -> None:
    made = view({one: arm(scores(THEIRS[one][0]), THEIRS[one][1], ROWS.get(one, 100)) for one in PLANS[name].arms})
    found = [judge(claim, made) for claim in CLAIMS[name]]
    assert [(one["says"], one["why"]) for one in found if one["verdict"] != "seen"] == []


@pytest.mark.parametrize("name", ["q1", "q3", "q4"])
def test_where_all_arms_are_the_same_no_gain_is_seen(name, view, arm) -> None:
    made = view({one: arm(scores(50), 1.0, ROWS.get(one, 100)) for one in PLANS[name].arms})
    gains = [
        claim
        for claim in CLAIMS[name]
        if "next to nothing" not in claim.says and "level" not in claim.says and "nothing." not in claim.says[-9:]
    ]
    assert gains
    assert {judge(claim, made)["verdict"] for claim in gains} <= {"not seen", "not testable"}


def test_a_model_of_noise_tests_no_claim_about_scores(view, arm) -> None:
    made = view({one: arm([0.0] * 40, 1.0, ROWS.get(one, 100)) for one in PLANS["q1"].arms})
    assert {judge(claim, made)["verdict"] for claim in CLAIMS["q1"]} == {"not testable"}
