"""A document's id goes in; the receipt of its removal comes out: rows, vectors, caches, images and patches, listed and gone.

A patch goes when any page goes that it knows something of: its own, or one that it was given.

The catalogue's rows go in one transaction, which also notes the pages whose files must follow. The files go next. A crash
between the two is mended when the home is opened again: the notes are still there.
"""

from __future__ import annotations

from collections.abc import Sequence
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
    if not keys:
        return (), 0
    patches, size = _remove_patches(workshop, keys)
    removed = list(patches)
    for key in keys:
        for path in workshop.home.derived_files(key):
            size += path.stat().st_size
            path.unlink()
            removed.append(str(path.relative_to(workshop.home.root)))
        workshop.store.ram.drop(key)  # behind the file, as `CacheStore.remove` does
    workshop.catalogue.clear_removals(keys)
    return tuple(removed), size


def remove_orphans(workshop: Workshop) -> tuple[str, ...]:
    """Remove caches, images and patches of pages that no document owns: what a cancelled or failed document had already made. Returns
    the files.

    Another process's ingest may lose pages that it has not committed yet; it finds that out when it commits, and makes them again.
    """
    with workshop.home.writing():
        owned = workshop.catalogue.page_keys()
        strangers = {key for files in workshop.home.patch_files() for key in files.pages() if key.partition("@")[0] not in owned}
        removed = list(_remove_patches(workshop, sorted(strangers))[0])
        for files in workshop.home.patch_files():
            files.sweep()
        for path in workshop.home.page_files():
            if path.name.partition("@")[0] not in owned:
                path.unlink()
                workshop.store.ram.drop(path.stem)
                removed.append(str(path.relative_to(workshop.home.root)))
    return tuple(removed)


def _remove_patches(workshop: Workshop, keys: Sequence[str]) -> tuple[tuple[str, ...], int]:
    """Of all models, and from memory those of the loaded one."""
    removed, size = [], 0
    for files in workshop.home.patch_files():
        own = workshop.store.patches
        gone, freed = own.remove_pages(keys) if files.folder == own.folder else files.remove_pages(keys)
        removed += [str(path.relative_to(workshop.home.root)) for path in gone]
        size += freed
    return tuple(removed), size
