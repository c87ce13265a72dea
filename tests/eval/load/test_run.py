"""A short run from end to end, and the words that begin one."""

import json
import os

import pytest

from eval.command import main
from eval.errors import EvalError
from eval.load.child import Child, resident
from eval.load.report import PROMISES, markdown
from eval.load.run import Load, run


def test_memory_is_looked_at_and_of_a_process_that_is_not_there_nothing_is_said() -> None:
    assert resident(os.getpid()) > 1_000_000
    assert resident(2**22 + 1) is None


def test_a_folder_that_holds_a_run_already_is_refused(tmp_path) -> None:
    (tmp_path / "home").mkdir()
    with pytest.raises(EvalError, match="another run"):
        run(Load(), tmp_path, lambda _: None)


def test_a_server_that_cannot_start_is_told_by_its_last_words(tmp_path) -> None:
    child = Child(tmp_path / "home", ["--model", "/nowhere"], tmp_path / "log")
    with pytest.raises(EvalError, match="/nowhere"):
        child.start()


@pytest.mark.parametrize("words", [["--minutes", "0"], ["--ask", "-1"], ["--kill-every", "x"], []])
def test_words_that_mean_nothing_are_refused(words, tmp_path, capsys) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["bench", "load", *words, *(["--out", str(tmp_path)] if words else [])])
    assert ended.value.code == 2


def facts() -> dict:
    return {
        "settings": {"minutes": 1, "ask": 2, "upload": 1, "delete": 1, "kill_every": None, "model": "reader"},
        "machine": {"cores": 2},
        "statuses": {"POST /v1/ask 200": 3},
        "counts": {"answered": 3},
        "starts": [1.0],
        "lives": 1,
        "breaches": {},
        "examples": {},
        "memory": None,
    }


def test_the_report_says_of_every_promise_whether_it_was_kept() -> None:
    text = markdown(facts())
    assert text.count("| ") > len(PROMISES)
    assert text.count(" yes |") == len(PROMISES) - 1
    assert " not judged |" in text
    broken = markdown({**facts(), "breaches": {"deleted": 2}, "examples": {"deleted": ["d1 is cited"]}})
    assert " no: 2 |" in broken
    assert "- d1 is cited" in broken


@pytest.mark.slow
@pytest.mark.parametrize("killed", [[], ["--kill-every", "5"]])
def test_a_short_run_keeps_every_promise(tmp_path, killed, capsys) -> None:
    words = ["--minutes", "0.4", "--ask", "6", "--upload", "2", "--delete", "1", "--about", "8", "--pause", "0.5", *killed]
    code = main(["bench", "load", *words, "--out", str(tmp_path)])
    told = json.loads((tmp_path / "load.json").read_text())
    assert told["breaches"] == {}, told["examples"]
    assert code == 0
    assert (told["lives"] > 1) == bool(killed)
    assert told["counts"]["answered"] > 0
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["kept"] is True
