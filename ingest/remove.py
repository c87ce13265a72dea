"""A document's id goes in, or a collection's name; the receipt of its removal comes out: rows, vectors, caches, images, patches, indexes,
uploads and jobs, listed and gone.

A patch goes when any page goes that it knows something of: its own, or one that it was given; a basis when one of those it was pooled over.

The catalogue's rows go in one transaction, which also notes the files that must follow. The files go next. A crash between the two is mended
when the home is opened again: the notes are still there. A file that cannot be removed keeps no other one; it is named, and its note stays.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from cache_compiler.files import sweep, unlink
from retrieval.index import remove_index
from retrieval.jobs import Forgotten
from retrieval.types import Receipt

from .shelf import Shelf

# Bytes of a catalogue that every deletion writes anew, which takes a moment; a larger one waits for a quiet hour.
SMALL = 64 * 1024**2


@dataclass(frozen=True)
class Gone:
    """Files (relative to the home) that went, their bytes, how many of each kind, and those that could not be removed, with the reason."""

    files: tuple[str, ...] = ()
    bytes: int = 0
    kinds: Mapping[str, int] = field(default_factory=dict)
    left: tuple[str, ...] = ()


@dataclass(frozen=True)
class Removal:
    """The receipt: what the catalogue removed, and the files (relative to the home) and bytes that went with it.

    `artefacts` counts all of it by kind: documents, chunks, vectors, pages, jobs, requests; caches, images, patches, bases, indexes,
    uploads; memory (caches that were in this process's memory). `left`: what could not be removed now, and is tried again.
    """

    receipt: Receipt
    files: tuple[str, ...]
    bytes: int
    artefacts: Mapping[str, int] = field(default_factory=dict)
    left: tuple[str, ...] = ()


def remove_document(shelf: Shelf, document_id: str) -> Removal:
    """Remove a document and everything derived from it; pages that another document owns live on. Raises UnknownDocument, HomeBusy."""
    with shelf.home.writing():
        receipt = shelf.catalogue.delete_document(document_id)
        gone = remove_files(shelf)
        _seal(shelf)
    return _removal(receipt, gone, _file_left(shelf))


def remove_collection(shelf: Shelf, name: str) -> tuple[Removal, ...]:
    """Remove a collection with all its documents, and the uploads that wait for it. A receipt for each document;
    where jobs or requests belonged to none, or there was no document, a closing one without a document, under the collection's name, has these.
    The last receipt has the files, which are removed together. Raises UnknownCollection, HomeBusy."""
    with shelf.home.writing():
        receipts, rest = shelf.catalogue.delete_collection(name)
        if rest != Forgotten() or not receipts:
            receipts += (Receipt("", name, 0, 0, (), (), rest.jobs, rest.spools, rest.uploads, name),)
        gone = remove_files(shelf)
        _seal(shelf)
    return tuple(
        _removal(receipt, gone if last else Gone(), _file_left(shelf) if last else ())
        for receipt, last in ((receipt, receipt is receipts[-1]) for receipt in receipts)
    )


def finish_removals(shelf: Shelf) -> Gone:
    """Remove the files of deletions that a crash has interrupted. Cheap when there are none."""
    if not shelf.catalogue.pending().any:
        return Gone()
    with shelf.home.writing():
        return remove_files(shelf)


def remove_files(shelf: Shelf) -> Gone:
    """Remove what deletions have noted. Call it only while holding the writer's lock: nobody may take up a page that is about to go."""
    pending = shelf.catalogue.pending()
    taking = _Taking(shelf)
    for key in pending.images:
        taking.page(key)
    for collection in pending.indexes:
        # Unlinked, not built anew: the next question does that, and there may be none.
        taking.noted("indexes", f"index/{collection}", partial(remove_index, shelf.home.index_folder, collection))
    for file in pending.uploads:
        taking.noted("uploads", f"spool/{file}", partial(unlink, shelf.home.spool / file))
    shelf.catalogue.clear_removals(taking.settled)
    return taking.gone()


def remove_orphans(shelf: Shelf, among: Collection[str] | None = None) -> tuple[str, ...]:
    """Remove caches, images and patches of pages that no document owns: what a cancelled or failed document had already made; `among`: of these
    image keys alone. Returns the files.

    Another process's ingest may lose pages that it has not committed yet; it finds that out when it commits, and makes them again.
    """
    return take_orphans(shelf, among).files


def take_orphans(shelf: Shelf, among: Collection[str] | None = None) -> Gone:
    """The same, with all that went."""
    with shelf.home.writing():
        taking = _Taking(shelf)
        for key in orphans(shelf):
            if among is None or key in among:
                taking.page(key)
        for files in shelf.home.patch_files():
            files.sweep()
    return taking.gone()


def orphans(shelf: Shelf) -> list[str]:
    """Image keys, sorted, that files are of and no document."""
    owned = shelf.catalogue.page_keys()
    keys = {path.name.partition(".")[0] for path in shelf.home.page_files()}
    keys.update(key for files in shelf.home.patch_files() for key in files.pages())
    return sorted(key for key in keys if key.partition("@")[0] not in owned)


class _Taking:
    """Files on their way out: what went, and what could not."""

    def __init__(self, shelf: Shelf) -> None:
        self.shelf = shelf
        # What the catalogue need not remember any longer.
        self.settled: list[str] = []
        self._files: list[tuple[Path, int]] = []
        self._kinds: Counter[str] = Counter()
        self._left: list[str] = []

    def page(self, key: str) -> None:
        """Everything derived from a page image, of all models, and what memory has of it."""
        home, store = self.shelf.home, self.shelf.store
        for files in home.patch_files():
            own = store is not None and files.folder == store.patches.folder
            taken = self._tried(partial(store.patches.remove_pages if own and store is not None else files.remove_pages, [key]))
            for path, _ in taken:
                self._kinds["bases" if path.parent == files.bases_folder else "patches"] += 1
        for path in home.own_files(key):
            self._kinds["images" if path.suffix == ".png" else "caches"] += len(self._tried(partial(unlink, path)))
            sweep(path.parent)
        if store is not None:
            # Behind the file, as `CacheStore.remove` does.
            self._kinds["memory"] += store.ram.drop(key)
        if home.derived_files(key):
            self._left.append(f"{key}: not all of its files could be removed")
        else:
            self.settled.append(key)

    def noted(self, kind: str, note: str, remove: Callable[[], list[tuple[Path, int]]]) -> None:
        """What the catalogue has noted under another word than a page image's key."""
        before = len(self._left)
        self._kinds[kind] += len(self._tried(remove))
        if len(self._left) == before:
            self.settled.append(note)

    def gone(self) -> Gone:
        root = self.shelf.home.root
        named = tuple(dict.fromkeys(str(path.relative_to(root)) for path, _ in self._files))
        return Gone(named, sum(size for _, size in self._files), dict(self._kinds), tuple(dict.fromkeys(self._left)))

    def _tried(self, remove: Callable[[], list[tuple[Path, int]]]) -> list[tuple[Path, int]]:
        try:
            gone = remove()
        except OSError as error:
            # A folder where a file should be, a file that is not ours to remove: no reason to keep the others.
            self._left.append(f"{Path(error.filename or '').name}: {error.strerror or error}")
            return []
        self._files += gone
        return gone


def _seal(shelf: Shelf) -> None:
    if shelf.store is not None:
        shelf.store.seal()


def _file_left(shelf: Shelf) -> tuple[str, ...]:
    """The catalogue's file and its log hold bytes of what was deleted until the one is written anew and the other cut. A large file waits for a
    quiet hour; a long reader, such as a backup, may keep the log."""
    anew = shelf.catalogue.rewrite(SMALL)
    cut = shelf.catalogue.empty_log()
    return (
        *(() if anew else ("catalogue.sqlite: it is written anew within the hour by a server, or now by `quire gc`",)),
        *(() if cut else ("catalogue.sqlite-wal: a reader holds it; a server empties it soon, or closing does",)),
    )


def _removal(receipt: Receipt, gone: Gone, left: tuple[str, ...]) -> Removal:
    rows = {
        "documents": int(bool(receipt.document)),
        "chunks": receipt.chunks,
        "vectors": receipt.vectors,
        "pages": len(receipt.removed_pages),
        "jobs": len(receipt.jobs),
        "requests": receipt.uploads,
    }
    files = dict.fromkeys(("caches", "images", "patches", "bases", "indexes", "uploads", "memory"), 0)
    return Removal(receipt, gone.files, gone.bytes, {**rows, **files, **gone.kinds}, (*gone.left, *left))
