"""The command runs the fixture through the reader, and what is wrong ends in one sentence before a model is loaded."""

import argparse
import json

import pytest

from app.command import run as guarded
from eval.longbench import command
from eval.records import samples, write


def quire(*words: object) -> int:
    parser = argparse.ArgumentParser()
    command.add(parser.add_subparsers())
    return guarded(parser.parse_args(["longbench", *map(str, words)]))


@pytest.mark.parametrize("protocol", ["official", "glyph"])
def test_the_fixture_goes_through_and_goes_on(protocol, fixtures, tmp_path, capsys) -> None:
    words = (fixtures, "--tasks", "multifieldqa_en", "--arms", "image-pic,qv-pic", "--limit", 1, "--max-tokens", 2)
    words += ("--protocol", protocol, "--out", tmp_path)
    assert quire(*words) == 0
    said = capsys.readouterr()
    assert f"protocol {protocol}" in said.out
    assert "2 of 2 samples" in said.err
    summary = (tmp_path / "summary.json").read_bytes()
    assert json.loads(summary)["settings"]["protocol"] == protocol
    assert {path.name for path in tmp_path.iterdir()} >= {"results.jsonl", "summary.json", "table.md", "table.csv", "times.json"}
    assert quire(*words) == 0
    assert (tmp_path / "summary.json").read_bytes() == summary


def test_records_have_a_table_of_their_own_and_leave_the_six_tasks_mean_alone(fixtures, tmp_path, capsys) -> None:
    write(tmp_path / "records.jsonl", samples("build", 1, 2, 6, seed=3, each=1))
    (tmp_path / "musique.jsonl").write_bytes((fixtures / "musique.jsonl").read_bytes())
    words = (tmp_path, "--limit", 1, "--max-tokens", 2, "--arms", "image-full,image-pic+patch", "--kl", "--max-length", 400)
    assert quire(*words, "--tasks", "musique,records", "--out", tmp_path / "both") == 0
    said = capsys.readouterr().out
    assert "not one of LongBench's six tasks" in said
    assert "KL(full || arm)" in said
    both = json.loads((tmp_path / "both" / "summary.json").read_text())
    assert [list(arm["tasks"]) for arm in both["arms"]] == [["musique"]] * 2
    costs = json.loads((tmp_path / "both" / "measures.json").read_text())
    assert costs["image-full"]["records"]["kl_mean"] < 1e-9
    assert costs["image-pic+patch"]["musique"]["kl_n"] == 1
    assert quire(tmp_path / "records.jsonl", *words[1:], "--out", tmp_path / "alone") == 0
    assert not (tmp_path / "alone" / "summary.json").exists()
    assert (tmp_path / "alone" / "records.json").read_bytes() == (tmp_path / "both" / "records.json").read_bytes()


def test_questions_on_documents_are_asked_over_windows_of_them(tmp_path, capsys) -> None:
    (tmp_path / "bees.txt").write_text("Bees are kept in hives. " * 40 + "The keeper is Ada. " + "Honey is sweet. " * 40, encoding="utf-8")
    asked = [{"doc": "bees.txt", "page": None, "input": "Who keeps them?", "answers": [a], "language": "en"} for a in ("Ada", "Bob")]
    (tmp_path / "qa.jsonl").write_text("\n".join(map(json.dumps, asked)), encoding="utf-8")
    words = ("--documents", tmp_path, "--words", 50, "--arms", "image-pic@120", "--max-tokens", 2, "--out", tmp_path / "out")
    assert quire(tmp_path / "qa.jsonl", *words) == 0
    said = capsys.readouterr()
    assert "passed over" in said.err
    assert "Bob" not in (tmp_path / "out" / "questions.jsonl").read_text()
    assert "multifieldqa_en" in said.out


def test_two_workers_give_the_bytes_of_one(fixtures, tmp_path) -> None:
    words = (fixtures, "--tasks", "2wikimqa,triviaqa", "--arms", "image-pic", "--limit", 2, "--max-tokens", 2, "--max-length", 500)
    for workers in (1, 2):
        assert quire(*words, "--workers", workers, "--out", tmp_path / str(workers)) == 0
    assert (tmp_path / "1" / "summary.json").read_bytes() == (tmp_path / "2" / "summary.json").read_bytes()


@pytest.mark.parametrize(
    ("words", "said", "code"),
    [
        (("--tasks", "qasper"), "it is one of 2wikimqa", 2),
        (("--arms", "image-slow"), "image-full[@DPI]", 2),
        (("--alpha", "3"), "alpha=3.0", 70),
    ],
)
def test_wrong_words_end_in_a_sentence(words, said, code, fixtures, tmp_path, capsys) -> None:
    assert quire(fixtures, *words, "--out", tmp_path) != 0
    told = capsys.readouterr().err
    assert said in told
    assert "Traceback" not in told
    assert not (tmp_path / "results.jsonl").exists()


def test_no_data_and_no_place_to_write_end_in_a_sentence(fixtures, tmp_path, capsys) -> None:
    assert quire(tmp_path / "nothing") == 2
    assert "no such file or folder" in capsys.readouterr().err
    (tmp_path / "file").write_text("")
    assert quire(fixtures, "--out", tmp_path / "file") == 8
    assert "cannot be written" in capsys.readouterr().err


def test_other_settings_are_refused_by_name(fixtures, tmp_path, capsys) -> None:
    words = (fixtures, "--tasks", "musique", "--arms", "image-pic", "--limit", 1, "--out", tmp_path, "--max-tokens")
    assert quire(*words, 1) == 0
    capsys.readouterr()
    assert quire(*words, 2) == 2
    assert "max_tokens = 1, now it is 2" in capsys.readouterr().err


@pytest.mark.parametrize("words", [("--limit", "0"), ("--workers", "x"), ("--max-length", "10"), ("--protocol", "ours")])
def test_numbers_out_of_range_are_refused_at_once(words, fixtures) -> None:
    with pytest.raises(SystemExit) as end:
        quire(fixtures, *words)
    assert end.value.code == 2
