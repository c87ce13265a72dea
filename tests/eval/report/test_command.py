"""The command writes one file, or says what is wrong."""

import argparse

import pytest

from eval.errors import EvalError
from eval.report.command import add


def words(*said: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    add(parser.add_subparsers())
    return parser.parse_args(("report", *said))


def test_it_writes_beside_the_results_or_where_it_is_told(results, tmp_path, capsys) -> None:
    for args, path in (
        (words(str(results)), results / "report.html"),
        (words(str(results), "--out", str(tmp_path / "page.html")), tmp_path / "page.html"),
    ):
        assert args.run(args) == 0
        assert path.read_text(encoding="utf-8").startswith("<!doctype html>")
        assert not list(path.parent.glob("*.draft"))
    assert "missing: q1, q2, q4" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["nowhere", "."])
def test_a_folder_without_results_is_refused(name, tmp_path) -> None:
    args = words(str(tmp_path / name))
    with pytest.raises(EvalError, match="no such folder" if name == "nowhere" else "no results"):
        args.run(args)


def test_a_file_that_cannot_be_written_is_told_with_its_cure(results) -> None:
    args = words(str(results), "--out", str(results / "nowhere" / "page.html"))
    with pytest.raises(EvalError, match="--out"):
        args.run(args)
