"""The tables say protocol, model and every deviation, and a cell cannot break out of its row."""

import csv
import io
import json

from eval.longbench import report
from eval.longbench.results import Results
from eval.longbench.run import run
from eval.longbench.tasks import GLYPH, TASKS

SETTINGS = {"protocol": "glyph", "model": "m", "max_length": None, "max_tokens": 5}


def summary_of(rows, tmp_path, *arms):
    with Results(tmp_path, SETTINGS) as results:
        run(rows, arms, GLYPH, results)
        names = [arm.name for arm in arms]
        return report.summarise(rows, names, SETTINGS, results), report.times(names, rows, results)


def test_the_protocol_and_what_is_not_its_own_stand_in_every_output(rows, scripted, tmp_path) -> None:
    summary, _ = summary_of(rows, tmp_path, scripted("a", lambda record, _: record.answers[0]))
    for text in (report.text(summary), report.markdown(summary)):
        assert "protocol glyph" in text
        assert "5 tokens (not the protocol's)" in text
        assert "3 of 200 rows" in text
    assert summary["arms"][0]["mean"] == {"f1": 100.0, "interval": (100.0, 100.0), "tasks": 6}


def test_part_of_the_tasks_gives_a_mean_that_says_of_which(rows, scripted, tmp_path) -> None:
    part = {"musique": rows["musique"]}
    summary, _ = summary_of(part, tmp_path, scripted("a", lambda record, _: "x"))
    assert "the mean is over 1 of 6 tasks: musique" in report.text(summary)


def test_the_csv_has_a_row_for_each_arm_and_task_and_each_mean(rows, scripted, tmp_path) -> None:
    summary, times = summary_of(rows, tmp_path, scripted("a", lambda record, _: "x"), scripted("b", lambda record, _: record.answers[0]))
    found = list(csv.DictReader(io.StringIO(report.table_csv(summary))))
    assert [(row["arm"], row["task"]) for row in found] == [(arm, task) for arm in "ab" for task in (*TASKS, "mean")]
    assert {row["protocol"] for row in found} == {"glyph"}
    assert times["b"]["musique"] == {"n": 3, "first_token_mean": 0.5, "first_token_median": 0.5, "tokens_mean": 3}


def test_an_error_with_bars_and_newlines_stays_in_its_line(rows, scripted, tmp_path) -> None:
    def fails(record, before):
        raise MemoryError("a | b\nc") if before == 0 else MemoryError("other") if before == 1 else KeyError("x")

    part = {"musique": rows["musique"]}
    summary, times = summary_of(part, tmp_path, scripted("a", fails))
    said = report.markdown(summary)
    assert "3 samples failed" in said
    assert all(line.startswith(("|", "*", "LongBench", "")) for line in said.splitlines())
    assert "\nc" not in said
    assert times["a"]["musique"]["first_token_mean"] is None


def test_pairs_are_compared_sample_by_sample(rows, scripted, tmp_path) -> None:
    summary, _ = summary_of(rows, tmp_path, scripted("a", lambda record, _: record.answers[0]), scripted("b", lambda record, _: "x"))
    assert [(pair["a"], pair["b"], pair["mean"]["points"]) for pair in summary["pairs"]] == [("a", "b", 100.0)]
    assert "a - b: +100.00 points" in report.text(summary)
    json.dumps(summary)
