"""From a question to hits in context order, with the real MiniLM, while the catalogue changes."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import pytest

from retrieval.catalogue import Catalogue
from retrieval.errors import EmbedderMismatch, EmptyQuestion, RetrievalError, UnknownCollection
from retrieval.minilm import MiniLM
from retrieval.retriever import Retriever, context_order, take_turns, without_repeats
from retrieval.types import Chunk, CollectionRow, Hit, PageRef

Make = Callable[..., object]

SHIPS = ["The harbour master keeps the list of ships.", "The Aurora sailed for Bergen on 3 May 1911.", "Her captain was Ingrid Holm."]
BREAD = ["Mix flour, water and salt.", "Bake the bread at 230 degrees for forty minutes."]
MOON = ["The moon moves the tides of the sea."]


@pytest.fixture
def store(catalogue: Catalogue, minilm: MiniLM, whole: Make) -> Callable[[int, list[str]], None]:
    catalogue.create_collection(CollectionRow("real", {}, minilm.name, minilm.dimension))

    def add(number: int, texts: list[str]) -> None:
        pages = [f"{number}.{page}" for page in range(len(texts))]
        whole(number, pages, collection="real", texts=texts, vectors=minilm.embed_passages(texts)).add_to(catalogue)

    return add


@pytest.fixture
def retriever(catalogue: Catalogue, minilm: MiniLM, tmp_path: Path) -> Retriever:
    return Retriever(catalogue, tmp_path / "index", minilm, "dense")


@pytest.fixture
def hybrid(catalogue: Catalogue, minilm: MiniLM, tmp_path: Path) -> Retriever:
    return Retriever(catalogue, tmp_path / "index", minilm)


def test_documents_come_by_their_best_hit_and_chunks_in_reading_order(store, retriever: Retriever) -> None:
    store(1, BREAD)
    store(2, MOON)
    store(3, SHIPS)
    hits = retriever.search("Who was the captain of the ship Aurora?", "real", 6)
    assert [hit.chunk.id for hit in hits][:3] == [3000, 3001, 3002]
    assert max(hits, key=lambda hit: hit.score).chunk.text in SHIPS[1:]
    assert sorted(hit.chunk.id for hit in hits) == [1000, 1001, 2000, 3000, 3001, 3002]
    assert [hit.chunk.pages[0].key for hit in hits][:3] == ["3.0", "3.1", "3.2"]


def test_top_k_takes_the_best_before_they_are_put_in_order(store, retriever: Retriever) -> None:
    store(1, BREAD)
    store(3, SHIPS)
    everything = retriever.search("How hot should the oven be?", "real", 5)
    best = sorted(everything, key=lambda hit: -hit.score)[:2]
    assert {hit.chunk.id for hit in retriever.search("How hot should the oven be?", "real", 2)} == {hit.chunk.id for hit in best}
    assert best[0].chunk.text == BREAD[1]


def test_a_text_that_stands_in_several_documents_is_found_once_and_the_next_ones_fill_up(
    retriever: Retriever, catalogue: Catalogue, store, whole, minilm: MiniLM
) -> None:
    store(1, BREAD)
    store(3, SHIPS)
    for number in (5, 6, 7, 8):
        texts = [SHIPS[2], f"{MOON[0]} ({number})"]
        vectors = minilm.embed_passages(texts)
        whole(number, ["3.2", f"{number}.1"], collection="real", texts=texts, vectors=vectors).add_to(catalogue)
    hits = retriever.search("Who was her captain?", "real", 3)
    assert [hit.chunk.text for hit in hits].count(SHIPS[2]) == 1
    assert len({hit.chunk.pages[0].key for hit in hits}) == 3
    everything = retriever.search("Who was her captain?", "real", 99)
    assert len(everything) == len({hit.chunk.pages[0].key for hit in everything}) == len(BREAD) + len(SHIPS) + 4
    nearest = sorted(everything, key=lambda hit: -hit.score)[:3]
    assert {hit.chunk.id for hit in hits} == {hit.chunk.id for hit in nearest}


def test_a_number_that_the_vectors_blur_is_found_by_its_digits(store, retriever: Retriever, hybrid: Retriever, minilm: MiniLM) -> None:
    orders = [f"Order {number} of garden chairs came in good condition." for number in range(4100, 4140)]
    store(1, orders)
    question = "Which goods came with order 4117?"
    assert 1017 not in {hit.chunk.id for hit in retriever.search(question, "real", 2)}
    hits = {hit.chunk.id: hit for hit in hybrid.search(question, "real", 2)}
    assert hits[1017].by == "words"
    # In the context it stands where its document says; among what was found it is the second, however small its cosine.
    assert sorted(hit.rank for hit in hits.values()) == [0, 1]
    assert hits[1017].rank == 1
    cosine = float(minilm.embed_passages([orders[17]])[0] @ minilm.embed_question(question))
    assert hits[1017].score == pytest.approx(cosine, abs=1e-6)


def test_one_hit_and_a_question_without_common_words_are_as_if_dense(store, retriever: Retriever, hybrid: Retriever) -> None:
    store(1, BREAD)
    store(3, SHIPS)
    for question, top_k in (("Who was the captain of the Aurora?", 1), ("Wie heiß?", 3), ("??", 3), ("Quo vadis", 9)):
        assert hybrid.search(question, "real", top_k) == retriever.search(question, "real", top_k)


def test_hybrid_hits_have_no_pages_twice_and_are_as_many_as_dense_ones(
    store, retriever: Retriever, hybrid: Retriever, whole, minilm
) -> None:
    store(1, BREAD)
    store(3, SHIPS)
    store(4, MOON)
    for number in (5, 6, 7):
        vectors = minilm.embed_passages(SHIPS[2:])
        whole(number, ["3.2"], collection="real", texts=SHIPS[2:], vectors=vectors).add_to(retriever._catalogue)
    for top_k in (2, 3, 4, 9):
        hits = hybrid.search("Who was her captain Ingrid?", "real", top_k)
        assert len({hit.chunk.pages[0].key for hit in hits}) == len(hits) == len(retriever.search("Who was her captain?", "real", top_k))
        assert {hit.by for hit in hits if hit.chunk.text == SHIPS[2]} == {"both"}


def test_a_deleted_chunk_is_not_found_by_its_words(store, hybrid: Retriever, catalogue: Catalogue) -> None:
    store(1, BREAD)
    store(3, SHIPS)
    assert "d3" in {hit.chunk.document for hit in hybrid.search("Bergen", "real", 2)}
    catalogue.delete_document("d3")
    assert {hit.chunk.document for hit in hybrid.search("Bergen", "real", 5)} == {"d1"}


def test_the_nearest_and_the_worded_take_turns_and_what_came_before_is_passed_over() -> None:
    def hit(number: int, by: Literal["meaning", "words"]) -> Hit:
        return Hit(Chunk(number, "d", number, "", 0, 0, pages=(PageRef(f"p{number}", {72: 50}),)), 1 / number, by)

    near = [hit(number, "meaning") for number in (1, 2, 3)]
    worded = [hit(number, "words") for number in (4, 2, 1, 5)]
    assert [(one.chunk.id, one.by) for one in take_turns(near, worded)] == [
        *((1, "both"), (4, "words"), (2, "both"), (3, "meaning"), (5, "words")),
    ]
    assert take_turns(near, []) == near


def test_of_hits_with_the_same_pages_the_first_stays() -> None:
    def hit(number: int, score: float, *keys: str) -> Hit:
        return Hit(Chunk(number, f"d{number}", 0, "", 0, 0, pages=tuple(PageRef(key, {72: 50}) for key in keys)), score)

    hits = [hit(1, 0.9, "a", "b"), hit(2, 0.8, "c"), hit(3, 0.8, "a", "b"), hit(4, 0.7, "a"), hit(5, 0.6), hit(6, 0.5), hit(7, 0.4, "c")]
    assert [hit.chunk.id for hit in without_repeats(hits)] == [1, 2, 4, 5, 6]


def test_a_search_sees_every_change_made_before_it_even_by_another_process(store, retriever: Retriever, catalogue: Catalogue) -> None:
    assert retriever.search("bread", "real", 3) == []
    store(1, BREAD)
    assert {hit.chunk.document for hit in retriever.search("bread", "real", 3)} == {"d1"}
    other = Catalogue(catalogue.path)
    other.delete_document("d1")
    other.close()
    assert retriever.search("bread", "real", 3) == []


def test_a_change_of_another_collection_does_not_read_the_index_again(store, retriever: Retriever, catalogue: Catalogue, whole) -> None:
    store(1, BREAD)
    index = retriever.refresh("real")
    whole(7).add_to(catalogue)
    retriever.search("bread", "real", 1)
    assert retriever._index("real") is index
    assert retriever.refresh("real") is not index


def test_searches_during_changes_only_return_chunks_that_were_there(store, retriever: Retriever, catalogue: Catalogue) -> None:
    store(1, BREAD)
    faults: list[object] = []
    stop = threading.Event()

    def search() -> None:
        try:
            while not stop.is_set():
                found = {hit.chunk.document for hit in retriever.search("bread and ships", "real", 9)}
                if not {"d1"} <= found <= {"d1", "d3"}:
                    faults.append(found)
        except BaseException as reason:
            faults.append(reason)

    searchers = [threading.Thread(target=search) for _ in range(2)]
    for searcher in searchers:
        searcher.start()
    for _ in range(6):
        store(3, SHIPS)
        catalogue.delete_document("d3")
    stop.set()
    for searcher in searchers:
        searcher.join()
    assert faults == []
    assert {hit.chunk.document for hit in retriever.search("ships", "real", 9)} == {"d1"}


@pytest.mark.parametrize("question", ["", "  \n\t\u3000"])
def test_a_question_without_text_is_refused(question: str, retriever: Retriever) -> None:
    with pytest.raises(EmptyQuestion):
        retriever.search(question, "default", 3)


def test_another_embedder_or_collection_is_named(retriever: Retriever, minilm: MiniLM, store) -> None:
    with pytest.raises(EmbedderMismatch, match=f"indexed with drawn, the question would be embedded with {minilm.name}"):
        retriever.search("x", "default", 3)
    with pytest.raises(UnknownCollection, match="no collection 'nope'; known: default, real"):
        retriever.search("x", "nope", 3)
    with pytest.raises(RetrievalError, match="top_k=0"):
        retriever.search("x", "real", 0)


def test_context_order_is_independent_of_the_order_found() -> None:
    def hit(number: int, document: str, ordinal: int, score: float) -> Hit:
        return Hit(Chunk(number, document, ordinal, "", 0, 0), score)

    hits = [hit(1, "b", 0, 0.1), hit(2, "b", 5, 0.8), hit(3, "a", 2, 0.7), hit(4, "a", 1, 0.2), hit(5, "c", 0, 0.8)]
    assert [hit.chunk.id for hit in context_order(hits)] == [1, 2, 5, 4, 3]
    assert context_order(hits[::-1]) == context_order(hits)
