"""Looking after a home from the command line: checked, collected, copied, restored, pinned, deleted; and no model is loaded for it."""

import json
import shutil
import sys
from pathlib import Path

import pytest

from app.command import main
from app.house import House
from ingest.backup import backup, restore
from ingest.shelf import open_shelf


@pytest.fixture(scope="module")
def copied(house: House, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("copied")
    backup(house.workshop.home, folder / "backup")
    restore(folder / "backup", folder / "home")
    return folder / "home"


@pytest.fixture
def home(copied: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home with the records in it, that nothing else is done to; a model that is loaded fails the test."""
    monkeypatch.setattr("cache_compiler.load.load_backbone", lambda *_, **__: pytest.fail("a model was loaded"))
    monkeypatch.setattr("app.house.load_backbone", lambda *_, **__: pytest.fail("a model was loaded"))
    return Path(shutil.copytree(copied, tmp_path / "home"))


def run(home: Path, *words: str) -> int:
    return main([*words, "--home", str(home)])


def told(capsys: pytest.CaptureFixture[str]) -> object:
    return json.loads(capsys.readouterr().out)


def test_a_sound_home_is_0_and_a_damaged_one_is_1_and_named(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(home, "verify") == 0
    assert capsys.readouterr().out.startswith("clean; looked at:")
    image = next(home.glob("images/*/*.png"))
    image.write_bytes(b"")
    assert run(home, "verify") == 1
    assert image.name in capsys.readouterr().out
    assert run(home, "verify", "--json") == 1
    found = told(capsys)
    assert isinstance(found, dict)
    assert (found["clean"], [one["kind"] for one in found["findings"]]) == (False, ["image"])


def test_a_deletion_is_proved_by_its_receipt(
    home: Path, records: tuple[Path, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(home, "delete", records[0].name, "--json") == 0
    receipt = told(capsys)
    assert isinstance(receipt, dict)
    assert receipt["artefacts"]["caches"] == 4
    assert receipt["left"] == []
    (tmp_path / "receipt.json").write_text(json.dumps(receipt))
    words = records[0].read_text().splitlines()[0]
    assert run(home, "verify", "--receipt", str(tmp_path / "receipt.json"), "--text", words) == 0
    (home / "notes.txt").write_text(f"x {words} x {receipt['document']}")
    capsys.readouterr()
    assert run(home, "verify", "--receipt", str(tmp_path / "receipt.json"), "--text", words, "--json") == 1
    found = told(capsys)
    assert isinstance(found, dict)
    assert {one["says"] for one in found["findings"]} >= {"it has bytes of text 1", f"it has bytes of key {receipt['document']}"}
    assert run(home, "verify", "--receipt", str(records[0])) == 2
    assert run(home, "verify", "--text", "ab") == 2


def test_a_whole_collection_goes_and_a_document_and_a_collection_at_once_do_not(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(home, "delete") == 2
    assert run(home, "delete", "x", "--all-of", "default") == 2
    capsys.readouterr()
    assert run(home, "delete", "--all-of", "default", "--json") == 0
    receipts = told(capsys)
    assert isinstance(receipts, list)
    assert len(receipts) == 3
    assert not [path for path in home.rglob("*@*") if path.is_file()]
    assert run(home, "delete", "--all-of", "default") == 3
    assert run(home, "verify") == 0


def test_collecting_says_what_would_go_and_then_lets_it_go(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    half = home / "images" / "x.png.1.999999999.unfinished"
    half.write_bytes(b"half")
    assert run(home, "gc", "--dry-run") == 0
    assert half.name in (said := capsys.readouterr().out)
    assert "would go" in said
    assert half.exists()
    assert run(home, "gc", "--json") == 0
    assert told(capsys) == {"files": [f"images/{half.name}"], "bytes": 4, "jobs": 0, "requests": 0, "dry": False}
    assert not half.exists()


def test_a_home_is_copied_and_made_again(home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(home, "backup", str(tmp_path / "copy")) == 0
    assert "3 documents on 6 pages" in capsys.readouterr().out
    assert main(["restore", str(tmp_path / "copy"), "--home", str(tmp_path / "new")]) == 0
    assert run(tmp_path / "new", "verify") == 0
    assert main(["restore", str(tmp_path / "copy"), "--home", str(home)]) == 5
    assert run(home, "backup", str(tmp_path / "copy")) == 8


def test_a_pin_is_set_and_taken_back(home: Path) -> None:
    for words, pinned in ((["pin", "default"], True), (["pin", "default", "--off"], False)):
        assert run(home, *words) == 0
        with open_shelf(home) as shelf:
            assert shelf.catalogue.collection("default").pinned is pinned
    assert run(home, "pin", "none") == 3


def test_a_mistyped_home_is_an_error_and_is_not_made(tmp_path: Path) -> None:
    for words in (["verify"], ["gc"], ["backup", str(tmp_path / "b")], ["pin", "default"], ["delete", "x"]):
        assert run(tmp_path / "none", *words) == 3
    assert list(tmp_path.iterdir()) == []


def test_words_are_parsed_without_torch() -> None:
    import subprocess

    program = "import sys; from app.command import build_parser; build_parser(); assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", program], check=True, cwd=Path(__file__).resolve().parents[2])
