"""A run that may be stopped: rows are whole or absent, nothing is measured twice, and two measurements never share a table."""

import json
from pathlib import Path
from typing import Any

import pytest

from eval import kamera_runs
from eval.errors import OtherRun
from eval.kamera_runs import RUNS, Journal, Part, Run, chosen, run
from eval.records import Sample

SETTINGS = {"n": 4, "model": "reader"}


class Here:
    """All that `run` asks of a lab before it measures."""

    lines = 3


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A run "main" whose measuring is noted, and fails at the third item when the list says so."""
    seen: list[str] = []

    def measure(lab: Any, sample: Sample, number: int) -> dict[str, Any]:
        if seen and seen[0] == "stop" and len(seen) == 3:
            raise KeyboardInterrupt
        seen.append(sample.id)
        return {"readings": [{"arm": "full", "first": 1 / 3}]}

    monkeypatch.setitem(kamera_runs.RUNS, "main", Run((Part(2, 1, 1.0),), lambda: measure))
    return seen


def test_a_stopped_run_goes_on_where_it_was_and_ends_as_an_unbroken_one(tmp_path: Path, counted: list[str]) -> None:
    said: list[tuple[int, int]] = []
    counted.append("stop")
    with pytest.raises(KeyboardInterrupt):
        run("main", Here(), 4, Journal(tmp_path / "a.jsonl", SETTINGS), lambda *_: None)  # type: ignore[arg-type]
    assert len(counted) == 3
    counted[0] = "go"
    rows = run("main", Here(), 4, Journal(tmp_path / "a.jsonl", SETTINGS), lambda done, total, _: said.append((done, total)))  # type: ignore[arg-type]
    assert said == [(3, 4), (4, 4)]
    assert len(counted) == len(set(counted)) == 5
    assert rows == run("main", Here(), 4, Journal(tmp_path / "b.jsonl", SETTINGS), lambda *_: None)  # type: ignore[arg-type]
    assert (tmp_path / "a.jsonl").read_bytes() == (tmp_path / "b.jsonl").read_bytes()


def test_half_a_line_is_measured_again(tmp_path: Path, counted: list[str]) -> None:
    path = tmp_path / "a.jsonl"
    run("main", Here(), 2, Journal(path, SETTINGS), lambda *_: None)  # type: ignore[arg-type]
    path.write_bytes(path.read_bytes()[:-20])
    run("main", Here(), 2, Journal(path, SETTINGS), lambda *_: None)  # type: ignore[arg-type]
    assert len(counted) == 3
    assert [json.loads(line)["id"] for line in path.read_text().splitlines()[1:]] == counted[:2]


def test_a_folder_with_other_settings_is_refused_and_the_difference_named(tmp_path: Path) -> None:
    Journal(tmp_path / "a.jsonl", SETTINGS)
    with pytest.raises(OtherRun, match=r"n 4, not 5; give another folder with --out"):
        Journal(tmp_path / "a.jsonl", {**SETTINGS, "n": 5})


def test_a_file_that_is_no_journal_is_refused_and_left_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text("shopping list\n")
    with pytest.raises(OtherRun, match="no settings"):
        Journal(path, SETTINGS)
    assert path.read_text() == "shopping list\n"


def test_runs_are_chosen_by_name_in_one_order() -> None:
    assert chosen("depth, main") == ["main", "depth"]
    with pytest.raises(ValueError, match="'dept'"):
        chosen("dept")


@pytest.mark.parametrize("name", RUNS)
def test_every_run_has_items_at_any_size_and_no_two_with_one_id(name: str) -> None:
    items = [sample.id for part in RUNS[name].parts for sample in part.samples(3, 4)]
    assert items
    assert len(items) == len(set(items))
