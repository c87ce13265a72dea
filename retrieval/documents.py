"""A document's rows go in, or its id; afterwards it is there, or gone with a receipt. Runs inside a write transaction of the caller."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Mapping, Sequence

from renderer.types import image_key

from . import content, jobs, words
from .errors import NameTaken, RetrievalError
from .types import Chunk, CollectionRow, DocumentRow, PageRow, Receipt
from .vectors import Vectors, check_rows


def add(
    connection: sqlite3.Connection,
    row: DocumentRow,
    chunks: Sequence[Chunk],
    vectors: Vectors,
    pages: Sequence[PageRow],
    replaces: str | None,
) -> Receipt | None:
    """Write the document; with `replaces`, the old one goes and its receipt comes back.

    The old document's pages are judged only after the new one is in: a page that both have stays and is never waiting for removal.
    """
    collection = content.collection(connection, row.collection)
    old = None if replaces is None else content.document(connection, replaces)
    if old is not None and old.collection != row.collection:
        raise RetrievalError(f"{row.name} of {row.collection} cannot replace {old.name} of {old.collection}: delete that one by itself")
    old_pages = set() if old is None else _remove_rows(connection, old.id)
    _check(connection, row, chunks, pages)
    rows = check_rows(vectors, len(chunks), collection.dimension)

    connection.execute(
        f"INSERT INTO documents ({content.DOCUMENT}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            *(row.id, row.collection, row.name, row.source, row.sha256, row.bytes, row.media, row.chars),
            *(len(chunks), sum(len(chunk.pages) for chunk in chunks), json.dumps(list(row.notes), ensure_ascii=False)),
        ),
    )
    for page in pages:
        _add_page(connection, page)
    for chunk, vector in zip(chunks, rows, strict=True):
        connection.execute(
            "INSERT INTO chunks VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                *(chunk.id, chunk.document, chunk.ordinal, chunk.text, chunk.start, chunk.end, chunk.heading, chunk.source_page),
                vector.tobytes(),
            ),
        )
        owned = [(chunk.id, position, ref.key) for position, ref in enumerate(chunk.pages)]
        connection.executemany("INSERT INTO chunk_pages VALUES (?, ?, ?)", owned)
    words.add(connection, chunks)
    return None if old is None else _receipt(connection, old, old_pages, jobs.forget_refused(connection, old))


def delete(connection: sqlite3.Connection, document_id: str) -> Receipt:
    """Remove the document and the rows of its uploads. Pages that no chunk of any collection owns any more go too, and their image keys
    wait in `removals`."""
    row = content.document(connection, document_id)
    return _receipt(connection, row, _remove_rows(connection, document_id), jobs.forget(connection, row))


def delete_all(connection: sqlite3.Connection, collection: str) -> tuple[tuple[Receipt, ...], jobs.Forgotten]:
    """Remove a collection's documents and every job of it: a receipt for each document, and what belonged to none of them."""
    rows = content.documents(connection, collection)
    uploads, rest = jobs.forget_collection(connection, collection, rows)
    receipts = tuple(_receipt(connection, row, _remove_rows(connection, row.id), uploads.get(row.id, jobs.Forgotten())) for row in rows)
    note(connection, collection, rest.spools)
    return receipts, rest


def add_collection(connection: sqlite3.Connection, row: CollectionRow) -> None:
    connection.execute(
        "INSERT INTO collections VALUES (?, ?, ?, ?, ?, ?)",
        (row.name, _canonical(dict(row.identity)), row.embedder, row.dimension, row.model, int(row.pinned)),
    )


def change_identity(connection: sqlite3.Connection, before: Mapping[str, str], after: Mapping[str, str]) -> list[str]:
    """The names of the collections that had the identity `before`."""
    old, new = _canonical(dict(before)), _canonical(dict(after))
    names = [row[0] for row in connection.execute("SELECT name FROM collections WHERE identity = ?", (old,))]
    connection.execute("UPDATE collections SET identity = ? WHERE identity = ?", (new, old))
    return names


