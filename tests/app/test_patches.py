"""`quire patch` forms, lists and drops; words that do not fit together are refused before a model is loaded."""

import json

import pytest

from app.command import main
from ingest.home import Home


@pytest.fixture(scope="module")
def home(tmp_path_factory, records):
    path = tmp_path_factory.mktemp("home")
    assert main(["ingest", str(records[0]), "--home", str(path), "--patch-policy", "off"]) == 0
    return path


def run(capsys, home, *words):
    code = main(["patch", *words, "--home", str(home)])
    return code, *capsys.readouterr()


def test_patches_are_formed_listed_and_dropped(home, capsys):
    assert "has no patches" in run(capsys, home, "list")[1]
    assert "4 patches formed, 0 there already" in run(capsys, home, "form")[1]
    assert "0 patches formed, 4 there already" in run(capsys, home, "form", "--kind", "exact")[1]
    assert json.loads(run(capsys, home, "form", "--kind", "deep", "--rank", "2", "--json")[1]) == {
        "formed": 4,
        "there": 0,
        "stopped": False,
    }
    out = run(capsys, home, "list")[1]
    assert [line.split()[:3] for line in out.splitlines()] == [["kind", "rank", "patches"], ["deep", "2", "4"], ["exact", "32", "4"]]
    assert "%" in out
    rows = json.loads(run(capsys, home, "list", "--json")[1])
    on_disk = sum(path.stat().st_size for path in Home(home).store_root.rglob("patches/*/*/*.safetensors"))
    assert sum(row["bytes"] for row in rows) == on_disk
    assert 0 < rows[0]["share"] < 1
    assert "4 patches dropped" in run(capsys, home, "drop", "--kind", "deep")[1]
    assert json.loads(run(capsys, home, "drop", "--json")[1])["patches"] == 4
    assert not list(Home(home).store_root.rglob("patches/*/*/*.safetensors"))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["list", "--rank", "3"], "--rank says what to form"),
        (["drop", "--rank", "full"], "--rank says what to form"),
        (["list", "--kind", "deep"], "list shows all kinds"),
        (["form", "--together", "3"], "--kind orbit"),
        (["form", "--kind", "orbit"], "needs --together K"),
        (["form", "--kind", "orbit", "--together", "2"], "only one order"),
        (["form", "--rank", "0"], "a whole number from 1 on"),
        (["form", "--rank", "most"], "a whole number from 1 on"),
        (["form", "--rank", "9" * 5000], "a whole number from 1 on"),
        (["form", "--collection", "../x"], "cannot name a collection"),
    ],
)
def test_words_that_do_not_fit_together_are_refused_with_what_would(tmp_path, capsys, words, said):
    code, out, err = run(capsys, tmp_path, *words)
    assert (code, out) == (2, "")
    assert said in err


def test_a_rank_above_a_pages_is_refused_with_the_most_there_can_be(home, capsys):
    code, _, err = run(capsys, home, "form", "--rank", "5000")
    assert code == 2
    assert "rank 5000 is above" in err
    assert "'full'" in err


@pytest.mark.parametrize("act", ["list", "drop"])
def test_a_home_without_a_collection_is_said_so_and_left_alone(tmp_path, capsys, act):
    code, _, err = run(capsys, tmp_path / "none", act)
    assert code == 3
    assert "quire ingest" in err
    assert not (tmp_path / "none").exists()
