"""A backup is whole, of one moment, and made while others write; a restored home is the home."""

import json
import os
import shutil
from pathlib import Path

import pytest

from ingest import backup as room
from ingest.backup import NOTE, backup, restore
from ingest.errors import BadBackup, HomeNotEmpty
from ingest.remove import remove_document
from ingest.shelf import BareShelf, open_shelf
from ingest.verify import verify
from retrieval.types import JobRow

from .conftest import files_of


def test_a_restored_home_is_the_home(shelf: BareShelf, tmp_path: Path) -> None:
    (shelf.home.root / "quire.toml").write_text("top_k = 3\n")
    (shelf.home.spool / "waiting.txt").write_text("an upload that was acknowledged")
    shelf.catalogue.add_job(JobRow("j1", "default", "waiting.txt", "waiting.txt"))
    note = backup(shelf.home, tmp_path / "copy")
    assert (note.documents, note.pages) == (2, 3)
    assert note.linked > 0
    assert restore(tmp_path / "copy", tmp_path / "new") == note
    left_out = {name: data for name, data in files_of(shelf.home.root).items() if not name.startswith("index/") and "manifest" not in name}
    assert files_of(tmp_path / "new") == left_out
    with open_shelf(tmp_path / "new") as restored:
        assert list(restored.catalogue.dump()) == list(shelf.catalogue.dump())
        assert restored.catalogue.jobs() == shelf.catalogue.jobs()
        assert verify(restored).clean


@pytest.mark.parametrize("copy", [False, True])
def test_a_deletion_in_the_home_takes_nothing_from_its_backup(shelf: BareShelf, tmp_path: Path, copy: bool) -> None:
    note = backup(shelf.home, tmp_path / "copy", copy)
    assert (note.linked == 0) is copy
    for row in shelf.catalogue.documents("default"):
        remove_document(shelf, row.id)
    restore(tmp_path / "copy", tmp_path / "new")
    with open_shelf(tmp_path / "new") as restored:
        assert len(restored.catalogue.documents("default")) == 2
        assert verify(restored).clean


@pytest.mark.parametrize("moment", [1, 2])
def test_a_document_deleted_in_the_middle_does_not_dangle(
    shelf: BareShelf, tmp_path: Path, moment: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Behind the first copy of the catalogue, and again behind the second: its files were linked by then, so the copy has it, whole."""
    true, calls = room._wanted, []

    def wanted(of: BareShelf):  # type: ignore[no-untyped-def]
        calls.append(of)
        if len(calls) <= moment:
            remove_document(shelf, shelf.catalogue.documents("default")[0].id)
        yield from true(of)

    monkeypatch.setattr(room, "_wanted", wanted)
    note = backup(shelf.home, tmp_path / "copy")
    assert (note.documents, len(calls)) == (1, 2)
    with open_shelf(tmp_path / "copy") as copied:
        assert verify(copied).findings == ()
        assert {path.name.partition("@")[0] for path in copied.home.page_files()} == copied.catalogue.page_keys()


def test_a_job_that_ends_while_pages_are_copied_is_copied_as_it_waited(shelf: BareShelf, tmp_path: Path) -> None:
    upload = shelf.home.spool / "waiting.txt"
    upload.write_text("an upload that was acknowledged")
    (shelf.home.root / "weights.json.1.999999999.unfinished").write_text("{")
    job = shelf.catalogue.add_job(JobRow("j1", "default", "waiting.txt", upload.name))
    true = room._Taken.put

    def put(taken: room._Taken, path: Path, target: Path) -> None:
        if path.suffix == ".png" and upload.exists():
            shelf.catalogue.update_job("j1", state="done")
            upload.unlink()
        true(taken, path, target)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(room._Taken, "put", put)
        backup(shelf.home, tmp_path / "copy")
    assert not upload.exists()
    with open_shelf(tmp_path / "copy") as copied:
        assert copied.catalogue.jobs() == [job]
        assert verify(copied).clean


def test_a_backup_goes_nowhere_where_something_is(shelf: BareShelf, tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine").write_text("mine")
    for target in (tmp_path / "full", shelf.home.root, shelf.home.root / "backup"):
        with pytest.raises(BadBackup):
            backup(shelf.home, target)
    assert not (shelf.home.root / "backup").exists()
    backup(shelf.home, tmp_path / "copy")
    with pytest.raises(HomeNotEmpty):
        restore(tmp_path / "copy", tmp_path / "full")
    assert [path.name for path in (tmp_path / "full").iterdir()] == ["mine"]


def test_a_damaged_home_makes_no_backup(shelf: BareShelf, tmp_path: Path) -> None:
    image = next(shelf.home.images_root.glob("*/*.png"))
    image.unlink()
    with pytest.raises(BadBackup, match="is not there although the catalogue speaks of it"):
        backup(shelf.home, tmp_path / "copy")
    assert not (tmp_path / "copy" / NOTE).exists()
    with pytest.raises(BadBackup, match="no backup, or one that was not finished"):
        restore(tmp_path / "copy", tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_a_damaged_or_newer_backup_is_refused_and_nothing_is_left_of_it(shelf: BareShelf, tmp_path: Path) -> None:
    backup(shelf.home, tmp_path / "copy", copy=True)
    newer = Path(shutil.copytree(tmp_path / "copy", tmp_path / "newer"))
    note = json.loads((newer / NOTE).read_text())
    (newer / NOTE).write_text(json.dumps({**note, "format": 2, "a field": "that this version does not know"}))
    with pytest.raises(BadBackup, match="format 2, this version reads up to 1"):
        restore(newer, tmp_path / "new")
    cache = next((tmp_path / "copy").glob("store/*/caches/*/*.safetensors"))
    os.truncate(cache, 100)
    with pytest.raises(BadBackup, match=cache.name):
        restore(tmp_path / "copy", tmp_path / "new")
    assert not (tmp_path / "new").exists()
