"""The questions' arms are names that the runner knows, and what is compared is asked."""

import pytest

from eval.longbench.arms import arms_named
from eval.questions.plans import PLANS, is_text
from eval.questions.published import PUBLISHED
from eval.questions.qv_claims import CLAIMS


@pytest.mark.parametrize("name", PLANS)
def test_every_arm_is_one_that_the_runner_knows(name: str) -> None:
    assert arms_named(",".join(PLANS[name].arms)) == PLANS[name].arms


@pytest.mark.parametrize("name", PLANS)
def test_compared_arms_and_claims_are_of_the_plan(name: str) -> None:
    plan = PLANS[name]
    assert {arm for pair in plan.pairs for arm in pair} <= set(plan.arms)
    assert {arm for claim in CLAIMS[name] for arm in claim.needs} <= set(plan.arms)
    assert set(plan.theirs) <= set(plan.arms)


@pytest.mark.parametrize("name", PLANS)
def test_what_is_quoted_for_an_arm_or_a_claim_is_published(name: str) -> None:
    quoted = {*PLANS[name].theirs.values(), *(key for claim in CLAIMS[name] for key in claim.theirs)}
    assert quoted <= set(PUBLISHED)


def test_the_first_question_has_every_setting_of_figures_3_and_4() -> None:
    assert sum(arm.startswith("image-pic@72") for arm in PLANS["q1"].arms) == 8
    assert sum(is_text(arm) and "full" not in arm for arm in PLANS["q1"].arms) == 6


def test_text_arms_are_told_from_images() -> None:
    assert is_text("text-pic:free")
    assert not is_text("image-pic@72")
