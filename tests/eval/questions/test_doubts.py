"""What voids a test, and what explains a difference that is not there."""

from eval.questions import doubts
from eval.questions.claims import Claim, better, judge

HIGH, LOW = [1] * 18 + [0] * 2, [0] * 18 + [1] * 2
MIXED = [1, 0] * 10


def verdict(view, test, needs, **more):
    return judge(Claim("says", "where", (), needs, test, **more), view)["verdict"]


def test_a_model_that_reads_next_to_nothing_can_lose_nothing(view, arm) -> None:
    made = view({"a": arm(HIGH), "b": arm(LOW), "full": arm([0] * 20)})
    assert verdict(made, better("a", "b"), ("a", "b"), void=(doubts.reads_little("full"),)) == "not testable"
    # One of two full prefills that reads is enough.
    assert verdict(made, better("a", "b"), ("a", "b"), void=(doubts.reads_little("full", "a"),)) == "seen"


def test_where_nothing_is_lost_a_repair_is_not_testable_but_a_clear_gain_is_still_seen(view, arm) -> None:
    excuse = (doubts.nothing_lost("full", "b"),)
    lossless = view({"a": arm(MIXED), "b": arm(MIXED), "full": arm(MIXED)})
    assert verdict(lossless, better("a", "b"), ("a", "b"), excuse=excuse) == "not testable"
    lossy = view({"a": arm(LOW), "b": arm(LOW), "full": arm(HIGH)})
    assert verdict(lossy, better("a", "b"), ("a", "b"), excuse=excuse) == "not seen"
    gain = view({"a": arm(HIGH), "b": arm(LOW), "full": arm(LOW)})
    assert verdict(gain, better("a", "b"), ("a", "b"), excuse=excuse) == "seen"


def test_two_readers_are_not_compared_as_if_they_were_one(view, arm) -> None:
    arms = {"text-pic": arm(HIGH), "image-pic@72": arm(LOW)}
    test = (better("text-pic", "image-pic@72"), ("text-pic", "image-pic@72"))
    assert verdict(view(arms), *test, void=(doubts.other_reader,)) == "seen"
    assert verdict(view(arms, text="other"), *test, void=(doubts.other_reader,)) == "not testable"


def test_choosing_cannot_pay_where_finer_pages_bring_nothing(view, arm) -> None:
    made = view({"qv-pic": arm(MIXED), "image-pic@72": arm(MIXED), "image-pic@120": arm(MIXED)})
    excuse = (doubts.no_detail("image-pic@72", "image-pic@120"),)
    assert verdict(made, better("qv-pic", "image-pic@72"), ("qv-pic",), excuse=excuse) == "not testable"
