"""A home held against its catalogue: sound ones are clean, and each kind of damage is found, named and told from what is no fault."""

import io
import json
import os
import shutil
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from ingest.checks import ARRIVING
from ingest.remove import remove_document
from ingest.shelf import BareShelf
from ingest.spool import Spool
from ingest.traces import needles, traces
from ingest.verify import verify
from retrieval.types import JobRow

from .conftest import files_of

MARKER = "Zyxomatic"


def one(shelf: BareShelf, pattern: str) -> Path:
    return sorted(shelf.home.root.glob(pattern))[0]


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)


def age(path: Path) -> None:
    os.utime(path, (time.time() - ARRIVING - 60,) * 2)


def test_a_sound_home_is_clean_and_nothing_of_it_is_touched(shelf: BareShelf) -> None:
    before = files_of(shelf.home.root)
    found = verify(shelf)
    assert found.findings == ()
    assert found.clean
    assert (found.evicted, found.arriving) == (0, 0)
    assert (found.checked["image"], found.checked["file"]) == (6, 12)
    assert found.checked["patch"] == 8  # four patches, and the four empty files that speak of them
    assert files_of(shelf.home.root) == before


def rename_header(shelf: BareShelf) -> None:
    first, second = sorted(shelf.home.root.glob("store/*/caches/*/*@72.safetensors"))[:2]
    second.write_bytes(first.read_bytes())


def swap_images(shelf: BareShelf) -> None:
    small, large = one(shelf, "images/*/*@72.png"), one(shelf, "images/*/*@120.png")
    small.write_bytes(large.read_bytes())


def stray_cache(shelf: BareShelf) -> None:
    path = one(shelf, "store/*/caches/*/*.safetensors")
    stray = path.parent.parent / "ff" / ("f" * 32 + "@72.safetensors")
    stray.parent.mkdir()
    stray.write_bytes(path.read_bytes())
    age(stray)


def half_written(shelf: BareShelf) -> None:
    (one(shelf, "images/*") / "x.png.1.999999999.unfinished").write_bytes(b"half")


def lost_marker(shelf: BareShelf) -> None:
    one(shelf, "store/*/patches/given/??/*/*").unlink()


def stray_marker(shelf: BareShelf) -> None:
    one(shelf, "store/*/patches/??/*/*.safetensors").unlink()


def renamed_store(shelf: BareShelf) -> None:
    store = one(shelf, "store/*")
    shutil.copytree(store, store.with_name("0" * 16))


def lost_rows(shelf: BareShelf) -> None:
    with sqlite3.connect(shelf.catalogue.path) as connection:
        connection.execute("DELETE FROM chunk_pages WHERE chunk = (SELECT min(id) FROM chunks)")


def stray_upload(shelf: BareShelf) -> None:
    age(Path(shutil.copy(shelf.catalogue.path, shelf.home.spool / "stray.txt")))


def lost_upload(shelf: BareShelf) -> None:
    shelf.catalogue.add_job(JobRow("j1", "default", "x.txt", "gone.txt"))


def stale_index(shelf: BareShelf) -> None:
    """The index of before a document went, put back."""
    files = {path: path.read_bytes() for path in shelf.home.index_folder.iterdir()}
    remove_document(shelf, shelf.catalogue.documents("default")[0].id)
    for path, data in files.items():
        path.write_bytes(data)


def stray_index(shelf: BareShelf) -> None:
    (shelf.home.index_folder / ("0" * 32 + ".faiss")).write_bytes(b"of a collection that was")


def cut_deletion(shelf: BareShelf) -> None:
    shelf.catalogue.delete_document(shelf.catalogue.documents("default")[0].id)


