"""Known answers come out to the letter through the whole path; buckets, intervals and comparisons are what they are defined to be."""

import json

import pytest

from eval.longbench import scoring
from eval.longbench.report import score
from eval.longbench.results import Line
from eval.longbench.tasks import OFFICIAL, TASKS


@pytest.fixture(scope="module")
def known(shared):
    return json.loads((shared / "data" / "longbench_metric_cases.json").read_text(encoding="utf-8"))


def line(case) -> Line:
    pred = OFFICIAL.clean(case["prediction"])
    return Line("arm", case["task"], str(case["id"]), "", pred, tuple(case["answers"]), 0, text=case["prediction"])


def test_every_known_case_has_longbenchs_score_through_a_result_line(known) -> None:
    cases = [case for case in known["cases"] if case["task"] in TASKS]
    assert len(cases) > 30
    for case in cases:
        read_back = Line(**{**json.loads(json.dumps(line(case).__dict__)), "answers": tuple(case["answers"])})
        assert round(score(read_back), 6) == case["expected_score"], case


def test_every_known_batch_has_longbenchs_average(known) -> None:
    cases = {case["id"]: case for case in known["cases"]}
    for batch in known["batches"]:
        assert scoring.per_cent([score(line(cases[number])) for number in batch["case_ids"]]) == batch["expected_percent"]


def test_real_predictions_score_what_was_published(shared) -> None:
    folder = shared / "data" / "longbench_metric_e2e"
    if not folder.is_dir():
        pytest.skip("shared/data/longbench_metric_e2e is not there")
    expected = json.loads((folder / "expected.json").read_text(encoding="utf-8"))
    found = {}
    for path in sorted(folder.glob("*.jsonl")):
        task = path.stem.rpartition(".")[2]
        rows = [json.loads(text) for text in path.read_text(encoding="utf-8").splitlines()]
        found[path.stem] = scoring.per_cent([score(Line("arm", task, "", "", row["pred"], tuple(row["answers"]), 0)) for row in rows])
    assert found
    assert found == {name: expected.get(name) for name in found}


def test_a_failed_sample_is_a_zero_in_the_sum_and_a_one_in_the_count() -> None:
    failed = Line("arm", "hotpotqa", "2", "", "Ann", ("Ann",), 0, error="ContextTooLong: too long")
    assert score(failed) == 0.0
    assert scoring.per_cent([1.0, score(failed)]) == 50.0


def test_the_mean_is_of_the_printed_task_scores_each_task_alike() -> None:
    assert scoring.mean_of_tasks({"a": [1.0] * 9, "b": [0.0, 0.0, 1.0]}) == round((100.0 + 33.33) / 2, 2)


@pytest.mark.parametrize(("length", "name"), [(0, "0-4k"), (3999, "0-4k"), (4000, "4-8k"), (7999, "4-8k"), (8000, "8k+")])
def test_the_buckets_break_where_longbench_e_breaks_them(length, name) -> None:
    assert scoring.bucket(length) == name


def test_a_bucket_without_rows_has_no_score() -> None:
    assert scoring.by_length([1.0, 0.0, 1.0], [5, 3999, 9000]) == {"0-4k": (50.0, 2), "4-8k": (None, 0), "8k+": (100.0, 1)}


def test_an_interval_holds_its_score_and_narrows_with_rows_and_repeats() -> None:
    few, many = [0.0, 1.0] * 10, [0.0, 1.0] * 100
    low, high = scoring.interval("hotpotqa", many)
    assert scoring.interval("hotpotqa", many) == (low, high)
    assert low < 50.0 < high
    # The binomial's own width, 1.96 * sqrt(0.25 / 200), is 6.93 points on each side.
    assert high - low == pytest.approx(2 * 6.93, abs=1.0)
    wide = scoring.interval("hotpotqa", few)
    assert wide[1] - wide[0] > high - low


def test_scores_that_do_not_vary_have_an_interval_without_width() -> None:
    assert scoring.interval("musique", [0.25] * 7) == (25.0, 25.0)
    assert scoring.interval_of_mean({"musique": [0.25] * 7, "hotpotqa": [0.75] * 3}) == (50.0, 50.0)


def test_arms_that_answer_alike_do_not_differ() -> None:
    same = {"hotpotqa": [0.0, 1.0, 0.5]}
    each, mean = scoring.compare(same, same)
    assert each["hotpotqa"] == mean == scoring.Difference(0.0, (0.0, 0.0), 1.0)


def test_a_gap_that_every_sample_shows_is_sure_although_the_scores_scatter() -> None:
    low = [0.0, 0.2, 0.4, 0.6, 0.8] * 4
    _, mean = scoring.compare({"hotpotqa": [value + 0.1 for value in low]}, {"hotpotqa": low})
    assert mean.points == 10.0
    assert mean.interval == (10.0, 10.0)
    assert mean.p < 0.001


def test_the_sign_flip_test_is_the_exact_one_on_a_case_that_can_be_counted() -> None:
    # Three equal gaps: of the eight flips two are as far from 0, so p is 1/4.
    _, mean = scoring.compare({"musique": [1.0] * 3}, {"musique": [0.0] * 3})
    assert mean.p == pytest.approx(0.25, abs=0.02)


def test_a_comparison_is_antisymmetric_and_needs_the_same_rows() -> None:
    a, b = {"hotpotqa": [1.0, 0.3, 0.0]}, {"hotpotqa": [0.5, 0.0, 0.2]}
    forth, back = scoring.compare(a, b)[1], scoring.compare(b, a)[1]
    assert (forth.points, forth.p) == (-back.points, back.p)
    with pytest.raises(ValueError, match="same tasks and rows"):
        scoring.compare(a, {"hotpotqa": [1.0]})
