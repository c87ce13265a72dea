"""The scorer agrees with LongBench's own on every known answer, and its interval with the textbook."""

import json

import pytest

from eval.score import exact_match, normalise, score_sample, score_task, token_f1, wilson


@pytest.fixture(scope="module")
def known(shared):
    return json.loads((shared / "data" / "longbench_metric_cases.json").read_text(encoding="utf-8"))


def test_every_known_case_has_longbenchs_score(known):
    ours = {case["id"]: round(score_sample(case["task"], case["prediction"], case["answers"]), 6) for case in known["cases"]}
    assert ours == {case["id"]: case["expected_score"] for case in known["cases"]}


def test_every_known_batch_has_longbenchs_average(known):
    cases = {case["id"]: case for case in known["cases"]}
    assert known["batches"]
    for batch in known["batches"]:
        picked = [cases[i] for i in batch["case_ids"]]
        score = score_task(batch["task"], [c["prediction"] for c in picked], [c["answers"] for c in picked])
        assert score == batch["expected_percent"]


@pytest.mark.parametrize(
    ("text", "plain"),
    [("The U.S.A.", "usa"), ("a  cat,\tan owl", "cat owl"), ("the_end", "theend"), ("2013–14", "2013–14"), ("Straße", "straße")],
)
def test_normalising_lowers_drops_signs_then_articles(text, plain):
    assert normalise(text) == plain


def test_only_the_worked_example_tasks_are_cut_at_the_first_line():
    said = "\n\nPaul Simon\nPassage: more"
    assert score_sample("triviaqa", said, ["Paul Simon"]) == 1.0
    assert score_sample("hotpotqa", said, ["Paul Simon"]) < 1.0


def test_repeated_words_count_as_often_as_both_sides_have_them():
    assert token_f1("yes yes yes", "yes") == 0.5


def test_an_answer_that_empties_out_never_scores():
    assert token_f1("A", "A") == 0.0


def test_a_missing_prediction_is_an_error_and_not_a_lower_score():
    with pytest.raises(ValueError, match="1 predictions for 2 rows"):
        score_task("records", ["x"], [["x"], ["y"]])


def test_exact_match_minds_case_and_signs_but_not_white_space_at_the_ends():
    assert exact_match(" $23,890\n", ["$23,890"])
    assert not exact_match("23890", ["$23,890"])
    assert not exact_match("brobo", ["Brobo"])


def test_the_interval_is_wilsons():
    low, high = wilson(115, 200)
    assert (round(low, 4), round(high, 4)) == (0.5057, 0.6415)


def test_the_interval_has_width_even_when_all_or_none_were_right():
    assert wilson(0, 10) == (0.0, pytest.approx(0.2775, abs=1e-4))
    assert wilson(10, 10) == (pytest.approx(0.7225, abs=1e-4), 1.0)


@pytest.mark.parametrize(("k", "n"), [(1, 0), (0, 0), (-1, 5), (6, 5)])
def test_what_is_not_a_proportion_is_refused(k, n):
    with pytest.raises(ValueError, match="not a proportion"):
        wilson(k, n)
