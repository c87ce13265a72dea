"""A path goes in; the catalogue of collections, documents, chunks, vectors, pages and jobs comes out. Each method is one transaction."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from . import content, documents, words
from .errors import EmbedderMismatch
from .jobs import Forgotten
from .ledger import Ledger
from .types import Chunk, CollectionRow, Counts, DocumentRow, PageRow, Pending, Receipt
from .vectors import Ids, Vectors

# In `meta`: the generation of the last deletion since the file was last written anew.
_WORN = "worn"


class Catalogue(Ledger):
    """The one truth about what is in the house; the vector index and the store's files follow it.

    An SQLite file in WAL mode: any thread may call any method, other processes may read and write beside it, and a method that
    returned has its change on the disk. Raises CatalogueTooNew for a file of a newer format, RetrievalError for any other file.
    """

    # --- what changed -----------------------------------------------------------------------------------------------------------

    def generation(self, collection: str | None = None) -> int:
        """Grows with every change of content, in the whole catalogue or in one collection; 0 before the first. Jobs do not count."""
        with self._connections.read() as connection:
            found = connection.execute("SELECT value FROM meta WHERE key = ?", (_counter(collection),)).fetchone()
        return 0 if found is None else int(found[0])

    # --- collections ------------------------------------------------------------------------------------------------------------

    def create_collection(self, row: CollectionRow) -> CollectionRow:
        """Make the collection, or return the one that is there; comparing its `identity` is the caller's part.

        Raises EmbedderMismatch where the one that is there was made with another embedder or dimension.
        """
        with self._connections.write() as connection:
            for found in content.collections(connection):
                if found.name == row.name:
                    require_embedder(found, row)
                    return found
            documents.add_collection(connection, row)
            _grow(connection, row.name)
        return row

    def collection(self, name: str) -> CollectionRow:
        """Raises UnknownCollection, which lists those there are."""
        with self._connections.read() as connection:
            return content.collection(connection, name)

    def collections(self, after: str | None = None, limit: int | None = None) -> list[CollectionRow]:
        """Collections by name; only those behind the name `after`, and `limit` of them, where given."""
        with self._connections.read() as connection:
            return content.collections(connection, after, limit)

    def pin(self, name: str, pinned: bool = True) -> CollectionRow:
        """Say whether a collection's caches stay when others must go to make room. Raises UnknownCollection."""
        with self._connections.write() as connection:
            content.collection(connection, name)
            connection.execute("UPDATE collections SET pinned = ? WHERE name = ?", (int(pinned), name))
            return content.collection(connection, name)

    def change_identity(self, before: Mapping[str, str], after: Mapping[str, str]) -> int:
        """Collections that were made under one identity are made under another one now: their store was brought up. Returns how many."""
        with self._connections.write() as connection:
            changed = documents.change_identity(connection, before, after)
            for name in changed:
                _grow(connection, name)
        return len(changed)

    def delete_collection(self, name: str) -> tuple[tuple[Receipt, ...], Forgotten]:
        """Remove the collection with all its documents, a receipt for each, and with all its jobs that brought none of them: those that
        wait and the one under way too. Raises UnknownCollection."""
        with self._connections.write() as connection:
            receipts, rest = documents.delete_all(connection, name)
            words.merge(connection)
            connection.execute("DELETE FROM collections WHERE name = ?", (name,))
            _grow(connection, name)
            _wear(connection)
        self._connections.empty_log()
        return receipts, rest

    def counts(self, collection: str | None = None) -> Counts:
        """How much is there, in all or in one collection. Raises UnknownCollection."""
        with self._connections.read() as connection:
            return content.counts(connection, collection)

    # --- documents --------------------------------------------------------------------------------------------------------------

    def documents(self, collection: str, after: str | None = None, limit: int | None = None, name: str | None = None) -> list[DocumentRow]:
        """A collection's documents by name; only those behind the name `after`, with `name` somewhere in theirs, and `limit` of them, where
        given. Raises UnknownCollection."""
        with self._connections.read() as connection:
            return content.documents(connection, collection, after, limit, name)

    def document(self, document_id: str) -> DocumentRow:
        """Raises UnknownDocument."""
        with self._connections.read() as connection:
            return content.document(connection, document_id)

    def document_named(self, collection: str, name: str) -> DocumentRow | None:
        """The document that holds the name in the collection, or None."""
        with self._connections.read() as connection:
            return content.document_named(connection, collection, name)

    def add_document(
        self, row: DocumentRow, chunks: Sequence[Chunk], vectors: Vectors, pages: Sequence[PageRow], replaces: str | None = None
    ) -> Receipt | None:
        """Write a document, its chunks, their unit vectors float32 [len(chunks), dimension] and its pages; all or nothing.

        `pages` holds each page of `chunks` once. With `replaces`, that document goes in the same transaction and its receipt comes
        back. The row's counts of chunks and pages are set here. Raises UnknownCollection, UnknownDocument (for `replaces`),
        NameTaken, and RetrievalError for rows that do not fit together.
        """
        with self._connections.write() as connection:
            receipt = documents.add(connection, row, chunks, vectors, pages, replaces)
            if receipt is not None:
                words.merge(connection)
            _grow(connection, row.collection)
            if receipt is not None:
                _wear(connection)
        if receipt is not None:
            self._connections.empty_log()
        return receipt

    def delete_document(self, document_id: str) -> Receipt:
        """Remove a document with its chunks, vectors and the pages that nothing else owns. Raises UnknownDocument."""
        with self._connections.write() as connection:
            collection = content.document(connection, document_id).collection
            receipt = documents.delete(connection, document_id)
            words.merge(connection)
            _grow(connection, collection)
            _wear(connection)
        self._connections.empty_log()
        return receipt

    # --- files that wait for removal --------------------------------------------------------------------------------------------

    def pending_removals(self) -> list[str]:
        """Page-image keys (`<page key>@<dpi>`), sorted, whose files no document needs any more.

        Remove the files, then `clear_removals`: a crash in between leaves the list, so it is done again. Hold the store's write lock
        over both, or a page that comes back meanwhile loses its files.
        """
        with self._connections.read() as connection:
            return list(content.pending(connection).images)

    def pending(self) -> Pending:
        """The same, with indexes that may hold vectors of what was deleted, and uploads that still hold its bytes."""
        with self._connections.read() as connection:
            return content.pending(connection)

    def empty_log(self) -> bool:
        """As `Connections.empty_log`; every deletion does it."""
        return self._connections.empty_log()

    @property
    def worn(self) -> bool:
        """Whether something was deleted since the file was last written anew: bytes of it may be in the file's unused parts."""
        return self._worn() is not None

    def rewrite(self, most: int | None = None) -> bool:
        """Write a worn file anew, if it has `most` bytes at most; whether it is not worn any more. Writers wait meanwhile."""
        worn = self._worn()
        if worn is None:
            return True
        if (most is not None and self.path.stat().st_size > most) or not self._connections.rewrite():
            return False
        with self._connections.write() as connection:
            # A deletion that came meanwhile has a higher number, and is not forgotten.
            connection.execute("DELETE FROM meta WHERE key = ? AND value = ?", (_WORN, worn))
        return True

    def _worn(self) -> int | None:
        with self._connections.read() as connection:
            found = connection.execute("SELECT value FROM meta WHERE key = ?", (_WORN,)).fetchone()
        return None if found is None else int(found[0])

    @property
    def log_left(self) -> bool:
        """Whether a reader has kept this process from emptying the log: it still holds what was deleted."""
        return self._connections.log_left

    def clear_removals(self, keys: Iterable[str]) -> None:
        """Take page-image keys off the list, `index/<collection>` and `spool/<file>`; what is not on it is passed over."""
        with self._connections.write() as connection:
            connection.executemany("DELETE FROM removals WHERE key = ?", [(key,) for key in keys])

    # --- chunks, pages, vectors -------------------------------------------------------------------------------------------------

    def chunks(self, ids: Sequence[int]) -> list[Chunk]:
        """The chunks with their pages, in the order of `ids`; one that has been deleted meanwhile is left out."""
        with self._connections.read() as connection:
            return content.chunks(connection, ids)

    def chunks_of(self, document: str) -> list[Chunk]:
        """A document's chunks by ordinal. Raises UnknownDocument."""
        with self._connections.read() as connection:
            return content.chunks_of(connection, document)

    def chunk_ids_of_page(self, key: str) -> list[int]:
        """Ids, ascending, of the chunks of all collections that own the page."""
        with self._connections.read() as connection:
            return content.chunk_ids_of_page(connection, key)

    def page(self, key: str) -> PageRow:
        """Raises UnknownPage."""
        with self._connections.read() as connection:
            return content.page(connection, key)

    def pages(self, keys: Collection[str]) -> list[PageRow]:
        """Those of these pages that are there, by key; in one look, so that they stand together."""
        with self._connections.read() as connection:
            return content.pages(connection, keys)

    def all_pages(self) -> list[PageRow]:
        """Every page, by key."""
        with self._connections.read() as connection:
            return content.all_pages(connection)

    def page_keys(self, collection: str | None = None) -> set[str]:
        """Keys of all pages, or of one collection's. Raises UnknownCollection."""
        with self._connections.read() as connection:
            return content.page_keys(connection, collection)

    def vectors(self, collection: str) -> tuple[Ids, Vectors]:
        """Chunk ids int64 [n], ascending, and their vectors float32 [n, dimension]. Raises UnknownCollection."""
        with self._connections.read() as connection:
            return content.vectors(connection, collection)

    def with_words(self, collection: str, question: str, limit: int) -> list[tuple[int, Vectors]]:
        """Up to `limit` chunk ids of the collection that have a word of the question, best first by BM25, each with its unit vector float32
        [dimension]; none for a question without words, or for a collection that is not there."""
        with self._connections.read() as connection:
            return words.search(connection, collection, question, limit)

    def faults(self) -> list[str]:
        """What is wrong with the file and its rows, in sentences; none where all is well. Reads all of it, and keeps writers waiting while
        FTS5 checks its index alone."""
        with self._connections.read() as connection:
            found = [*content.faults(connection), *words.faults(connection)]
        with self._connections.write() as connection:
            return found + words.index_faults(connection)

    def dump(self) -> Iterator[str]:
        """A line for every content row, in canonical order: two catalogues are equal when their dumps are. No jobs, no generation."""
        with self._connections.read() as connection:
            yield from content.dump(connection)


