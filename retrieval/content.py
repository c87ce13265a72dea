"""Keys go in; collections, documents, chunks, pages and vectors come out as values. Reads only, inside a transaction of the caller."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

import numpy as np

from .errors import UnknownCollection, UnknownDocument, UnknownPage
from .jobs import by_state
from .types import Chunk, CollectionRow, Counts, DocumentRow, PageRef, PageRow, Pending
from .vectors import Ids, Vectors

DOCUMENT = "id, collection, name, source, sha256, bytes, media, chars, chunks, pages, notes"


def collections(connection: sqlite3.Connection, after: str | None = None, limit: int | None = None) -> list[CollectionRow]:
    """Collections by name: those behind `after`, up to `limit`; all where nothing is said."""
    found = connection.execute(
        "SELECT name, identity, embedder, dimension, model, pinned FROM collections WHERE ?1 IS NULL OR name > ?1 ORDER BY name LIMIT ?2",
        (after, _all(limit)),
    )
    return [CollectionRow(row[0], json.loads(row[1]), row[2], row[3], row[4], bool(row[5])) for row in found]


def collection(connection: sqlite3.Connection, name: str) -> CollectionRow:
    """Raises UnknownCollection listing those there are."""
    known = collections(connection)
    for row in known:
        if row.name == name:
            return row
    cure = f"add a document to it (upload one there, or `quire ingest PATH --collection {name}`)"
    if not known:
        raise UnknownCollection(f"no collection {name!r}, there is none yet: {cure}")
    raise UnknownCollection(f"no collection {name!r}; known: {', '.join(row.name for row in known)}: use one of these, or {cure}")


def documents(
    connection: sqlite3.Connection, collection_name: str, after: str | None = None, limit: int | None = None, name: str | None = None
) -> list[DocumentRow]:
    """A collection's documents by name: those behind `after` whose name has `name` in it, in capitals or not, up to `limit`."""
    collection(connection, collection_name)
    found = connection.execute(
        f"SELECT {DOCUMENT} FROM documents WHERE collection = ?1 AND (?2 IS NULL OR name > ?2) ORDER BY name", (collection_name, after)
    )
    # Compared here: SQLite's own idea of capitals ends with the alphabet of English.
    part = (name or "").casefold()
    return list(islice((_document(row) for row in found if part in row[2].casefold()), limit))


def document(connection: sqlite3.Connection, document_id: str) -> DocumentRow:
    found = connection.execute(f"SELECT {DOCUMENT} FROM documents WHERE id = ?", (document_id,)).fetchone()
    if found is None:
        raise UnknownDocument(f"no document {document_id}: it was deleted or replaced; list the collection's documents for those there are")
    return _document(found)


def document_named(connection: sqlite3.Connection, collection: str, name: str) -> DocumentRow | None:
    query = f"SELECT {DOCUMENT} FROM documents WHERE collection = ? AND name = ?"
    found = connection.execute(query, (collection, name)).fetchone()
    return None if found is None else _document(found)


def chunks(connection: sqlite3.Connection, ids: Sequence[int]) -> list[Chunk]:
    """The chunks in the order of `ids`; an id that is no longer there is left out."""
    wanted = json.dumps([int(chunk_id) for chunk_id in ids])
    refs: dict[int, list[PageRef]] = {}
    owned = connection.execute(
        "SELECT chunk, key, rows FROM chunk_pages JOIN pages ON key = page WHERE chunk IN (SELECT value FROM json_each(?)) "
        "ORDER BY chunk, position",
        (wanted,),
    )
    for chunk_id, key, rows in owned:
        refs.setdefault(chunk_id, []).append(PageRef(key, parse_rows(rows)))
    found = connection.execute(
        'SELECT id, document, ordinal, text, start, "end", heading, source_page FROM chunks WHERE id IN (SELECT value FROM json_each(?))',
        (wanted,),
    )
    known = {row[0]: replace(Chunk(*row), pages=tuple(refs.get(row[0], ()))) for row in found}
    return [known[chunk_id] for chunk_id in ids if chunk_id in known]


