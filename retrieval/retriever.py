"""A question goes in; hits come out in context order. The online walk's first step."""

from __future__ import annotations

import threading
from pathlib import Path

from .catalogue import Catalogue
from .embedder import Embedder
from .errors import EmbedderMismatch, EmptyQuestion
from .index import VectorIndex
from .types import Chunk, Hit
from .vectors import Vectors

# How often a search starts again because chunks it found were deleted under it.
RETRIES = 3


class Retriever:
    """Searches the collections of one catalogue with one embedder; safe for several threads.

    Indexes are kept in memory and follow the catalogue: a search after a change of its collection, by whichever process, sees it.
    """

    def __init__(self, catalogue: Catalogue, folder: Path, embedder: Embedder) -> None:
        """`folder` holds the index files; they can be deleted at any time and are built again."""
        self._catalogue = catalogue
        self._folder = folder
        self._embedder = embedder
        self._lock = threading.Lock()
        self._open: dict[str, tuple[int, VectorIndex]] = {}

    def search(self, question: str, collection: str, top_k: int) -> list[Hit]:
        """The `top_k` chunks nearest to the question, in context order; fewer where the collection holds fewer.

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
        return context_order(hits)

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

    def _index(self, collection: str) -> VectorIndex:
        known = self._open.get(collection)
        if known is not None and known[0] == self._catalogue.generation(collection):
            return known[1]
        return self.refresh(collection)


def without_repeats(hits: list[Hit]) -> list[Hit]:
    """The first hit of each tuple of pages: a page that stood in the context twice would take its rows twice and tell nothing new."""
    firsts: dict[object, Hit] = {}
    for hit in hits:
        # A chunk without pages is like no other.
        firsts.setdefault(tuple(page.key for page in hit.chunk.pages) or hit.chunk.id, hit)
    return list(firsts.values())


def context_order(hits: list[Hit]) -> list[Hit]:
    """Documents by their best hit, equal ones by document id; within a document by ordinal."""
    best: dict[str, float] = {}
    for hit in hits:
        best[hit.chunk.document] = max(hit.score, best.get(hit.chunk.document, hit.score))

    def place(chunk: Chunk) -> tuple[float, str, int]:
        return -best[chunk.document], chunk.document, chunk.ordinal

    return sorted(hits, key=lambda hit: place(hit.chunk))