def _wear(connection: sqlite3.Connection) -> None:
    """Note the deletion by the catalogue's new number."""
    connection.execute("INSERT OR REPLACE INTO meta SELECT ?, value FROM meta WHERE key = ?", (_WORN, _counter(None)))


def _counter(collection: str | None) -> str:
    # A slash parts the words, so that no collection's name can stand for the whole catalogue's counter.
    return "generation" if collection is None else f"generation/{collection}"


def _grow(connection: sqlite3.Connection, collection: str) -> None:
    """The collection's counter takes the catalogue's new number: it grows even when a collection is deleted and made again."""
    connection.execute("INSERT INTO meta VALUES (?, 1) ON CONFLICT (key) DO UPDATE SET value = value + 1", (_counter(None),))
    connection.execute("INSERT OR REPLACE INTO meta SELECT ?, value FROM meta WHERE key = ?", (_counter(collection), _counter(None)))


def require_embedder(found: CollectionRow, wanted: CollectionRow) -> None:
    """Raises EmbedderMismatch naming both where the collection that is there was indexed by another embedder than the one wanted."""
    if (found.embedder, found.dimension) != (wanted.embedder, wanted.dimension):
        raise EmbedderMismatch(
            f"collection {found.name} was indexed with {found.embedder} ({found.dimension} numbers), not with {wanted.embedder} "
            f"({wanted.dimension}): use that embedder, or ingest into another collection"
        )
