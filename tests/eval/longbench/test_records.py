"""Rows are read in order from every layout, and what is wrong is named by file, line and field."""

import json
import shutil
import sys

import pytest

from eval.longbench.errors import BadRecord, NoData
from eval.longbench.records import read
from eval.longbench.tasks import TASKS

ROW = {"_id": "1", "input": "Who?", "context": "Ann was.", "answers": ["Ann"], "length": 2, "dataset": "hotpotqa"}


def write(path, *rows):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows), encoding="utf-8")
    return path


def test_the_fixture_holds_three_records_of_each_task(rows) -> None:
    assert {task: len(group) for task, group in rows.items()} == dict.fromkeys(TASKS, 3)
    assert list(rows) == list(TASKS)


def test_a_folder_of_parquet_gives_the_very_same_records(fixtures, rows, tmp_path) -> None:
    arrow = pytest.importorskip("pyarrow", reason="parquet needs pyarrow (quire[eval])")
    import pyarrow.parquet as parquet

    for task in TASKS:
        lines = [json.loads(line) for line in (fixtures / f"{task}.jsonl").read_text(encoding="utf-8").splitlines()]
        (tmp_path / task).mkdir()
        parquet.write_table(arrow.Table.from_pylist(lines[:2]), tmp_path / task / "test-00000-of-00002.parquet")
        parquet.write_table(arrow.Table.from_pylist(lines[2:]), tmp_path / task / "test-00001-of-00002.parquet")
    assert read(tmp_path) == rows


def test_one_file_may_hold_several_tasks(fixtures, rows, tmp_path) -> None:
    whole = tmp_path / "all.jsonl"
    whole.write_text("".join((fixtures / f"{task}.jsonl").read_text(encoding="utf-8") for task in reversed(TASKS)), encoding="utf-8")
    assert read(whole) == rows
    assert read(whole, ["musique"], limit=2) == {"musique": rows["musique"][:2]}


def test_a_limit_takes_the_first_rows_of_each_task(fixtures, rows) -> None:
    assert read(fixtures, limit=1) == {task: group[:1] for task, group in rows.items()}


def test_files_of_other_tasks_are_passed_over(fixtures, tmp_path) -> None:
    shutil.copy(fixtures / "musique.jsonl", tmp_path)
    write(tmp_path / "qasper.jsonl", "nothing of ours")
    assert list(read(tmp_path)) == ["musique"]


@pytest.mark.parametrize("name", ["_id", "input", "context", "answers", "length", "dataset"])
def test_a_missing_field_is_named_with_file_and_line(name, tmp_path) -> None:
    path = write(tmp_path / "hotpotqa.jsonl", ROW, {key: value for key, value in ROW.items() if key != name})
    with pytest.raises(BadRecord, match=rf"hotpotqa\.jsonl, line 2: field '{name}' is missing"):
        read(path)


@pytest.mark.parametrize(
    ("name", "value"),
    [("answers", "Ann"), ("answers", [1]), ("length", "2"), ("length", True), ("length", -1), ("context", None), ("_id", 7)],
)
def test_a_field_of_the_wrong_kind_is_named_with_its_value(name, value, tmp_path) -> None:
    with pytest.raises(BadRecord, match=f"line 1: field '{name}'"):
        read(write(tmp_path / "x.jsonl", ROW | {name: value}))


def test_a_row_of_another_task_than_its_file_is_refused(tmp_path) -> None:
    write(tmp_path / "musique.jsonl", ROW)
    with pytest.raises(BadRecord, match="'dataset' is 'hotpotqa', not 'musique'"):
        read(tmp_path)


def test_a_task_that_is_none_of_the_six_is_refused(tmp_path) -> None:
    with pytest.raises(BadRecord, match="'dataset' is 'qasper'"):
        read(write(tmp_path / "x.jsonl", ROW | {"dataset": "qasper"}))


def test_a_half_written_line_is_told_as_such(tmp_path) -> None:
    path = write(tmp_path / "hotpotqa.jsonl", ROW)
    path.write_text(path.read_text() + json.dumps(ROW)[:30])
    with pytest.raises(BadRecord, match="line 2: no whole JSON object"):
        read(path)


def test_a_line_that_is_no_object_and_a_file_that_is_no_text_are_told(tmp_path) -> None:
    with pytest.raises(BadRecord, match="a list, not a JSON object"):
        read(write(tmp_path / "x.jsonl", "[1]"))
    (tmp_path / "y.jsonl").write_bytes(b"\xff\xfe{")
    with pytest.raises(BadRecord, match="not UTF-8"):
        read(tmp_path / "y.jsonl")


def test_nothing_there_a_task_not_there_and_two_files_of_one_task_are_told(fixtures, tmp_path) -> None:
    with pytest.raises(NoData, match="no such file"):
        read(tmp_path / "nowhere")
    with pytest.raises(NoData, match="no rows of"):
        read(tmp_path)
    write(tmp_path / "hotpotqa.jsonl", ROW)
    with pytest.raises(NoData, match="no rows of triviaqa"):
        read(tmp_path, ["hotpotqa", "triviaqa"])
    write(tmp_path / "data" / "hotpotqa.jsonl", ROW)
    with pytest.raises(NoData, match="leave one"):
        read(tmp_path)


def test_parquet_without_pyarrow_names_the_extra(tmp_path, monkeypatch) -> None:
    (tmp_path / "hotpotqa.parquet").write_bytes(b"PAR1")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with pytest.raises(NoData, match=r"install quire\[eval\]"):
        read(tmp_path)


def test_a_parquet_file_that_is_cut_short_is_told(tmp_path) -> None:
    pytest.importorskip("pyarrow", reason="parquet needs pyarrow (quire[eval])")
    (tmp_path / "hotpotqa.parquet").write_bytes(b"PAR1")
    with pytest.raises(NoData, match="not a parquet file that can be read"):
        read(tmp_path)


def test_a_repeated_id_is_kept_under_a_name_of_its_own(tmp_path) -> None:
    found = read(write(tmp_path / "hotpotqa.jsonl", ROW, ROW | {"input": "When?"}, ROW))["hotpotqa"]
    assert [record.id for record in found] == ["1", "1#2", "1#3"]
    assert found[0].digest == found[2].digest != found[1].digest
