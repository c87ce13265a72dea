"""Results are found by what they say they are; what cannot be read is told."""

import json
from pathlib import Path

from eval.report.find import find


def test_results_come_in_the_pages_order_and_the_missing_are_named(results: Path) -> None:
    found = find(results)
    assert [result.task for result in found.results] == ["q3", "kamera", "ttft"]
    assert found.missing == ("q1", "q2", "q4")
    assert found.results[0].place == "q3/results.json"


def test_other_documents_are_passed_over_and_broken_ones_told(results: Path) -> None:
    (results / "other.json").write_text(json.dumps({"task": "else"}), encoding="utf-8")
    (results / "list.json").write_text("[1]", encoding="utf-8")
    (results / "q1").mkdir()
    (results / "q1" / "results.json").write_text('{"task": "q1", ', encoding="utf-8")
    (results / "deep" / "a" / "b").mkdir(parents=True)
    (results / "deep" / "a" / "b" / "results.json").write_text(json.dumps({"task": "q2"}), encoding="utf-8")
    found = find(results)
    assert [result.task for result in found.results] == ["q3", "kamera", "ttft"]
    assert len(found.unreadable) == 1
    assert found.unreadable[0].startswith("q1/results.json: ")
