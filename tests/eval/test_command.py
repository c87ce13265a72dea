"""The command line: the product's commands and the measuring ones under one name; the last line is JSON."""

import json
from pathlib import Path

import pytest

from eval.command import main


def test_records_prints_a_table_and_ends_in_one_json_document(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["eval", "records", "--n", "2", "--each", "2", "--arms", "full,template", "--dpi", "72"]) == 0
    lines = capsys.readouterr().out.strip().splitlines()
    facts = json.loads(lines[-1])
    assert facts["questions"] == 2
    assert [row["arm"] for row in facts["rows"]] == ["full", "template"]
    assert lines[0].startswith("arm")


def test_records_can_be_written_and_read_back(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "records.jsonl"
    assert main(["eval", "records", "--n", "3", "--write", str(file)]) == 0
    assert len(file.read_text().splitlines()) == 3
    assert main(["eval", "records", "--n", "2", "--data", str(file), "--arms", "template", "--dpi", "72"]) == 0
    assert json.loads(capsys.readouterr().out.strip().splitlines()[-1])["questions"] == 2


def test_an_unknown_arm_ends_in_a_sentence_and_not_in_a_traceback(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["eval", "records", "--n", "1", "--arms", "nonsense"]) != 0
    said = capsys.readouterr().err
    assert "dummy-K" in said
    assert "Traceback" not in said


def test_a_dpi_that_is_no_number_is_told_before_anything_is_loaded(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main(["eval", "records", "--dpi", "sharp"])
    assert end.value.code == 2
    assert "promote" in capsys.readouterr().err


def test_a_model_that_is_not_there_ends_in_a_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["eval", "records", "--n", "1", "--model", "/nowhere"]) != 0
    assert "/nowhere" in capsys.readouterr().err


@pytest.mark.parametrize("words", [["--help"], ["eval", "records", "--help"], ["bench", "ttft", "--help"], ["demo", "--help"]])
def test_every_command_explains_itself(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main(words)
    assert end.value.code == 0
    assert "usage" in capsys.readouterr().out