DAMAGE: dict[str, tuple[Callable[[BareShelf], object], str, str]] = {
    "flipped cache": (lambda shelf: flip(one(shelf, "store/*/caches/*/*")), "cache", "checksum"),
    "another page's cache": (rename_header, "cache", "it holds"),
    "flipped patch": (lambda shelf: flip(one(shelf, "store/*/patches/??/*/*.safetensors")), "patch", "checksum"),
    "lost image": (lambda shelf: one(shelf, "images/*/*").unlink(), "image", "not there"),
    "cut image": (lambda shelf: os.truncate(one(shelf, "images/*/*"), 100), "image", "cannot be read"),
    "image of the wrong size": (swap_images, "image", "pixels"),
    "cache of nobody's page": (stray_cache, "orphan", "no document owns"),
    "half-written file": (half_written, "half", "half-written"),
    "patch that a deletion would miss": (lost_marker, "patch", "would not find it"),
    "word of a patch that is not there": (stray_marker, "patch", "speaks of a patch"),
    "store under another name": (renamed_store, "identity", "another model's identity"),
    "flipped index": (lambda shelf: flip(one(shelf, "index/*.faiss")), "index", "not those that were written"),
    "index with what was deleted": (stale_index, "index", "not there"),
    "index of no collection": (stray_index, "index", "collection that is not there"),
    "rows that do not fit": (lost_rows, "catalogue", "belongs to no chunk"),
    "upload without a job": (stray_upload, "upload", "no job waits"),
    "job without an upload": (lost_upload, "upload", "is not there"),
    "deletion that was cut": (cut_deletion, "pending", "a deletion"),
    "a foreign file": (lambda shelf: (one(shelf, "images/*") / "note@1.png").write_bytes(b"?"), "orphan", "no file that the house writes"),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_each_kind_of_damage_is_found_and_named(damage: str, shelf: BareShelf) -> None:
    harm, kind, says = DAMAGE[damage]
    harm(shelf)
    found = [finding for finding in verify(shelf).findings if finding.kind == kind]
    assert found
    assert any(says in finding.says for finding in found), found
    assert all(finding.where and finding.cure for finding in found)
    json.dumps(verify(shelf).as_dict())


def test_what_is_evicted_or_on_its_way_in_is_counted_and_no_fault(shelf: BareShelf) -> None:
    one(shelf, "store/*/caches/*/*@120.safetensors").unlink()
    arriving = shelf.home.images_root / "ff" / ("f" * 32 + "@120.png")
    arriving.parent.mkdir()
    arriving.write_bytes(one(shelf, "images/*/*@120.png").read_bytes())
    found = verify(shelf)
    assert (found.findings, found.evicted, found.arriving) == ((), 1, 1)


def test_a_document_that_goes_while_it_is_checked_is_no_finding(shelf: BareShelf) -> None:
    gone: list[object] = []

    def go(done: int, total: int) -> None:
        if not gone:
            gone.append(remove_document(shelf, shelf.catalogue.documents("default")[0].id))

    assert verify(shelf, progress=go).findings == ()
    assert gone


def test_no_byte_of_a_deleted_document_is_left(shelf: BareShelf) -> None:
    """Its text, its id, its pages' keys, its vectors, its upload and its job: in no file, and in no file's name."""
    row = shelf.catalogue.document_named("default", "a.txt")
    assert row is not None
    kept = Spool(shelf.home.spool).keep("a.txt", io.BytesIO(f"{MARKER} again".encode()), 1000)
    shelf.catalogue.add_job(
        JobRow(kept.job, "default", "a.txt", kept.file, "failed", error=f"{MARKER}.txt: no", detail={"sha256": row.sha256})
    )
    ids, vectors = shelf.catalogue.vectors("default")
    chunks = [chunk.id for chunk in shelf.catalogue.chunks_of(row.id)]
    wanted = needles(
        [MARKER, "staff 899 people"], [row.id, row.sha256, *(ref.key for c in shelf.catalogue.chunks_of(row.id) for ref in c.pages)]
    )
    wanted |= {f"vector {n}": vectors[int(np.flatnonzero(ids == n)[0])].tobytes() for n in chunks}
    assert {name for _, name in traces(shelf.home.root, wanted)} == {name for name in wanted if "UTF-16" not in name}
    removal = remove_document(shelf, row.id)
    assert (removal.artefacts["jobs"], removal.artefacts["uploads"]) == (1, 1)
    # The catalogue is still open: its log, its free pages and the index count too.
    assert list(traces(shelf.home.root, wanted)) == []
    assert verify(shelf, wanted).clean
    (shelf.home.root / "forgotten.log").write_text(f"took in {MARKER} tower\n")
    assert [(finding.kind, finding.where) for finding in verify(shelf, wanted).findings] == [("trace", "forgotten.log")]


def test_damaged_and_foreign_files_do_not_stop_a_deletion(shelf: BareShelf) -> None:
    row = shelf.catalogue.document_named("default", "b.txt")
    assert row is not None
    page = shelf.catalogue.chunks_of(row.id)[0].pages[0].key
    for path in shelf.home.root.glob("store/*/patches/??/*/*.safetensors"):
        path.write_bytes(b"no patch at all")
    foreign = one(shelf, "store/*/caches/*").parent / page[:2] / f"{page}@96.safetensors"
    blocked = shelf.home.images_root / page[:2] / f"{page}@72.png"
    blocked.unlink()
    blocked.mkdir()
    (blocked / "somebody's file").write_text("mine")
    foreign.write_bytes(b"of another resolution, never noted")
    removal = remove_document(shelf, row.id)
    assert removal.artefacts["caches"] == 4
    assert removal.artefacts["images"] == 3
    assert removal.artefacts["patches"] == 4
    assert len(removal.left) == 2
    assert shelf.catalogue.pending().images == (f"{page}@72",)
    assert (blocked / "somebody's file").exists()
    shutil.rmtree(blocked)
    remove_document(shelf, shelf.catalogue.documents("default")[0].id)
    assert not shelf.catalogue.pending().any
