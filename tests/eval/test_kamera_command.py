"""`quire eval kamera` and `quire bench patch`: what they write, that a second start measures nothing again, and what they refuse."""

import json
from pathlib import Path

import pytest

from eval.command import main


def test_a_run_writes_its_tables_and_figures_and_a_second_start_keeps_its_items(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib")
    words = ["eval", "kamera", "--n", "2", "--lines", "3", "--dpi", "72", "--out", str(tmp_path), "--only"]
    assert main([*words, "depth"]) == 0
    assert "depth: 1 of 1 items" in capsys.readouterr().err
    first = (tmp_path / "items.jsonl").read_bytes()
    assert main([*words, "survivors,depth"]) == 0
    said = capsys.readouterr()
    assert "depth" not in said.err
    assert (tmp_path / "items.jsonl").read_bytes().startswith(first)
    facts = json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))
    assert [row["run"] for row in facts["items"]] == ["survivors", "depth"]
    assert set(facts["summary"]) == {"survivors", "depth"}
    assert facts["settings"] == {"n": 2, "lines": 3, "dpi": 72, "model": "reader"}
    assert {"kamera.md", "depth.csv", "layers.csv", "survivors.csv", "eta-by-depth.png", "eta-by-depth.svg"} <= {
        path.name for path in tmp_path.iterdir()
    }
    assert "Kamera's own" in said.out
    assert main(["eval", "kamera", "--n", "3", "--lines", "3", "--dpi", "72", "--out", str(tmp_path), "--only", "depth"]) == 2
    assert "n 2, not 3" in capsys.readouterr().err


def test_a_run_of_no_such_name_is_refused_before_anything_is_loaded(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["eval", "kamera", "--only", "orbits", "--out", str(tmp_path / "x")]) == 2
    assert "'orbits'" in capsys.readouterr().err
    assert not (tmp_path / "x").exists()


def test_sizes_that_are_no_numbers_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "patch", "--tokens", "64,many"]) == 2
    assert "'many'" in capsys.readouterr().err


def test_the_bench_prints_a_table_and_ends_in_one_json_document(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "patch", "--tokens", "12,16", "--rank", "4", "--repeats", "2"]) == 0
    out = capsys.readouterr().out.strip().splitlines()
    facts = json.loads(out[-1])
    assert [row["rows"] for row in facts["rows"]] == [14, 18]
    assert "ratio: re-prefill of the page / placing it with its patch" in out[1]


@pytest.mark.parametrize("words", [["eval", "kamera", "--help"], ["bench", "patch", "--help"]])
def test_both_explain_themselves(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main(words)
    assert end.value.code == 0
    assert "usage" in capsys.readouterr().out
