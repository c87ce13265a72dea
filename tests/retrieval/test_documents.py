"""Adding, replacing and deleting documents: one transaction each, pages live as long as an owner, receipts say what went."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from retrieval.catalogue import Catalogue
from retrieval.errors import NameTaken, RetrievalError, UnknownCollection, UnknownDocument
from retrieval.types import CollectionRow, JobRow, PageRef, Pending, Receipt

Make = Callable[..., object]


def images(*keys: str) -> list[str]:
    return sorted(f"{key}@{dpi}" for key in keys for dpi in (72, 120))


def test_a_deletion_removes_the_document_and_says_what_went(catalogue: Catalogue, whole: Make) -> None:
    empty = list(catalogue.dump())
    whole(1, ("a", "b", "a")).add_to(catalogue)
    assert catalogue.delete_document("d1") == Receipt("d1", "file-1.txt", 3, 3, ("a", "b"), (), collection="default")
    assert list(catalogue.dump()) == empty
    assert catalogue.pending_removals() == images("a", "b")


def test_a_shared_page_lives_until_its_last_owner_goes_even_across_collections(catalogue: Catalogue, whole: Make) -> None:
    catalogue.create_collection(CollectionRow("other", {}, "drawn", 8))
    whole(1, ("a", "b")).add_to(catalogue)
    whole(2, ("b", "c"), collection="other").add_to(catalogue)
    assert catalogue.chunk_ids_of_page("b") == [1001, 2000]
    assert catalogue.delete_document("d1") == Receipt("d1", "file-1.txt", 2, 2, ("a",), ("b",), collection="default")
    assert catalogue.page_keys() == {"b", "c"}
    assert [page.key for chunk in catalogue.chunks_of("d2") for page in chunk.pages] == ["b", "c"]
    assert catalogue.delete_document("d2").removed_pages == ("b", "c")
    assert catalogue.pending_removals() == images("a", "b", "c")


def test_a_page_that_comes_back_is_no_longer_waiting_for_removal(catalogue: Catalogue, whole: Make) -> None:
    whole(1, ("a", "b")).add_to(catalogue)
    catalogue.delete_document("d1")
    whole(2, ("b",)).add_to(catalogue)
    assert catalogue.pending_removals() == images("a")
    catalogue.clear_removals([*images("a"), "never there"])
    assert catalogue.pending_removals() == []


def test_a_replacement_swaps_the_document_in_one_step_and_keeps_common_pages(catalogue: Catalogue, whole: Make) -> None:
    whole(1, ("a", "b")).add_to(catalogue)
    before = catalogue.generation()
    receipt = whole(2, ("b", "c"), name="file-1.txt").add_to(catalogue, replaces="d1")
    assert receipt == Receipt("d1", "file-1.txt", 2, 2, ("a",), ("b",), collection="default")
    assert catalogue.generation() == before + 1
    assert [row.id for row in catalogue.documents("default")] == ["d2"]
    assert catalogue.pending_removals() == images("a")


def test_a_document_may_replace_itself_under_its_own_id(catalogue: Catalogue, whole: Make) -> None:
    first = whole(1, ("a",))
    first.add_to(catalogue)
    lines = list(catalogue.dump())
    assert first.add_to(catalogue, replaces="d1") == Receipt("d1", "file-1.txt", 1, 1, (), ("a",), collection="default")
    assert list(catalogue.dump()) == lines
    assert catalogue.pending_removals() == []


def test_a_page_gains_resolutions_but_never_changes_its_rows(catalogue: Catalogue, whole: Make) -> None:
    whole(1, ("a",)).add_to(catalogue)
    second = whole(2, ("a",))
    more = replace(second.pages[0], rows={96: 90, 72: 50})
    replace(second, pages=(more,)).add_to(catalogue)
    assert catalogue.page("a").rows == {72: 50, 96: 90, 120: 130}
    assert catalogue.chunks_of("d1")[0].pages == (PageRef("a", {72: 50, 96: 90, 120: 130}),)
    third = whole(3, ("a",))
    with pytest.raises(RetrievalError, match="page a has 50 rows at 72 DPI in the catalogue, 51 now"):
        replace(third, pages=(replace(more, rows={72: 51}),)).add_to(catalogue)


def test_rows_that_do_not_fit_together_are_refused_and_nothing_is_written(catalogue: Catalogue, whole: Make) -> None:
    whole(1, ("a",)).add_to(catalogue)
    catalogue.create_collection(CollectionRow("other", {}, "drawn", 8))
    lines, number = list(catalogue.dump()), catalogue.generation()
    good = whole(2, ("b", "c"))
    chunk = good.chunks[0]
    refused = [
        (NameTaken, "file-1.txt is in default already, from /in/file-1.txt", replace(good, row=replace(good.row, name="file-1.txt")), None),
        (RetrievalError, "document d1 exists already", replace(whole(1, ("b",), name="new.txt")), None),
        (UnknownCollection, "no collection 'x'; known: default, other", replace(good, row=replace(good.row, collection="x")), None),
        (UnknownDocument, "no document d9", good, "d9"),
        (RetrievalError, "cannot replace", whole(2, ("b",), collection="other"), "d1"),
        (RetrievalError, "belongs to document d7, not to d2", replace(good, chunks=(replace(chunk, document="d7"), good.chunks[1])), None),
        (RetrievalError, "share an id or an ordinal", replace(good, chunks=(chunk, chunk)), None),
        (RetrievalError, "chunk id 1000 belongs to document d1", replace(good, chunks=(replace(chunk, id=1000), good.chunks[1])), None),
        (RetrievalError, r"own the pages \['c'\] that are not given", replace(good, pages=good.pages[:1]), None),
        (RetrievalError, r"\['a'\] are given", replace(good, pages=(*good.pages, whole(1, ("a",)).pages[0])), None),
        (RetrievalError, r"shape \(1, 8\), not \(2, 8\)", replace(good, vectors=good.vectors[:1]), None),
        (RetrievalError, "vector 1 of 2", replace(good, vectors=good.vectors * np.array([[1], [0]], dtype=np.float32)), None),
    ]
    for error, words, rows, replaces in refused:
        with pytest.raises(error, match=words):
            rows.add_to(catalogue, replaces)
        assert list(catalogue.dump()) == lines, words
    assert catalogue.generation() == number
    assert catalogue.pending_removals() == []
    good.add_to(catalogue)


def test_a_deleted_collection_takes_its_documents_along_and_leaves_the_others(catalogue: Catalogue, whole: Make) -> None:
    catalogue.create_collection(CollectionRow("other", {}, "drawn", 8))
    whole(1, ("a",)).add_to(catalogue)
    lines = [line for line in catalogue.dump() if '"other"' not in line]
    whole(2, ("a", "b"), collection="other").add_to(catalogue)
    whole(3, ("b",), collection="other").add_to(catalogue)
    receipts, _ = catalogue.delete_collection("other")
    assert [(receipt.document, receipt.removed_pages, receipt.shared_pages) for receipt in receipts] == [
        ("d2", (), ("a", "b")),
        ("d3", ("b",), ()),
    ]
    assert list(catalogue.dump()) == lines
    with pytest.raises(UnknownCollection):
        catalogue.delete_collection("other")


@pytest.mark.parametrize("replaced", [False, True])
def test_nothing_of_a_document_that_went_stays_in_an_open_catalogues_files(catalogue: Catalogue, whole: Make, replaced: bool) -> None:
    """SQLite keeps what was written in its log until a checkpoint, and until then the file beside it as it was before."""
    old = whole(1, ("a",))
    old.add_to(catalogue)
    if replaced:
        whole(2, ("b",), name=old.row.name).add_to(catalogue, replaces="d1")
    else:
        catalogue.delete_document("d1")
    for path in catalogue.path.parent.glob(f"{catalogue.path.name}*"):
        content = path.read_bytes()
        assert old.vectors.tobytes() not in content, path.name
        assert old.chunks[0].text.encode() not in content, path.name


def test_a_deletion_notes_every_kind_of_file_that_must_follow(catalogue: Catalogue, whole: Make) -> None:
    old = whole(1, ("a",))
    old.add_to(catalogue)
    catalogue.add_job(JobRow("j", "default", old.row.name, "j.txt", "failed", detail={"sha256": old.row.sha256}))
    assert not catalogue.pending().any
    catalogue.delete_document("d1")
    assert catalogue.pending() == Pending(("a@120", "a@72"), ("default",), ("j.txt",))
    catalogue.clear_removals(["a@72", "index/default", "spool/j.txt"])
    assert catalogue.pending() == Pending(("a@120",))


def test_collections_follow_their_store_to_another_format_and_others_stay(catalogue: Catalogue) -> None:
    catalogue.create_collection(CollectionRow("other", {"model": "n", "store": "1"}, "drawn", 8))
    before = catalogue.generation("default")
    assert catalogue.change_identity({"model": "m"}, {"model": "m", "store": "2"}) == 1
    assert catalogue.collection("default").identity == {"model": "m", "store": "2"}
    assert catalogue.collection("other").identity == {"model": "n", "store": "1"}
    assert catalogue.generation("default") > before
    assert catalogue.change_identity({"model": "m"}, {"model": "m", "store": "2"}) == 0


def test_faults_of_rows_are_said_and_a_sound_catalogue_has_none(catalogue: Catalogue, whole: Make) -> None:
    whole(1, ("a", "b")).add_to(catalogue)
    assert catalogue.faults() == []
    with sqlite3.connect(catalogue.path) as raw:
        raw.execute("UPDATE documents SET chunks = 7")
        raw.execute("UPDATE chunks SET vector = ? WHERE ordinal = 0", (np.full(8, 9, np.float32).tobytes(),))
        raw.execute("INSERT INTO pages SELECT 'c', width, height, lines, rows, kind FROM pages WHERE key = 'a'")
    raw.close()
    assert [fault.partition(" ")[0] for fault in catalogue.faults()] == ["document", "page", "1"]


def test_a_picture_that_is_taken_in_again_with_recognised_lines_gets_them_and_keeps_them(catalogue: Catalogue, whole: Make) -> None:
    lines = (("recognised", 1.0, 2.0, 3.0, 4.0),)
    for number, found in [(1, ()), (2, lines), (3, ())]:
        document = whole(number, ("picture",))
        page = replace(document.pages[0], lines=found, kind="native")
        replace(document, pages=(page,)).add_to(catalogue)
        assert catalogue.page("picture").lines == (lines if number > 1 else ())
