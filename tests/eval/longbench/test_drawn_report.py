"""Exact match beside F1, an arm a line; a failed sample is wrong, and counted; and it says that it is none of the six."""

import json

import pytest

from eval.longbench import drawn_report
from eval.longbench.records import Record
from eval.longbench.results import Line, Results

ROWS = [Record("records", str(number), "Who?", "A page.", ("Fen Tarrow",), 2) for number in range(4)]
PREDS = ["Fen Tarrow", "fen tarrow.", "Tarrow", None]


@pytest.fixture
def summary(tmp_path):
    with Results(tmp_path, {"protocol": "official"}) as results:
        for row, pred in zip(ROWS, PREDS, strict=True):
            error = None if pred else "ContextTooLong: too long"
            results.append(Line("text-pic", "records", row.id, row.digest, pred or "", row.answers, row.length, rows=10, error=error))
        return drawn_report.summarise(ROWS, ["text-pic"], {"protocol": "official"}, results)


def test_exact_match_is_to_the_letter_and_f1_is_longbenchs(summary) -> None:
    (arm,) = summary["arms"]
    assert (arm["n"], arm["failed"], arm["exact"]) == (4, 1, 25.0)
    assert arm["f1"] == pytest.approx(100 * (1 + 1 + 2 / 3) / 4, abs=0.01)
    assert arm["exact_interval"][0] < 25 < arm["exact_interval"][1]


def test_every_form_says_that_it_is_in_no_mean(summary, tmp_path) -> None:
    drawn_report.write(tmp_path, summary)
    assert json.loads((tmp_path / "records.json").read_text())["note"] == drawn_report.NOTE
    for said in (drawn_report.text(summary), (tmp_path / "records.md").read_text()):
        assert "not one of LongBench's six tasks" in said
        assert "25.0" in said
