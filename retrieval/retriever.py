"""A question goes in; hits come out in context order. The online walk's first step."""

from __future__ import annotations

import threading
from dataclasses import replace
from itertools import chain, zip_longest
from pathlib import Path

from .catalogue import Catalogue
from .embedder import Embedder
from .errors import EmbedderMismatch, EmptyQuestion
from .index import VectorIndex
from .types import Chunk, Hit, Search
from .vectors import Vectors

# How often a search starts again because chunks it found were deleted under it.
RETRIES = 3


class Retriever:
    """Searches the collections of one catalogue with one embedder; safe for several threads.

    Indexes are kept in memory and follow the catalogue: a search after a change of its collection, by whichever process, sees it.
    """

    def __init__(self, catalogue: Catalogue, folder: Path, embedder: Embedder, search: Search = "hybrid") -> None:
        """`folder` holds the index files; they can be deleted at any time and are built again. `search` "dense" is QV-PIC's retriever:
        vectors alone."""
        self._catalogue = catalogue
        self._folder = folder
        self._embedder = embedder
        self._search = search
        self._lock = threading.Lock()
        self._open: dict[str, tuple[int, VectorIndex]] = {}

    def search(self, question: str, collection: str, top_k: int) -> list[Hit]:
        """The `top_k` chunks nearest to the question, in context order; fewer where the collection holds fewer.

        Hybrid: the nearest and those with the question's words take turns, the nearest first, so that with `top_k` 1 it is as if dense.
        A question without words goes by nearness alone. Each hit's score is its cosine, whichever way it was found, and its rank its place
        among those found.
        Of chunks with the same pages, such as a sentence that stands in two documents, the nearest alone counts.
        Context order: documents by their best hit, a document's chunks as they stand in it, so that a heading's page comes before
        the page that needs it. Raises EmptyQuestion, UnknownCollection, and EmbedderMismatch naming both embedders.
        """
        if not question.strip():
            raise EmptyQuestion("the question is empty: ask something in words")
        row = self._catalogue.collection(collection)
        if row.embedder != self._embedder.name:
            raise EmbedderMismatch(
                f"collection {collection} was indexed with {row.embedder}, the question would be embedded with {self._embedder.name}: "
                "start with that embedder, or ingest the files again into a new collection"
            )
        vector = self._embedder.embed_question(question)
        for _ in range(RETRIES):
            hits, whole = self._nearest(self._index(collection), vector, top_k)
            if whole:
                break
        # One hit has no turns to take.
        if self._search == "hybrid" and top_k > 1:
            hits = take_turns(hits, self._worded(collection, question, vector, top_k))[:top_k]
        return context_order([replace(hit, rank=rank) for rank, hit in enumerate(hits)])

    def refresh(self, collection: str) -> VectorIndex:
        """Bring the index of the collection up to the catalogue now, so that the next question need not wait for it."""
        with self._lock:
            # The number is read before the vectors: a change in between is then seen as newer and read again, never missed.
            generation = self._catalogue.generation(collection)
            index = VectorIndex.open_or_build(self._folder, self._catalogue, collection)
            self._open[collection] = (generation, index)
            return index

    def forget_changed(self) -> None:
        """Drop the indexes in memory that are not up to the catalogue: they may hold vectors of what was deleted, and nobody may ask again."""
        with self._lock:
            for collection, (generation, _) in list(self._open.items()):
                if generation != self._catalogue.generation(collection):
                    del self._open[collection]

    def _nearest(self, index: VectorIndex, vector: Vectors, top_k: int) -> tuple[list[Hit], bool]:
        """Up to `top_k` hits by falling cosine, no two with the same pages; and whether every chunk found is still there."""
        wide = top_k
        while True:
            scores = dict(index.search(vector, wide))
            chunks = self._catalogue.chunks(list(scores))
            hits = without_repeats([Hit(chunk, scores[chunk.id]) for chunk in chunks])
            if len(hits) >= top_k or wide >= index.count:
                return hits[:top_k], len(chunks) == len(scores)
            wide *= 2

    def _worded(self, collection: str, question: str, vector: Vectors, top_k: int) -> list[Hit]:
        """Up to `top_k` hits that have words of the question, best first by BM25, no two with the same pages."""
        wide = top_k
        while True:
            # From the catalogue, not from the index: what came in since that was read has a cosine too.
            found = dict(self._catalogue.with_words(collection, question, wide))
            chunks = self._catalogue.chunks(list(found))
            hits = without_repeats([Hit(chunk, float(found[chunk.id] @ vector), "words") for chunk in chunks])
            if len(hits) >= top_k or len(found) < wide:
                return hits[:top_k]
            wide *= 2

    def _index(self, collection: str) -> VectorIndex:
        known = self._open.get(collection)
        if known is not None and known[0] == self._catalogue.generation(collection):
            return known[1]
        return self.refresh(collection)


def without_repeats(hits: list[Hit]) -> list[Hit]:
    """The first hit of each tuple of pages: a page that stood in the context twice would take its rows twice and tell nothing new."""
    firsts: dict[object, Hit] = {}
    for hit in hits:
        firsts.setdefault(_place(hit), hit)
    return list(firsts.values())


def take_turns(near: list[Hit], worded: list[Hit]) -> list[Hit]:
    """The first of `near`, the first of `worded`, the second of `near`, ...; one that came before is passed over, and is by "both"."""
    found = without_repeats([hit for hit in chain.from_iterable(zip_longest(near, worded)) if hit is not None])
    twice = {_place(hit) for hit in near} & {_place(hit) for hit in worded}
    return [replace(hit, by="both") if _place(hit) in twice else hit for hit in found]


def context_order(hits: list[Hit]) -> list[Hit]:
    """Documents by their best hit, equal ones by document id; within a document by ordinal."""
    best: dict[str, float] = {}
    for hit in hits:
        best[hit.chunk.document] = max(hit.score, best.get(hit.chunk.document, hit.score))

    def place(chunk: Chunk) -> tuple[float, str, int]:
        return -best[chunk.document], chunk.document, chunk.ordinal

    return sorted(hits, key=lambda hit: place(hit.chunk))


def _place(hit: Hit) -> object:
    """What two hits must not share; a chunk without pages is like no other."""
    return tuple(page.key for page in hit.chunk.pages) or hit.chunk.id