def chunks_of(connection: sqlite3.Connection, document_id: str) -> list[Chunk]:
    """A document's chunks by ordinal."""
    document(connection, document_id)
    found = connection.execute("SELECT id FROM chunks WHERE document = ? ORDER BY ordinal", (document_id,))
    return chunks(connection, [row[0] for row in found])


def chunk_ids_of_page(connection: sqlite3.Connection, key: str) -> list[int]:
    """Ids, ascending, of all chunks that own the page; none for a page that is not there."""
    return [row[0] for row in connection.execute("SELECT DISTINCT chunk FROM chunk_pages WHERE page = ? ORDER BY chunk", (key,))]


def page(connection: sqlite3.Connection, key: str) -> PageRow:
    found = connection.execute("SELECT key, width, height, lines, rows, kind FROM pages WHERE key = ?", (key,)).fetchone()
    if found is None:
        raise UnknownPage(f"no page {key}: its document was deleted or replaced")
    return _page(found)


def pages(connection: sqlite3.Connection, keys: Collection[str]) -> list[PageRow]:
    """Those of these pages that are there, by key."""
    found = connection.execute(
        "SELECT key, width, height, lines, rows, kind FROM pages WHERE key IN (SELECT value FROM json_each(?)) ORDER BY key",
        (json.dumps(list(keys)),),
    )
    return [_page(row) for row in found]


def all_pages(connection: sqlite3.Connection) -> list[PageRow]:
    return [_page(row) for row in connection.execute("SELECT key, width, height, lines, rows, kind FROM pages ORDER BY key")]


def page_keys(connection: sqlite3.Connection, name: str | None) -> set[str]:
    """Keys of all pages, or of those that a collection's chunks own."""
    if name is None:
        return {row[0] for row in connection.execute("SELECT key FROM pages")}
    collection(connection, name)
    found = connection.execute(
        "SELECT DISTINCT page FROM chunk_pages JOIN chunks ON chunks.id = chunk JOIN documents ON documents.id = document "
        "WHERE collection = ?",
        (name,),
    )
    return {row[0] for row in found}


def pending(connection: sqlite3.Connection) -> Pending:
    """What deletions have noted, by kind, sorted: a slash tells an index or an upload from a page image."""
    found = [row[0] for row in connection.execute("SELECT key FROM removals ORDER BY key")]
    named = {kind: tuple(key.partition("/")[2] for key in found if key.startswith(f"{kind}/")) for kind in ("index", "spool")}
    return Pending(tuple(key for key in found if "/" not in key), named["index"], named["spool"])


def counts(connection: sqlite3.Connection, name: str | None) -> Counts:
    """Of the whole catalogue, or of one collection."""
    if name is None:
        found = connection.execute(
            "SELECT (SELECT count(*) FROM collections), (SELECT count(*) FROM documents), (SELECT count(*) FROM chunks), "
            "(SELECT count(*) FROM pages)"
        ).fetchone()
        return Counts(found[0], found[1], found[2], found[3], by_state(connection))
    collection(connection, name)
    found = connection.execute(
        "SELECT count(DISTINCT documents.id), count(DISTINCT chunks.id), count(DISTINCT page) FROM documents "
        "LEFT JOIN chunks ON document = documents.id LEFT JOIN chunk_pages ON chunk = chunks.id WHERE collection = ?",
        (name,),
    ).fetchone()
    return Counts(1, found[0], found[1], found[2], by_state(connection, name))


