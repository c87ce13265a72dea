"""A section shows our figures, marks theirs, and takes plots by plain names alone."""

import pytest

from eval.report.find import find
from eval.report.sections import missing, section


def parts(results):
    return {result.task: result for result in find(results).results}


def test_a_question_has_its_verdicts_table_plot_and_command(results) -> None:
    said = section(parts(results)["q3"])
    assert 'class="theirs number"' in said
    assert "data:image/svg+xml;base64," in said
    assert "Made by:" in said
    assert said.count('<div class="claim">') == 1
    assert "2 pages" in said
    assert "<script" not in said


@pytest.mark.parametrize("file", ["../../secret", "/etc/passwd", "a/b", "f1-by-time.svg", "", "not-there"])
def test_a_plot_of_another_name_is_named_as_missing_and_never_a_path(file, results) -> None:
    (results.parent / "secret.svg").write_text("<svg>secret</svg>", encoding="utf-8")
    result = parts(results)["q3"]
    result.facts["plots"][0]["file"] = file
    said = section(result)
    assert "Not there: the figure" in said
    assert "base64" not in said


def test_kamera_and_times_have_their_tables(results) -> None:
    found = parts(results)
    assert section(found["kamera"]).count('<div class="claim">') == 9
    said = section(found["ttft"])
    assert ">0.12<" in said
    assert "<script" not in said


def test_a_missing_part_says_which_command_makes_it() -> None:
    assert "quire eval q1" in missing("q1")
    assert "quire bench ttft" in missing("ttft")
