"""`quire doctor`: a verdict that the house finds, an exit code for a script, a table for a person."""

import argparse
import functools
import json
from dataclasses import replace
from pathlib import Path

import pytest

from app.errors import INSTALLATION
from app.house import House
from app.settings import Settings
from cache_compiler.verdict import BUNDLED, FILE, read_verdict
from eval.doctor import command, examine
from eval.doctor.command import EXITS, add, told


def parse(*words: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    add(parser.add_subparsers())
    return parser.parse_args(["doctor", *words])


def test_the_verdict_is_kept_where_the_house_looks_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    # One document of the five: the whole takes minutes.
    monkeypatch.setattr(examine, "examine", functools.partial(examine.examine, documents=1))
    code = command.run(parse("reader", "--home", str(tmp_path), "--high", "72", "--json"))
    printed = capsys.readouterr()
    (path,) = (tmp_path / "store").glob(f"*/{FILE}")
    assert json.loads(printed.out) == json.loads(path.read_text())
    assert "self-check has passed" in printed.err
    verdict = read_verdict(path)
    assert code == EXITS[verdict.word] != INSTALLATION
    house = House.open(Settings(home=tmp_path))
    assert house.verdict == verdict
    house.close()


def test_a_script_can_tell_the_three_words_apart() -> None:
    assert EXITS == {"trusted": 0, "degraded": 1, "refused": INSTALLATION}


def test_a_person_reads_what_was_measured_beside_what_is_allowed_and_why() -> None:
    bundled = read_verdict(BUNDLED / "reader.json")
    text = told(
        "reader", replace(bundled, word="degraded", reasons=("on two pages\x1b[2J much is lost",)), Path("/home/store/verdict.json")
    )
    same = bundled.figures["agreement"]["two pages, patched"]["same"]
    assert f"two pages, patched  {same} of 20" in text
    assert "anchored" in text
    assert "1.0e-04" in text
    assert "reader: degraded\n  on two pages" in text
    assert "\x1b" not in text
    assert text.endswith("kept in /home/store/verdict.json")