def vectors(connection: sqlite3.Connection, name: str) -> tuple[Ids, Vectors]:
    """Chunk ids [n], ascending, and their vectors [n, dimension]."""
    dimension = collection(connection, name).dimension
    found = connection.execute(
        "SELECT chunks.id, vector FROM chunks JOIN documents ON documents.id = document WHERE collection = ? ORDER BY chunks.id", (name,)
    ).fetchall()
    ids = np.array([row[0] for row in found], dtype=np.int64)
    # copy: a view of the joined bytes could not be written to, and torch and faiss complain about such arrays.
    return ids, np.frombuffer(b"".join(row[1] for row in found), dtype="<f4").reshape(len(found), dimension).copy()


def faults(connection: sqlite3.Connection) -> list[str]:
    """SQLite's own checks, and what its constraints cannot say: counts, vectors of the collection's dimension and of unit length."""
    found = [f"SQLite: {row[0]}" for row in connection.execute("PRAGMA integrity_check") if row[0] != "ok"]
    found += [f"a row of {row[0]} refers to a row of {row[2]} that is not there" for row in connection.execute("PRAGMA foreign_key_check")]
    counted = connection.execute(
        "SELECT documents.id, documents.chunks, count(DISTINCT chunks.id), documents.pages, count(page) FROM documents "
        "LEFT JOIN chunks ON document = documents.id LEFT JOIN chunk_pages ON chunk = chunks.id GROUP BY documents.id"
    )
    for name, chunks_said, chunks_there, pages_said, pages_there in counted:
        if (chunks_said, pages_said) != (chunks_there, pages_there):
            told = f"{chunks_said} chunks on {pages_said} pages and has {chunks_there} on {pages_there}"
            found.append(f"document {name} says that it has {told}")
    unowned = connection.execute("SELECT key FROM pages WHERE key NOT IN (SELECT page FROM chunk_pages)")
    found += [f"page {row[0]} belongs to no chunk" for row in unowned]
    for row in collections(connection):
        wrong = connection.execute(
            "SELECT count(*) FROM chunks JOIN documents ON documents.id = document WHERE collection = ? AND length(vector) != ?",
            (row.name, 4 * row.dimension),
        ).fetchone()[0]
        if wrong:
            found.append(f"{wrong} vectors of collection {row.name} have not its {row.dimension} numbers")
            continue
        lengths = np.linalg.norm(vectors(connection, row.name)[1], axis=1)
        if len(lengths) and np.abs(lengths - 1).max() > 1e-3:
            found.append(f"{int((np.abs(lengths - 1) > 1e-3).sum())} vectors of collection {row.name} are not of unit length")
    return found


def dump(connection: sqlite3.Connection) -> Iterator[str]:
    """One JSON line a content row, in an order that depends on the content alone; a vector is shown by its SHA-256."""
    tables = {
        # Whether it is pinned is a wish, not content.
        "collections": "SELECT name, identity, embedder, dimension, model FROM collections ORDER BY name",
        "documents": "SELECT * FROM documents ORDER BY id",
        "chunks": "SELECT * FROM chunks ORDER BY id",
        "pages": "SELECT * FROM pages ORDER BY key",
        "chunk_pages": "SELECT * FROM chunk_pages ORDER BY chunk, position",
    }
    for table, query in tables.items():
        for row in connection.execute(query):
            cells = [hashlib.sha256(cell).hexdigest() if isinstance(cell, bytes) else cell for cell in row]
            yield json.dumps([table, *cells], ensure_ascii=False)


def parse_rows(text: str) -> dict[int, int]:
    """Rows per DPI as stored: JSON knows only strings for keys."""
    return {int(dpi): rows for dpi, rows in json.loads(text).items()}


def _all(limit: int | None) -> int:
    return -1 if limit is None else limit


def _page(row: tuple[Any, ...]) -> PageRow:
    lines = tuple((text, x0, y0, x1, y1) for text, x0, y0, x1, y1 in json.loads(row[3]))
    return PageRow(row[0], row[1], row[2], lines, parse_rows(row[4]), row[5])


def _document(row: tuple[Any, ...]) -> DocumentRow:
    return replace(DocumentRow(*row), notes=tuple(json.loads(row[-1])))
