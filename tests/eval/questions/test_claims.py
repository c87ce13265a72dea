"""Each rule gives each of its verdicts, from figures alone."""

import pytest

from eval.questions.claims import Claim, alike, better, both, judge, many_times_sooner, rises, sooner, unsteady

HIGH, LOW = [1] * 18 + [0] * 2, [0] * 18 + [1] * 2
MIXED = [1, 0] * 10


def verdict(view, test, needs, **more):
    return judge(Claim("says", "where", (), needs, test, **more), view)["verdict"]


@pytest.mark.parametrize(("a", "b", "wanted"), [(HIGH, LOW, "seen"), (LOW, HIGH, "not seen"), (MIXED, MIXED, "not seen")])
def test_better_is_seen_when_the_difference_is_clear(a, b, wanted, view, arm) -> None:
    made = view({"a": arm(a), "b": arm(b)})
    assert verdict(made, better("a", "b"), ("a", "b")) == wanted


def test_the_opposite_is_said_where_it_is_clear(view, arm) -> None:
    found = judge(Claim("", "", (), ("a", "b"), better("a", "b")), view({"a": arm(LOW), "b": arm(HIGH)}))
    assert "The opposite stands clear." in found["why"]
    assert "-80.0 points" in found["why"]


def test_alike_is_seen_when_a_gain_is_ruled_out_and_not_when_it_is_only_unsure(view, arm) -> None:
    unsure = [1, 0, 0, 1, 0, 1, 1, 0, 1, 0] * 2
    made = view({"a": arm(MIXED), "b": arm(MIXED), "c": arm(unsure), "d": arm(HIGH)})
    assert verdict(made, alike("a", "b"), ("a", "b")) == "seen"
    assert verdict(made, alike("c", "b"), ("c", "b")) == "not seen"
    assert "does not rule out" in judge(Claim("", "", (), ("c", "b"), alike("c", "b")), made)["why"]
    assert verdict(made, alike("d", "b"), ("d", "b")) == "not seen"


def test_times_are_judged_by_their_ratio(view, arm) -> None:
    made = view({"a": arm(HIGH, seconds=0.1), "b": arm(HIGH, seconds=0.4), "c": arm(HIGH, seconds=2.0)})
    assert verdict(made, sooner("a", "b"), ("a", "b")) == "seen"
    assert verdict(made, sooner("b", "a"), ("a", "b")) == "not seen"
    assert verdict(made, rises(("a", "b", "c")), ("a", "b", "c")) == "seen"
    assert verdict(made, rises(("a", "c", "b")), ("a", "b", "c")) == "not seen"
    assert verdict(made, many_times_sooner((("a", "c"),), 10), ("a", "c")) == "seen"
    assert verdict(made, many_times_sooner((("a", "b"),), 10), ("a", "b")) == "not seen"


def test_an_arm_that_failed_throughout_has_no_time_to_judge(view, arm) -> None:
    made = view({"a": arm(HIGH, seconds=0.1), "b": arm(HIGH, seconds=None, failed=True)})
    assert verdict(made, sooner("a", "b"), ("a", "b")) == "not measured"


def test_of_several_tests_the_weakest_decides(view, arm) -> None:
    made = view({"a": arm(HIGH, seconds=0.1), "b": arm(LOW, seconds=0.4), "c": arm(LOW, seconds=0.05)})
    assert verdict(made, both(better("a", "b"), sooner("a", "b")), ("a", "b")) == "seen"
    assert verdict(made, both(better("a", "c"), sooner("a", "c")), ("a", "c")) == "not seen"


def test_a_fall_counts_only_among_sizes_that_are_read_in_full(view, arm) -> None:
    steps = (("p1", "f1"), ("p2", "f2"), ("p3", "f3"))
    read = {name: arm(HIGH) for name in ("f1", "f2", "f3")}
    falls = view({**read, "p1": arm(HIGH), "p2": arm(LOW), "p3": arm(LOW)})
    steady = view({**read, "p1": arm(HIGH), "p2": arm(HIGH), "p3": arm(HIGH)})
    blind = view({**read, "f2": arm(LOW), "f3": arm(LOW), "p1": arm(HIGH), "p2": arm(LOW), "p3": arm(LOW)})
    needs = ("p1", "p2", "p3", "f1", "f2", "f3")
    assert verdict(falls, unsteady(steps), needs) == "seen"
    assert verdict(steady, unsteady(steps), needs) == "not seen"
    assert verdict(blind, unsteady(steps), needs) == "not testable"


def test_a_missing_arm_is_not_measured_and_named(view, arm) -> None:
    found = judge(Claim("", "", (), ("a", "b"), better("a", "b")), view({"a": arm(HIGH)}))
    assert (found["verdict"], found["why"]) == ("not measured", "b: not run.")


def test_one_context_says_nothing_of_others(view, arm) -> None:
    made = view({"a": arm([1, 1]), "b": arm([0, 0])}, each=2)
    assert verdict(made, better("a", "b"), ("a", "b")) == "not testable"


def promotion(arm, few: int, many: int):
    """Rows of QV-PIC between 100 and 200, with two pages and with eight."""
    return {
        "image-pic@72": {"2 pages": arm(LOW, rows=100), "8 pages": arm(LOW, rows=100)},
        "image-pic@120": {"2 pages": arm(HIGH, rows=200), "8 pages": arm(HIGH, rows=200)},
        "qv-pic": {"2 pages": arm(LOW, rows=few), "8 pages": arm(HIGH, rows=many)},
    }


def test_promotion_is_judged_only_where_it_chooses(view, arm) -> None:
    needs = ("qv-pic", "image-pic@72", "image-pic@120")
    test = better("qv-pic", "image-pic@72")
    assert verdict(view(promotion(arm, 200, 180)), test, needs, choosing=True) == "not testable"
    found = judge(Claim("", "", (), needs, test, choosing=True), view(promotion(arm, 200, 150)))
    # With two pages all rows are taken and F1 is low: only the eight count.
    assert found["verdict"] == "seen"
    assert "Judged on 8 pages" in found["why"]
