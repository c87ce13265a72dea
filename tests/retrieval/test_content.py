"""Reading back: every value as it went in, in the order that was promised."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from retrieval.catalogue import Catalogue
from retrieval.errors import UnknownCollection, UnknownDocument, UnknownPage
from retrieval.types import CollectionRow, Counts

Make = Callable[..., object]


def test_a_document_comes_back_as_it_went_in_with_its_counts(catalogue: Catalogue, whole: Make) -> None:
    rows = whole(1, ("a", "b", "a"))
    rows.add_to(catalogue)
    assert catalogue.document("d1") == replace(rows.row, chunks=3, pages=3)
    assert catalogue.document_named("default", "file-1.txt") == catalogue.document("d1")
    assert catalogue.chunks_of("d1") == list(rows.chunks)
    assert [catalogue.page(key) for key in ("a", "b")] == list(rows.pages)
    ids, vectors = catalogue.vectors("default")
    assert (ids.dtype, ids.tolist()) == (np.int64, [1000, 1001, 1002])
    assert vectors.dtype == np.float32
    np.testing.assert_array_equal(vectors, rows.vectors)


def test_any_text_survives_storage(catalogue: Catalogue, whole: Make) -> None:
    text = "nul \0, quote ' \" ;--, \N{FAMILY}, عربى, 日本語, \U0001f9ff, \r\n"
    rows = whole(1, ("a'; DROP TABLE pages; --",), name=text, texts=[text])
    rows.add_to(catalogue)
    assert catalogue.document_named("default", text) == replace(rows.row, chunks=1, pages=1)
    assert catalogue.chunks_of("d1") == list(rows.chunks)


def test_chunks_keep_the_order_asked_for_and_leave_out_what_is_gone(catalogue: Catalogue, whole: Make) -> None:
    whole(1, ("a", "b", "c")).add_to(catalogue)
    assert [chunk.id for chunk in catalogue.chunks([1002, 7, 1000])] == [1002, 1000]
    assert catalogue.chunks([]) == []
    assert len(catalogue.chunks([*range(100_000), 1001])) == 4


def test_documents_are_listed_by_name_and_vectors_by_id_of_their_collection_alone(catalogue: Catalogue, whole: Make) -> None:
    catalogue.create_collection(CollectionRow("other", {}, "drawn", 8))
    whole(3, name="b").add_to(catalogue)
    whole(1, name="ä").add_to(catalogue)
    whole(2, name="a").add_to(catalogue)
    whole(4, ("q",), collection="other").add_to(catalogue)
    assert [row.name for row in catalogue.documents("default")] == ["a", "b", "ä"]
    assert catalogue.vectors("default")[0].tolist() == [1000, 2000, 3000]
    assert catalogue.page_keys("default") == {"p"}
    assert catalogue.page_keys("other") == {"q"}
    assert catalogue.page_keys() == {"p", "q"}


def test_an_empty_collection_has_no_vectors_of_its_dimension(catalogue: Catalogue) -> None:
    ids, vectors = catalogue.vectors("default")
    assert (ids.shape, vectors.shape) == ((0,), (0, 8))


def test_what_is_not_there_is_named(catalogue: Catalogue) -> None:
    for ask in (catalogue.collection, catalogue.documents, catalogue.vectors, catalogue.page_keys):
        with pytest.raises(UnknownCollection, match="no collection 'nope'; known: default"):
            ask("nope")
    for ask in (catalogue.document, catalogue.chunks_of, catalogue.delete_document):
        with pytest.raises(UnknownDocument, match="no document nope"):
            ask("nope")
    with pytest.raises(UnknownPage, match="no page nope"):
        catalogue.page("nope")
    assert catalogue.document_named("nope", "nope") is None
    assert catalogue.chunk_ids_of_page("nope") == []


def test_the_dump_depends_on_the_content_and_not_on_the_way_to_it(catalogue: Catalogue, whole: Make, tmp_path) -> None:
    whole(1, ("a", "b")).add_to(catalogue)
    whole(2, ("b", "c")).add_to(catalogue)
    other = Catalogue(tmp_path / "other.sqlite")
    other.create_collection(CollectionRow("default", {"model": "m"}, "drawn", 8))
    whole(9, ("c", "x")).add_to(other)
    whole(2, ("b", "c")).add_to(other)
    assert list(other.dump()) != list(catalogue.dump())
    other.delete_document("d9")
    whole(1, ("a", "b")).add_to(other)
    assert list(other.dump()) == list(catalogue.dump())
    assert {json.loads(line)[0] for line in other.dump()} == {"collections", "documents", "chunks", "pages", "chunk_pages"}
    # One number of one vector is enough to tell them apart.
    other.delete_document("d1")
    rows = whole(1, ("a", "b"))
    replace(rows, vectors=rows.vectors[::-1]).add_to(other)
    assert list(other.dump()) != list(catalogue.dump())
    other.close()


def test_lists_join_page_by_page_and_find_a_part_of_a_name_in_capitals_or_not(catalogue: Catalogue, whole: Make) -> None:
    names = ["Übersicht.pdf", "a.txt", "b.txt", "übersicht 2.pdf"]
    for number, name in enumerate(names, 1):
        whole(number, (f"p{number}",), name=name).add_to(catalogue)
    listed, after = [], None
    while page := catalogue.documents("default", after=after, limit=3):
        assert len(page) <= 3
        listed += [row.name for row in page]
        after = listed[-1]
    assert listed == [row.name for row in catalogue.documents("default")] == sorted(names)
    assert {row.name for row in catalogue.documents("default", name="ÜBER")} == {"Übersicht.pdf", "übersicht 2.pdf"}
    assert [row.name for row in catalogue.documents("default", name=".", limit=1)] == ["a.txt"]
    assert catalogue.documents("default", name="%") == []
    for name in ("z", "m"):
        catalogue.create_collection(CollectionRow(name, {}, "drawn", 8))
    assert [row.name for row in catalogue.collections(limit=2)] == ["default", "m"]
    assert [row.name for row in catalogue.collections(after="m")] == ["z"]


def test_counts_are_of_all_or_of_one_collection_and_a_shared_page_counts_once(catalogue: Catalogue, whole: Make) -> None:
    catalogue.create_collection(CollectionRow("other", {}, "drawn", 8))
    whole(1, ("a", "b")).add_to(catalogue)
    whole(2, ("b",)).add_to(catalogue)
    whole(3, ("b",), collection="other").add_to(catalogue)
    states = {"queued": 0, "running": 0, "done": 0, "failed": 0, "cancelled": 0}
    assert catalogue.counts() == Counts(2, 3, 4, 2, states)
    assert catalogue.counts("default") == Counts(1, 2, 3, 2, states)
    with pytest.raises(UnknownCollection):
        catalogue.counts("none")


def test_a_pin_is_a_wish_and_no_content(catalogue: Catalogue) -> None:
    before = catalogue.generation(), list(catalogue.dump())
    assert catalogue.pin("default").pinned
    assert catalogue.collection("default").pinned
    assert not catalogue.pin("default", False).pinned
    assert (catalogue.generation(), list(catalogue.dump())) == before
    with pytest.raises(UnknownCollection):
        catalogue.pin("none")


def test_a_page_keeps_its_kind(catalogue: Catalogue, whole: Make) -> None:
    scan = whole(1, ("a",))
    replace(scan, pages=(replace(scan.pages[0], kind="native", lines=()),)).add_to(catalogue)
    whole(2, ("b",)).add_to(catalogue)
    assert [catalogue.page(key).kind for key in "ab"] == ["native", "text"]
