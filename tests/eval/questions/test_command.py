"""The commands run end to end on a directory that holds a random checkpoint of Glyph's class, and refuse what is wrong before a model is loaded."""

import argparse
import json
import shutil

import pytest

pytest.importorskip("matplotlib", reason="figures need matplotlib (quire[plots])")

from cache_compiler.load import READER
from cache_compiler.tiny import random_backbone
from eval.errors import EvalError
from eval.longbench.errors import NoData
from eval.questions.command import add, command


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory):
    """Glyph's class and A4 pages (a directory without a card), at a size for tests."""
    folder = tmp_path_factory.mktemp("weights") / "glyph-like"
    made = random_backbone("tiny")
    made.model.save_pretrained(folder)
    made.tokenizer.save_pretrained(folder)
    shutil.copy(READER / "chat_template.jinja", folder)
    facts = json.loads((READER / "preprocessor_config.json").read_text(encoding="utf-8"))
    facts["patch_size"] = made.model.config.vision_config.patch_size
    (folder / "preprocessor_config.json").write_text(json.dumps(facts), encoding="utf-8")
    return folder


def words(*said: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    add(parser.add_subparsers())
    return parser.parse_args(said)


def small(checkpoint, out, *more: str) -> argparse.Namespace:
    arms = "image-full@72,image-pic@72:free,image-pic@72,image-pic@72:free+epic-2,text-full,text-pic:free,text-pic"
    size = ("--n", "2", "--pages", "2", "--each", "1", "--lines", "3", "--max-tokens", "2", "--text-model", "same")
    return words("q1", *size, "--arms", arms, "--model", str(checkpoint), "--out", str(out), *more)


def test_a_question_runs_on_a_directory_and_again_without_asking(checkpoint, tmp_path, capsys, monkeypatch) -> None:
    from eval.longbench import arms

    args = small(checkpoint, tmp_path / "q1")
    assert args.run(args) == 0
    first = json.loads((tmp_path / "q1" / "results.json").read_text(encoding="utf-8"))
    assert len(first["items"]) == 2 * 7
    assert all(item["rows"] > 0 and "failed" not in item for item in first["items"])
    assert {line["arm"] for line in first["lines"]} == set(args.arms.split(","))
    assert str(tmp_path) not in json.dumps(first)
    assert (tmp_path / "q1" / "f1-by-setting.svg").exists()
    assert "| image-pic@72 | 2 |" in capsys.readouterr().out

    monkeypatch.setattr(arms.ContextArm, "answer", lambda *_: pytest.fail("a finished sample was asked again"))
    assert args.run(args) == 0
    assert json.loads((tmp_path / "q1" / "results.json").read_text(encoding="utf-8")) == first


def test_the_fourth_question_sets_models_side_by_side(checkpoint, tmp_path) -> None:
    other = tmp_path / "other"
    shutil.copytree(checkpoint, other)
    size = ("--n", "2", "--pages", "2", "--each", "1", "--lines", "3", "--max-tokens", "2", "--text-model", str(other))
    args = words("q4", *size, "--models", f"{checkpoint},{other}", "--arms", "image-pic@72,text-pic", "--out", str(tmp_path / "q4"))
    assert args.run(args) == 0
    found = json.loads((tmp_path / "q4" / "results.json").read_text(encoding="utf-8"))
    assert {(line["model"], line["arm"]) for line in found["lines"]} == {
        ("glyph-like", "image-pic@72"),
        ("other", "image-pic@72"),
        ("other", "text-pic"),
    }
    assert "--models DIR,DIR --text-model DIR" in found["command"]


def test_the_command_says_what_is_not_the_default_and_no_path_of_this_machine() -> None:
    assert command(words("q1")) == "quire eval q1"
    assert command(words("q2", "/home/me/data", "--n", "7", "--model", "/models/glyph", "--embedder", "/models/bge", "--out", "../x")) == (
        "quire eval q2 DATA --n 7 --model DIR --embedder DIR --out DIR"
    )
    assert command(words("q1", "--pages", "8,2", "--out", "docs/results/other")) == "quire eval q1 --pages 2,8 --out docs/results/other"


@pytest.mark.parametrize(
    ("said", "error", "names"),
    [
        (("q1", "--arms", "qv-pic"), EvalError, "qv-pic"),
        (("q1", "--arms", "text-pic"), EvalError, "reads images"),
        (("q1", "--tasks", "musique"), EvalError, "DATA"),
        (("q1", "nowhere.jsonl"), NoData, "nowhere.jsonl"),
    ],
)
def test_wrong_words_are_refused_before_a_model_is_loaded(said, error, names, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("cache_compiler.load.load_backbone", lambda *_: pytest.fail("a model was loaded"))
    args = words(*said, "--out", str(tmp_path / "out"))
    with pytest.raises(error, match=names):
        args.run(args)


@pytest.mark.parametrize("said", [("--n", "0"), ("--pages", "2,x"), ("--kind", "none")])
def test_words_that_mean_nothing_are_no_settings(said, capsys) -> None:
    with pytest.raises(SystemExit):
        words("q1", *said)
    assert said[0] in capsys.readouterr().err
