"""A document's id goes in; the receipt of its removal comes out: rows, vectors, caches and images, listed and gone.

The catalogue's rows go in one transaction, which also notes the pages whose files must follow. The files go next. A crash
between the two is mended when the home is opened again: the notes are still there.
"""

from __future__ import annotations

from dataclasses import dataclass

from retrieval.index import VectorIndex
from retrieval.types import Receipt

from .workshop import Workshop


@dataclass(frozen=True)
class Removal:
    """The receipt: what the catalogue removed, and the files (relative to the home) and bytes that went with it."""

    receipt: Receipt
    files: tuple[str, ...]
    bytes: int


def remove_document(workshop: Workshop, document_id: str) -> Removal:
    """Remove a document and everything derived from it; pages that another document owns live on. Raises UnknownDocument."""
    collection = workshop.catalogue.document(document_id).collection
    with workshop.home.writing():
        receipt = workshop.catalogue.delete_document(document_id)
        files, size = remove_files(workshop)
        workshop.store.seal()
    # The index file still has the vectors; the next question would write it anew, but there may be none.
    VectorIndex.open_or_build(workshop.home.index_folder, workshop.catalogue, collection)
    return Removal(receipt, files, size)


def finish_removals(workshop: Workshop) -> None:
    """Remove the files of deletions that a crash has interrupted. Cheap when there are none."""
    if workshop.catalogue.pending_removals():
        with workshop.home.writing():
            remove_files(workshop)


def remove_files(workshop: Workshop) -> tuple[tuple[str, ...], int]:
    """Call it only while holding the writer's lock: nobody may take up a page that is about to go."""
    keys = workshop.catalogue.pending_removals()
    removed, size = [], 0
    for key in keys:
        for path in workshop.home.derived_files(key):
            size += path.stat().st_size
            path.unlink()
            removed.append(str(path.relative_to(workshop.home.root)))
        workshop.store.ram.drop(key)  # behind the file, as `CacheStore.remove` does
    workshop.catalogue.clear_removals(keys)
    return tuple(removed), size


def remove_orphans(workshop: Workshop) -> tuple[str, ...]:
    """Remove caches and images that no document owns: what a cancelled or failed document had already made. Returns the files.

    Another process's ingest may lose pages that it has not committed yet; it finds that out when it commits, and makes them again.
    """
    with workshop.home.writing():
        owned = workshop.catalogue.page_keys()
        removed = []
        for path in workshop.home.page_files():
            if path.name.partition("@")[0] not in owned:
                path.unlink()
                workshop.store.ram.drop(path.stem)
                removed.append(str(path.relative_to(workshop.home.root)))
    return tuple(removed)
