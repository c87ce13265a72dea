"""Scores, times and differences are those of the lines."""

import pytest

from eval.questions.figures import as_row


def test_score_and_exact_match_are_means_over_groups(view, arm) -> None:
    made = view({"a": {"2 pages": arm([1, 1, 0.5, 0.5]), "4 pages": arm([0, 0])}})
    lines = {line["group"]: line for line in made.figures.lines([("m", "a")])}
    half = 100 * 2 * (2 / 2) * (2 / 4) / (2 / 2 + 2 / 4)
    assert lines["2 pages"]["f1"] == pytest.approx((200 + 2 * half) / 4, abs=1e-3)
    assert lines["2 pages"]["exact"] == 50.0
    assert lines["all"]["f1"] == pytest.approx(lines["2 pages"]["f1"] / 2, abs=1e-3)
    assert lines["all"]["n"] == 6


def test_a_failed_sample_counts_as_nothing_and_tells_only_its_kind(view, arm) -> None:
    made = view({"a": arm([1, 1], failed=True)})
    (line,) = made.figures.lines([("m", "a")])
    assert (line["f1"], line["exact"], line["failed"]) == (0.0, 0.0, 2)
    assert made.figures.items("m", "a")["2 pages"][0].failed == "ContextTooLong"


def test_a_difference_is_paired(view, arm) -> None:
    scores = [1, 0] * 10
    made = view({"a": arm(scores), "b": arm(scores)})
    gap = made.gap("a", "b")
    # Two arms that say the same differ by nothing, however wide each one's own interval is.
    assert (gap.points, gap.interval) == (0.0, (0.0, 0.0))


def test_a_ratio_of_times_is_that_of_the_items(view, arm) -> None:
    made = view({"a": arm([1] * 4, seconds=0.2), "b": arm([1] * 4, seconds=0.8)})
    gap = made.gap("a", "b")
    assert gap.ratio == pytest.approx(0.25)
    assert gap.ratio_interval == pytest.approx((0.25, 0.25))
    assert as_row(("m", "a"), ("m", "b"), "2 pages", gap)["ratio"] == 0.25


def test_an_arm_that_did_not_answer_all_is_not_measured(view, arm) -> None:
    made = view({"a": {"2 pages": arm([1, 1]), "4 pages": arm([1, 1])}, "b": {"2 pages": arm([1, 1])}})
    assert made.figures.measured == (("m", "a"),)
    assert made.figures.lines([("m", "b")]) == []


def test_a_single_group_has_no_line_of_all(view, arm) -> None:
    assert [line["group"] for line in view({"a": arm([1, 0])}).figures.lines([("m", "a")])] == ["2 pages"]