def _check(connection: sqlite3.Connection, row: DocumentRow, chunks: Sequence[Chunk], pages: Sequence[PageRow]) -> None:
    """Say in words what a constraint of the tables would only say by its name."""
    taken = content.document_named(connection, row.collection, row.name)
    if taken is not None:
        raise NameTaken(
            f"{row.name} is in {row.collection} already, from {taken.source} (document {taken.id}): replace it, delete it first, "
            "or give this file another name"
        )
    if connection.execute("SELECT 1 FROM documents WHERE id = ?", (row.id,)).fetchone():
        raise RetrievalError(f"document {row.id} exists already: replace it, or delete it first")
    for chunk in chunks:
        if chunk.document != row.id:
            raise RetrievalError(f"chunk {chunk.id} belongs to document {chunk.document}, not to {row.id}")
    if len({chunk.id for chunk in chunks}) < len(chunks) or len({chunk.ordinal for chunk in chunks}) < len(chunks):
        raise RetrievalError(f"two chunks of {row.name} share an id or an ordinal: number them without gaps or repeats")
    for chunk in content.chunks(connection, [chunk.id for chunk in chunks]):
        raise RetrievalError(f"chunk id {chunk.id} belongs to document {chunk.document} already: ids must be unique in the catalogue")
    owned = {ref.key for chunk in chunks for ref in chunk.pages}
    given = {page.key for page in pages}
    if owned != given:
        raise RetrievalError(
            f"{row.name}: the chunks own the pages {sorted(owned - given)} that are not given, and {sorted(given - owned)} are given "
            "that no chunk owns: give each page of each chunk once"
        )


def _add_page(connection: sqlite3.Connection, page: PageRow) -> None:
    """Write a page, or add its DPIs to the one that is there: the key is a hash of its content, so its size is the same, and so
    are its lines, but for a picture's, which text recognition finds or not."""
    rows: dict[int, int] = {}
    found = connection.execute("SELECT rows FROM pages WHERE key = ?", (page.key,)).fetchone()
    if found is not None:
        rows = content.parse_rows(found[0])
        for dpi in rows.keys() & page.rows.keys():
            if rows[dpi] != page.rows[dpi]:
                raise RetrievalError(
                    f"page {page.key} has {rows[dpi]} rows at {dpi} DPI in the catalogue, {page.rows[dpi]} now: its page style has changed "
                    "without changing the key, so use another catalogue"
                )
    rows.update(page.rows)
    lines = json.dumps([list(line) for line in page.lines], ensure_ascii=False)
    connection.execute(
        # Without text recognition a picture has no lines; taken in again with it, it gets them, and the other way round keeps them.
        "INSERT INTO pages VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (key) DO UPDATE SET rows = excluded.rows, "
        "lines = CASE WHEN excluded.lines = '[]' THEN pages.lines ELSE excluded.lines END",
        (page.key, page.width, page.height, lines, _dump_rows(rows), page.kind),
    )
    # The page is back before its files were removed: they are needed again.
    connection.executemany("DELETE FROM removals WHERE key = ?", [(image_key(page.key, dpi),) for dpi in rows])


def _remove_rows(connection: sqlite3.Connection, document_id: str) -> set[str]:
    """Remove the document, its chunks and their vectors; return the keys of the pages they owned, which stay for now."""
    found = connection.execute("SELECT page FROM chunk_pages JOIN chunks ON id = chunk WHERE document = ?", (document_id,))
    pages = {row[0] for row in found}
    connection.execute("DELETE FROM chunk_pages WHERE chunk IN (SELECT id FROM chunks WHERE document = ?)", (document_id,))
    words.forget(connection, document_id)
    connection.execute("DELETE FROM chunks WHERE document = ?", (document_id,))
    connection.execute("DELETE FROM documents WHERE id = ?", (document_id,))
    return pages


def _receipt(connection: sqlite3.Connection, row: DocumentRow, pages: Iterable[str], uploads: jobs.Forgotten) -> Receipt:
    """Remove the pages without an owner, put their images on the list of files to remove, and say what went."""
    removed: list[str] = []
    shared: list[str] = []
    for key in sorted(pages):
        if content.chunk_ids_of_page(connection, key):
            shared.append(key)
            continue
        images = [(image_key(key, dpi),) for dpi in content.page(connection, key).rows]
        connection.executemany("INSERT OR IGNORE INTO removals VALUES (?)", images)
        connection.executemany("DELETE FROM uses WHERE key = ?", images)
        connection.execute("DELETE FROM pages WHERE key = ?", (key,))
        removed.append(key)
    note(connection, row.collection, uploads.spools)
    return Receipt(
        *(row.id, row.name, row.chunks, row.chunks, tuple(removed), tuple(shared)),
        *(uploads.jobs, uploads.spools, uploads.uploads, row.collection),
    )


def note(connection: sqlite3.Connection, collection: str, spools: Iterable[str]) -> None:
    """Note what else must follow: the index of the collection may hold vectors of what went, an upload its bytes."""
    notes = [f"index/{collection}", *(f"spool/{spool}" for spool in spools)]
    connection.executemany("INSERT OR IGNORE INTO removals VALUES (?)", [(key,) for key in notes])


def _dump_rows(rows: Mapping[int, int]) -> str:
    return json.dumps({str(dpi): rows[dpi] for dpi in sorted(rows)})


def _canonical(facts: Mapping[str, str]) -> str:
    return json.dumps(facts, sort_keys=True, ensure_ascii=False)
