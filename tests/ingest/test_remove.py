"""Deletion removes everything derived, and proves it."""

import io
from pathlib import Path

import pytest

from ingest.jobs import JobQueue
from ingest.pipeline import ingest
from ingest.remove import finish_removals, remove_collection, remove_document, remove_orphans
from ingest.workshop import Workshop
from retrieval.errors import UnknownDocument
from retrieval.retriever import Retriever

from .conftest import Open, files_of


def test_the_last_deletion_leaves_no_cache_no_image_and_no_row(workshop: Workshop, records: Path) -> None:
    ingest([records], "default", workshop)
    for row in workshop.catalogue.documents("default"):
        removal = remove_document(workshop, row.id)
        assert removal.receipt.name == row.name
        assert removal.receipt.chunks == row.chunks
        pages = len(removal.receipt.removed_pages)
        # A cache and an image at each of two DPIs; of each page but the first a patch at every pair of them.
        counted = {kind: removal.artefacts[kind] for kind in ("caches", "images", "patches", "documents", "chunks", "vectors", "pages")}
        assert counted == {
            "caches": 2 * pages,
            "images": 2 * pages,
            "patches": 4 * (pages - 1),
            "documents": 1,
            "chunks": row.chunks,
            "vectors": row.chunks,
            "pages": pages,
        }
        assert len(removal.files) == sum(removal.artefacts[kind] for kind in ("caches", "images", "patches", "indexes"))
        assert removal.left == ()
        assert removal.bytes > 0
        assert not any((workshop.home.root / file).exists() for file in removal.files)
    assert not [name for name in files_of(workshop.home.root) if name.endswith((".safetensors", ".png"))]
    assert not list(workshop.catalogue.vectors("default")[0])
    assert Retriever(workshop.catalogue, workshop.home.index_folder, workshop.embedder).search("owner", "default", 3) == []


def test_text_of_a_deleted_document_is_nowhere_in_the_home(workshop: Workshop, records: Path) -> None:
    (records / "a.txt").write_text("Zyxomatic tower has staff 899 people.\n")
    ingest([records], "default", workshop)
    row = workshop.catalogue.document_named("default", "a.txt")
    assert row is not None
    remove_document(workshop, row.id)
    workshop.close()  # checkpoints the write-ahead log
    # In small letters as the index of words has them, without the first ones, which it may share with the word before.
    assert not [path for path in workshop.home.root.rglob("*") if path.is_file() and b"xomatic" in path.read_bytes().lower()]


def test_vectors_of_a_deleted_document_are_not_left_in_the_index(workshop: Workshop, records: Path) -> None:
    ingest([records], "default", workshop)
    row = workshop.catalogue.document_named("default", "a.txt")
    assert row is not None
    chunks = {chunk.id for chunk in workshop.catalogue.chunks_of(row.id)}
    ids, vectors = workshop.catalogue.vectors("default")
    gone = [vector.tobytes() for number, vector in zip(ids.tolist(), vectors, strict=True) if number in chunks]
    file = next(workshop.home.index_folder.glob("*.faiss"))
    assert gone
    assert all(vector in file.read_bytes() for vector in gone)
    removal = remove_document(workshop, row.id)
    assert removal.artefacts["indexes"] == 2
    assert list(workshop.home.index_folder.iterdir()) == []
    Retriever(workshop.catalogue, workshop.home.index_folder, workshop.embedder).search("owner", "default", 3)
    assert not any(vector in file.read_bytes() for vector in gone)


def test_a_shared_page_lives_until_its_last_owner_goes(workshop: Workshop, records: Path) -> None:
    (records / "copy.txt").write_bytes((records / "c.txt").read_bytes())
    ingest([records], "default", workshop)
    rows = {row.name: row for row in workshop.catalogue.documents("default")}
    first = remove_document(workshop, rows["c.txt"].id)
    assert all(file.startswith("index/") for file in first.files)
    assert len(first.receipt.shared_pages) == 1
    page = first.receipt.shared_pages[0]
    assert [len(workshop.home.derived_files(f"{page}@{dpi}")) for dpi in (72, 120)] == [2, 2]
    second = remove_document(workshop, rows["copy.txt"].id)
    assert second.receipt.removed_pages == (page,)
    assert not any(workshop.home.derived_files(f"{page}@{dpi}") for dpi in (72, 120))


def test_a_deletion_cut_short_is_finished_when_the_home_is_opened_again(workshop: Workshop, records: Path, open_at: Open) -> None:
    ingest([records], "default", workshop)
    row = workshop.catalogue.documents("default")[0]
    receipt = workshop.catalogue.delete_document(row.id)  # the rows go, and then the process dies
    assert all(workshop.home.derived_files(f"{key}@{dpi}") for key in receipt.removed_pages for dpi in (72, 120))
    again = open_at(workshop.home.root)
    assert not any(again.home.derived_files(f"{key}@{dpi}") for key in receipt.removed_pages for dpi in (72, 120))
    assert not again.catalogue.pending().any
    assert list(again.home.index_folder.iterdir()) == []
    finish_removals(again)  # nothing left to do


def test_an_unknown_document_is_an_error(workshop: Workshop) -> None:
    with pytest.raises(UnknownDocument):
        remove_document(workshop, "0" * 16)


def test_pages_that_no_document_owns_are_removed_and_the_others_stay(workshop: Workshop, records: Path) -> None:
    ingest([records / "a.txt"], "default", workshop)
    before = files_of(workshop.home.root)
    stages: list[str] = []
    stopped = ingest(
        [records / "b.txt"], "default", workshop, progress=lambda at: stages.append(at.stage), cancelled=lambda: "compile" in stages
    )
    assert stopped.cancelled
    extra = set(files_of(workshop.home.root)) - set(before)
    assert extra
    assert set(remove_orphans(workshop)) == extra
    assert remove_orphans(workshop) == ()
    workshop.store.seal()
    assert files_of(workshop.home.root) == before


@pytest.mark.parametrize("documents", [0, 1])
def test_what_belongs_to_no_document_of_a_collection_is_in_its_closing_receipt(workshop: Workshop, records: Path, documents: int) -> None:
    if documents:
        ingest([records / "a.txt"], "default", workshop)
    workshop.collection("default", create=True)
    queue = JobQueue(workshop)
    waiting = [queue.submit(name, io.BytesIO(b"bytes of it"), "default") for name in ("b.txt", "c.txt")]
    removals = remove_collection(workshop, "default")
    assert [bool(one.receipt.document) for one in removals] == [True] * documents + [False]
    closing = removals[-1]
    assert (closing.receipt.name, closing.receipt.collection) == ("default", "default")
    assert set(closing.receipt.jobs) == {row.id for row in waiting}
    assert (closing.artefacts["jobs"], closing.artefacts["uploads"], closing.artefacts["documents"]) == (2, 2, 0)
    assert {f"spool/{row.spool}" for row in waiting} <= set(closing.files)
    assert closing.bytes >= 22
    assert list(workshop.home.spool.iterdir()) == []


def test_a_collection_whose_jobs_all_brought_documents_has_a_receipt_for_each_alone(workshop: Workshop, records: Path) -> None:
    ingest([records], "default", workshop)
    removals = remove_collection(workshop, "default")
    assert [one.receipt.name for one in removals] == ["a.txt", "b.txt", "c.txt"]
    assert removals[-1].files
