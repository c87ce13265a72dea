"""`quire bench ttft`: a table, a ratio in the same run, one JSON document at the end; wrong words are told before anything is loaded."""

import argparse
import json
from pathlib import Path

import pytest

from eval.bench.command import add
from eval.errors import EvalError


def _run(*words: str) -> int:
    parser = argparse.ArgumentParser()
    add(parser.add_subparsers())
    args = parser.parse_args(["ttft", *words])
    return int(args.run(args))


def test_a_run_prints_its_tables_and_ends_in_one_json_document(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    words = ["--requests", "2", "--warmup", "0", "--pages", "1", "--dpi", "36", "--permutator", "--documents", "2", "--document-pages", "1"]
    grid = [
        "--scaling",
        "--grid-models",
        "reader",
        "--grid-pages",
        "1,2",
        "--grid-dpi",
        "36",
        "--grid-question",
        "16,24",
        "--grid-repeats",
        "1",
    ]
    assert _run(*words, "--orders", "2", *grid, "--out", str(out)) == 0
    said = capsys.readouterr().out
    assert "ratio to full prefill, paired" in said
    assert "prefix cache" in said
    whole = json.loads(said.strip().splitlines()[-1])
    (model,) = whole["models"]
    assert {row["way"] for row in model["rows"]} >= {"full", "ram", "disk"}
    assert ("cold" in {row["way"] for row in model["rows"]}) != ("cold" in model["left_out"])
    assert model["rows"][0]["first_token"]["n"] == 2
    assert model["memory"]["stored"][0]["dpi"] == 36
    assert len(whole["scaling"]["points"]) == 4
    assert json.loads((out / "ttft.json").read_text()) == whole
    assert {"ttft.md", "requests.csv", "scaling.csv", "scaling-place.png"} <= {path.name for path in out.iterdir()}


@pytest.mark.parametrize(
    ("words", "cure"),
    [
        (["--arms", "fast"], "full, caches"),
        (["--dpi", "sharp"], "promote"),
        (["--http", "--models", "reader,random-small"], "random-small"),
        (["--scaling", "--grid-pages", "1", "--grid-dpi", "72"], "coefficients"),
    ],
)
def test_wrong_words_are_told_before_anything_is_loaded(words: list[str], cure: str) -> None:
    with pytest.raises(EvalError, match=cure):
        _run(*words)


@pytest.mark.parametrize("words", [["--requests", "0"], ["--warmup", "-1"], ["--grid-pages", "1,x"]])
def test_numbers_are_numbers(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        _run(*words)
    assert end.value.code == 2
    assert "a whole number" in capsys.readouterr().err
