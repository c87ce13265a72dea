"""Collecting what nobody needs: it goes, it is listed, and everything else stays."""

import os
import shutil
import time
from pathlib import Path

import pytest

from ingest.checks import ARRIVING
from ingest.gc import gc
from ingest.shelf import BareShelf
from ingest.verify import verify
from retrieval.types import JobRow, UploadRow
from retrieval.uploads import REMEMBERED

from .conftest import files_of


def litter(shelf: BareShelf) -> set[str]:
    """One of everything that may be left; its paths."""
    root, made = shelf.home.root, []
    sound = sorted(root.glob("store/*/caches/*/*.safetensors"))[0]
    orphan = sound.parent.parent / "ff" / ("f" * 32 + "@72.safetensors")
    for path in (
        orphan,
        root / "images" / "ff" / ("f" * 32 + "@72.png"),
        root / "images" / "ff" / "x.png.1.999999999.unfinished",
        root / "spool" / "stray.txt",
        root / "index" / ("0" * 32 + ".faiss"),
    ):
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(sound.read_bytes())
        os.utime(path, (time.time() - ARRIVING - 60,) * 2)
        made.append(str(path.relative_to(root)))
    return set(made)


def test_what_nobody_needs_goes_and_the_rest_stays(shelf: BareShelf) -> None:
    before = files_of(shelf.home.root)
    made = litter(shelf)
    size = sum((shelf.home.root / path).stat().st_size for path in made)
    dry = gc(shelf, dry=True)
    assert (set(dry.files), dry.bytes, dry.dry) == (made, size, True)
    assert set(files_of(shelf.home.root)) == set(before) | made
    assert not verify(shelf).clean
    collected = gc(shelf)
    assert (set(collected.files), collected.bytes) == (made, size)
    assert files_of(shelf.home.root) == before
    assert verify(shelf).clean
    assert gc(shelf).files == ()


def test_what_is_being_written_is_left_to_its_writer(shelf: BareShelf) -> None:
    young = [shelf.home.root / "images" / "ff" / name for name in ("f" * 32 + "@72.png", f"y.png.1.{os.getppid()}.unfinished")]
    young.append(shelf.home.spool / "coming.txt")
    for path in young:
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(b"on its way")
    assert gc(shelf).files == ()
    assert all(path.exists() for path in young)


def test_ended_jobs_and_old_requests_are_forgotten_and_waiting_ones_are_not(shelf: BareShelf) -> None:
    for state in ("done", "failed", "queued"):
        (shelf.home.spool / state).write_bytes(b"upload")
        shelf.catalogue.add_jobs([JobRow(state, "default", "x.txt", state, state, created=1.0, updated=1.0)])
    shelf.catalogue.add_jobs(
        [JobRow("fresh", "default", "y.txt", "", "done")], UploadRow("k", "d", ("fresh",), time.time() - REMEMBERED - 1)
    )
    assert (gc(shelf, dry=True).jobs, gc(shelf, dry=True).requests) == (2, 1)
    collected = gc(shelf)
    assert (collected.jobs, collected.requests) == (2, 1)
    assert (collected.files, collected.bytes) == (("spool/done", "spool/failed"), 12)
    assert [row.id for row in shelf.catalogue.jobs()] == ["fresh", "queued"]
    assert [path.name for path in shelf.home.spool.iterdir()] == ["queued"]


def test_a_cut_deletion_is_finished(shelf: BareShelf) -> None:
    shelf.catalogue.delete_document(shelf.catalogue.documents("default")[0].id)
    assert gc(shelf, dry=True).files
    assert gc(shelf).files
    assert verify(shelf).clean


def test_what_a_document_takes_up_meanwhile_stays(shelf: BareShelf, monkeypatch: pytest.MonkeyPatch) -> None:
    before = files_of(shelf.home.root)
    for path in shelf.home.page_files():
        os.utime(path, (time.time() - ARRIVING - 60,) * 2)
    owned = shelf.catalogue.page_keys()
    looks = iter([set(), owned])  # when it is looked, nobody owns a page; when they are to go, somebody does again
    monkeypatch.setattr(shelf.catalogue, "page_keys", lambda: next(looks, owned))
    collected = gc(shelf)
    assert files_of(shelf.home.root) == before
    assert (collected.files, collected.bytes) == ((), 0)  # told is what went, not what was looked at


def test_a_store_of_no_collection_goes_only_when_asked_for(shelf: BareShelf) -> None:
    shelf.catalogue.create_collection(shelf.catalogue.collection("default"))
    shelf.catalogue.delete_collection("default")
    gc(shelf)
    store = next(shelf.home.store_root.glob("*"))
    newer = Path(shutil.copytree(store, store.with_name("1" * 16)))
    (newer / "identity.json").write_text('{"model": "of a later version", "something": "else"}')
    assert gc(shelf).files == ()
    assert gc(shelf, stale=True).files == (str(store.relative_to(shelf.home.root)),)
    assert not store.exists()
    assert newer.exists()  # what this version cannot read is not its own to remove
