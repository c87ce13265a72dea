"""`quire estimate` as a person runs it: a table or a document, the home untouched, and the exit codes of ingest."""

import json
import os
import re
import signal
from pathlib import Path

import pytest

from app.command import main
from app.estimate import as_json, told
from ingest.estimate import Estimate
from ingest.spread import Amount


def forecast(**changed) -> Estimate:
    facts = {
        "files": 1,
        "characters": 900,
        "chunks": Amount(3, 2, 4),
        "pages": Amount.exactly(3),
        "rows": {72: Amount.exactly(300), 120: Amount(1800, 1700, 1900)},
        "caches": {72: Amount.exactly(2**20), 120: Amount(2**21, 2**20, 2**22)},
        "images": {72: Amount(), 120: Amount()},
        "patches": Amount(),
        "patch_bytes": Amount(),
        "vectors": Amount(),
        "seconds": {"read": Amount.exactly(6), "patch": Amount(600, 300, 900)},
    }
    return Estimate(**{**facts, **changed})


def state(home: Path) -> dict[str, tuple[int, int]]:
    """Every file that stays, with its size and its time; SQLite's own helpers come and go with whoever reads."""
    return {
        str(path): (path.stat().st_size, path.stat().st_mtime_ns)
        for path in home.rglob("*")
        if path.is_file() and not path.name.startswith("catalogue.sqlite-")
    }


def left(folder: Path) -> list[str]:
    """What ours is there: the folder that is worked over is made beside the home."""
    return [name for name in os.listdir(folder) if name.startswith(("home", "quire"))]


def test_a_home_that_is_not_there_is_not_made_and_the_forecast_is_a_document(tmp_path, records, capsys, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "good.txt").write_text(records[0].read_text())
    (tmp_path / "in" / "blank.txt").write_text(" \n")
    assert main(["estimate", str(tmp_path / "in"), "--home", str(tmp_path / "home"), "--pages", "1", "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert (found["files"], found["pages"]["value"], [item["kind"] for item in found["failed"]]) == (1, 2, ["NoText"])
    assert found["disk"]["fits"] is True
    assert found["disk"]["needed"]["value"] > found["caches"]["120"]["value"] > found["caches"]["72"]["value"] > 0
    assert left(tmp_path) == []


def test_a_collection_that_has_it_all_has_nothing_left_to_do_and_is_left_as_it_is(house, records, capsys):
    home = house.workshop.home.root
    before = state(home)
    assert main(["estimate", *map(str, records), "--home", str(home), "--collection", "default"]) == 0
    out, err = capsys.readouterr()
    assert out == "0 files would go in, 3 there already, 0 failed.\n"
    assert err == ""
    assert state(home) == before


def test_a_collection_that_is_not_there_yet_is_said_and_not_made(house, records, capsys):
    home = house.workshop.home.root
    words = ["estimate", str(records[0]), "--home", str(home), "--collection", "later", "--patch-policy", "off", "--pages", "1"]
    assert main(words) == 0
    out, err = capsys.readouterr()
    assert "has no collection 'later' yet" in err
    assert "1 file would go in, 0 there already" in out
    assert [row.name for row in house.catalogue.collections()] == ["default"]


def test_another_models_collection_is_refused_as_in_ingest(house, records, capsys):
    words = ["estimate", str(records[0]), "--home", str(house.workshop.home.root), "--collection", "default", "--style", "glyph-a4"]
    assert main(words) == 5
    assert "style" in capsys.readouterr().err


def test_nothing_to_estimate_ends_with_1_and_an_empty_path_with_2(tmp_path, capsys):
    (tmp_path / "none").mkdir()
    assert main(["estimate", str(tmp_path / "none"), "--home", str(tmp_path / "home")]) == 1
    assert "0 files would go in" in capsys.readouterr().out
    assert main(["estimate", "", "--home", str(tmp_path / "home")]) == 2


def test_an_interrupt_ends_it_with_130_and_a_line(tmp_path, records, capsys, monkeypatch):
    from app.progress import Bar

    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with monkeypatch.context() as patch:
        patch.setattr(Bar, "show", lambda self, at: signal.raise_signal(signal.SIGINT) if (at.stage, at.done) == ("load", 0) else None)
        assert main(["estimate", *map(str, records), "--home", str(tmp_path / "home")]) == 130
    out, err = capsys.readouterr()
    assert out == ""
    assert err.endswith("quire: stopped; nothing was kept\n")
    assert left(tmp_path) == []


def test_only_what_is_not_exact_has_a_range():
    rows = {name: cells for name, *cells in (re.split(r"\s{2,}", line) for line in told(forecast(), 2**40).splitlines())}
    assert rows["pages"] == ["3"]
    assert rows["tokens at 120 DPI"] == ["1,800", "1,700", "1,900"]
    assert rows["minutes to patch"] == ["10.0", "5.0", "15.0"]
    assert rows["minutes to read"] == ["0.10"]


@pytest.mark.parametrize(
    ("free", "said", "fits"), [(2**30, None, True), (4 * 2**20, "it may not fit", False), (2**20, "it will not fit", False)]
)
def test_a_disk_that_is_too_small_is_warned_of(free, said, fits):
    text = told(forecast(), free)
    assert ("WARNING" in text) is (said is not None)
    assert said is None or said in text
    assert json.loads(as_json(forecast(), free))["disk"]["fits"] is fits
