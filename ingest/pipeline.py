"""Walk 1, ingest: paths go in, a `Report` comes out, and every document that went in can be asked.

    load       path          -> Document       in a child process, with limits
    ocr        scans         -> native pages   developed in a child process; a picture is a page image already
    chunk      Document      -> [Chunk]        sized to fill pages
    paginate   Chunk.text    -> [Page]         once, in points
    rasterise  Page x DPIs   -> [PageImage]
    compile    [PageImage]   -> [Canonical]    batched; skipped when the key is already in the store
    store      write, flush, rename; checksummed
    patch      page, those before it -> [Patch] one conditioned forward each; skipped when it is already in the store
    index      embeddings and catalogue rows: one transaction
    manifest   last of all

Everything is keyed by content: run it again after a crash, and only what is missing is done.
"""

from __future__ import annotations

import hashlib
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from cache_compiler.errors import CacheError
from cache_compiler.patch import PatchKey
from renderer import describe_undrawable, undrawable
from renderer.errors import RendererError
from renderer.types import image_key
from retrieval.errors import NameTaken, RetrievalError, UnknownCollection, UnknownPage
from retrieval.index import VectorIndex
from retrieval.types import DocumentRow
from retrieval.vectors import Vectors

from .chunk import chunk
from .errors import Cancelled, IngestError, NoRoom, UnsupportedType
from .evict import evict
from .gather import gather
from .leaves import Leaves, compile_missing, lay_out, missing_keys
from .load import KINDS, load
from .names import document_name
from .natives import take_natives
from .ocr import why_not
from .patching import form, pages_of, policy_keys
from .remove import remove_files
from .room import make_room, needed
from .types import Document, Done, Failure, Progress, Report, Stage
from .workshop import Workshop

Listener = Callable[[Progress], None]
Stop = Callable[[], bool]

# What a file may fail with, as a line of a report. Cancelled is one of them, and ends the run: ask for it first.
FAILURES = (IngestError, RendererError, CacheError, RetrievalError, OSError)

# How often a document is made anew whose pictures another process's tidying has taken before they were its own.
_ATTEMPTS = 3


def ingest(
    paths: Sequence[Path],
    collection: str,
    workshop: Workshop,
    progress: Listener = lambda _: None,
    cancelled: Stop = lambda: False,
    replace: bool = False,
) -> Report:
    """Take files, folders and zips into a collection. A file that fails is a line of the report, never the end of the run; the collection is
    made with its first document, so a run in which all fail leaves none.

    Raises IdentityMismatch or EmbedderMismatch when the collection was made for another model, before anything is read.
    """
    begun = time.perf_counter()
    if _is_there(workshop, collection):
        workshop.collection(collection)
    workshop.home.sweep()
    done: list[Done] = []
    skipped: list[str] = []
    failed: list[Failure] = []
    passed: list[str] = []
    stopped = False
    try:
        with tempfile.TemporaryDirectory(prefix="quire-ingest-") as folder:
            for found in gather(paths, workshop.limits, Path(folder), cancelled):
                try:
                    if found.error is not None:
                        raise found.error
                    name = document_name(found.name)
                    outcome = ingest_file(found.path, name, found.source, collection, workshop, progress, cancelled, replace)
                except Cancelled:
                    raise
                except FAILURES as error:
                    if isinstance(error, UnsupportedType) and not found.named and Path(found.name).suffix.lower() not in KINDS:
                        passed.append(found.name)  # it lay in the folder
                        continue
                    failed.append(failure(found.name, error))
                    progress(Progress(found.name, "failed", detail={"reason": failed[-1].reason}))
                else:
                    if outcome is None:
                        skipped.append(name)
                        progress(Progress(name, "skipped"))
                    else:
                        done.append(outcome)
                        progress(Progress(name, "done"))
                finally:
                    if found.unpacked:
                        found.path.unlink(missing_ok=True)
    except Cancelled:
        stopped = True
    finish_run(workshop, collection)
    return Report(collection, tuple(done), tuple(skipped), tuple(failed), tuple(passed), stopped, time.perf_counter() - begun)


def finish_run(workshop: Workshop, collection: str) -> None:
    """Bring the index up to the catalogue, then write the manifest: last of all. Of a collection that nothing went into there is none."""
    if not _is_there(workshop, collection):
        return
    VectorIndex.open_or_build(workshop.home.index_folder, workshop.catalogue, collection)
    with workshop.home.writing():
        workshop.store.seal()
    if workshop.disk_bytes is not None:
        evict(workshop, workshop.disk_bytes, workshop.planned())


def ingest_file(
    path: Path, name: str, source: str, collection: str, workshop: Workshop, progress: Listener, cancelled: Stop, replace: bool = False
) -> Done | None:
    """The walk for one file; None when the very same file is in the collection already, whole.

    Raises the rooms' errors; NameTaken when another file holds the name (`replace` takes its place instead).
    """
    begun = time.perf_counter()

    def step(stage: Stage) -> Callable[[int, int], None]:
        return lambda done, total: progress(Progress(name, stage, done, total))

    step("load")(0, 0)
    if cancelled():
        raise Cancelled("stopped on request")
    digest = digest_of(path, workshop.limits.file_bytes)
    before = workshop.catalogue.document_named(collection, name)
    if before is not None and before.sha256 == digest and is_whole(before, workshop):
        return None
    if before is not None and before.sha256 != digest and before.source != source and not replace:
        raise NameTaken(
            f"{name}: another file of this name is in collection {collection!r}; rename this one, delete that one, or replace it"
        )

    document = load(path, name, source, workshop.limits, cancelled, workshop.pdf_engine)
    own_id = document_id(collection, name, document.sha256)

    def make(step: Callable[[Stage], Callable[[int, int], None]]) -> _Made:
        return _made(path, document, own_id, workshop, step, cancelled)

    made = make(step)
    leaves, compiled, patched = made.leaves, made.compiled, made.patched
    step("index")(0, 0)
    vectors = workshop.embedder.embed_passages([piece.text for piece in leaves.chunks])
    row = _row(made.document, own_id, collection, leaves, workshop)
    replaces = before.id if before is not None else None
    _commit(row, leaves, vectors, workshop, replaces, lambda: make(lambda _: lambda *_: None), cancelled)
    images = len(leaves.pages) * len(workshop.dpis)
    return Done(
        name=name,
        document=own_id,
        chunks=len(leaves.chunks),
        pages=len(leaves.pages),
        compiled=len(compiled),
        reused=images - len(compiled),
        seconds=time.perf_counter() - begun,
        notes=row.notes,
        patches=len(patched),
    )


def document_id(collection: str, name: str, sha256: str) -> str:
    """The same bytes under the same name in the same collection are the same document."""
    return hashlib.sha256("\0".join((collection, name, sha256)).encode()).hexdigest()[:16]


@dataclass(frozen=True)
class _Made:
    """A document with all that is derived from it: kept in the stores, and not in the catalogue yet."""

    document: Document
    leaves: Leaves
    compiled: tuple[str, ...]
    patched: tuple[PatchKey, ...]


def _made(
    path: Path,
    document: Document,
    document_id: str,
    workshop: Workshop,
    step: Callable[[Stage], Callable[[int, int], None]],
    cancelled: Stop,
) -> _Made:
    """Everything between a loaded document and its rows. The images of native pages belong to nobody until then: where a process that tidies
    has taken one, they are developed again."""
    for attempt in range(1, _ATTEMPTS + 1):
        whole, natives, pages = take_natives(path, document, workshop, step("rasterise" if why_not(workshop.ocr) else "ocr"), cancelled)
        step("chunk")(0, 0)
        chunks = chunk(whole, document_id, workshop.style, workshop.limits, natives)
        try:
            leaves = lay_out(chunks, workshop, step("rasterise"), cancelled, pages)
            _require_room(document.name, leaves, workshop)
            compiled = compile_missing(leaves, workshop, step("compile"), cancelled)
            patched = form(workshop, policy_keys(workshop, pages_of(leaves.chunks)), step("patch"), cancelled, leaves.pages)
        except UnknownPage:
            if not natives or attempt == _ATTEMPTS:
                raise
        else:
            return _Made(whole, leaves, compiled, patched)
    raise AssertionError("the last attempt returns or raises")


def _require_room(name: str, leaves: Leaves, workshop: Workshop) -> None:
    try:
        make_room(workshop, needed(leaves, workshop), workshop.planned())
    except NoRoom as error:
        raise NoRoom(f"{name}: {error}") from error


def _commit(
    row: DocumentRow,
    leaves: Leaves,
    vectors: Vectors,
    workshop: Workshop,
    replaces: str | None,
    again: Callable[[], object],
    cancelled: Stop,
) -> None:
    """Write the catalogue's rows while holding the writer's lock. Of a page that somebody's deletion has taken meanwhile all is made `again`."""
    patches = policy_keys(workshop, pages_of(leaves.chunks))
    while True:
        with workshop.home.writing():
            # Under the lock, for a deletion holds it too: of a job that it took nothing may come behind it.
            if cancelled():
                raise Cancelled("stopped on request; what was compiled is kept, run it again to go on")
            if not missing_keys(leaves.image_keys(workshop.dpis), workshop) and all(map(workshop.store.patches.has, patches)):
                workshop.collection(row.collection, create=True)
                workshop.catalogue.add_document(row, leaves.chunks, vectors, leaves.rows(), replaces=replaces)
                remove_files(workshop)
                return
        again()


def _row(document: Document, document_id: str, collection: str, leaves: Leaves, workshop: Workshop) -> DocumentRow:
    missing_glyphs = describe_undrawable(undrawable(document.text, workshop.style), workshop.style)
    return DocumentRow(
        id=document_id,
        collection=collection,
        name=document.name,
        source=document.source,
        sha256=document.sha256,
        bytes=document.bytes,
        media=document.media,
        chars=len(document.text) + sum(len(page.text) for page in leaves.pages if page.native),
        chunks=len(leaves.chunks),
        pages=len(leaves.pages),
        notes=(*document.notes, *([missing_glyphs] if missing_glyphs else [])),
    )


def is_whole(row: DocumentRow, workshop: Workshop) -> bool:
    """Whether every page image of a document in the catalogue still has its cache and its PNG; with `disk_bytes` set, its PNG.

    Patches are not asked for: who has dropped them, or changed the policy, has not changed the file. `quire patch form` forms them.
    """
    refs = [page for piece in workshop.catalogue.chunks_of(row.id) for page in piece.pages]
    keys = {image_key(ref.key, dpi) for ref in refs for dpi in workshop.dpis}
    if workshop.disk_bytes is not None:
        # A cache that was evicted is compiled when a question needs it; here it would only take another one's room.
        return all(map(workshop.images.has, keys))
    return not missing_keys(keys, workshop)


def _is_there(workshop: Workshop, collection: str) -> bool:
    try:
        workshop.catalogue.collection(collection)
    except UnknownCollection:
        return False
    return True


def digest_of(path: Path, limit: int) -> str:
    """SHA-256 of the file, so that an unchanged one is known before it is parsed; a file over the limit is left to `load` to refuse."""
    if path.exists() and not path.is_file():
        return ""  # so are pipes and devices: to open one may mean to wait for ever
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        while (block := stream.read(1 << 20)) and stream.tell() <= limit:
            digest.update(block)
    return digest.hexdigest()


def failure(name: str, error: Exception) -> Failure:
    """The line of a report for a file that failed; what the system says of a path stays out of it."""
    if isinstance(error, FileNotFoundError):
        return Failure(name, "FileNotFound", f"{name}: there is no such file")
    if isinstance(error, OSError):
        return Failure(name, "Unreadable", f"{name}: {error.strerror or error}")
    return Failure(name, type(error).__name__, str(error), getattr(error, "place", ""))
