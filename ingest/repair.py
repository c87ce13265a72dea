"""A collection goes in; what had to be made again comes out: caches and patches that were missing, or not the bytes that were written."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from PIL import Image

from cache_compiler.errors import CorruptCache
from cache_compiler.patch import PatchKey
from renderer.types import image_key

from .leaves import compile_missing, lay_out, lost_pictures, missing_keys
from .patching import drop_damaged, form, pages_of, policy_keys
from .types import Progress, Stage
from .workshop import Workshop


@dataclass(frozen=True)
class Repaired:
    """Page images compiled again; patches formed, again or for the first time, as the policy wants them; and how many damaged patch files
    went. A damaged patch that the policy does not ask for is not formed again: `quire patch form` does that, and `hot` in time.

    `lost`: a sentence for each picture of a native page that is not kept any more and cannot be drawn: which file to ingest again. A cache of
    it that is there still answers."""

    pages: tuple[str, ...] = ()
    patches: tuple[PatchKey, ...] = ()
    dropped: int = 0
    lost: tuple[str, ...] = ()


def repair(
    workshop: Workshop,
    collection: str,
    document_id: str | None = None,
    progress: Callable[[Progress], None] = lambda _: None,
    cancelled: Callable[[], bool] = lambda: False,
) -> Repaired:
    """Check every cache and every patch of a collection (or of one document) against its checksum, and make again what is damaged or missing.

    Raises Cancelled between two patches or batches; what was mended by then is kept.
    """
    workshop.collection(collection)
    documents = [workshop.catalogue.document(document_id)] if document_id else workshop.catalogue.documents(collection)
    mended: list[str] = []
    formed: list[PatchKey] = []
    dropped = 0
    lost: dict[str, str] = {}
    for document in documents:
        chunks = workshop.catalogue.chunks_of(document.id)
        keys = sorted({image_key(page.key, dpi) for page in pages_of(chunks) for dpi in workshop.dpis})
        for key in keys:
            if workshop.store.has(key) and not _sound(workshop, key):
                workshop.store.remove(key)
            if not _drawn(workshop.images.path(key)):
                workshop.images.path(key).unlink(missing_ok=True)
        gone = lost_pictures(chunks, workshop)
        lost |= gone
        if missing_keys(keys, workshop):
            left = [piece for piece in chunks if not any(image_key(page.key, dpi) in gone for page in piece.pages for dpi in workshop.dpis)]
            leaves = lay_out(left, workshop, _step(progress, document.name, "rasterise"), cancelled)
            mended += compile_missing(leaves, workshop, _step(progress, document.name, "compile"), cancelled)
        dropped += drop_damaged(workshop, keys)
        wanted = [key for key in policy_keys(workshop, pages_of(chunks)) if gone.keys().isdisjoint(key.pages)]
        formed += form(workshop, wanted, _step(progress, document.name, "patch"), cancelled)
    with workshop.home.writing():
        workshop.store.seal()
    return Repaired(tuple(mended), tuple(formed), dropped, tuple(lost.values()))


def _step(progress: Callable[[Progress], None], name: str, stage: Stage) -> Callable[[int, int], None]:
    return lambda done, total: progress(Progress(name, stage, done, total))


def _sound(workshop: Workshop, key: str) -> bool:
    # From disk, not from memory: the copy in memory was sound when it was read.
    workshop.store.ram.drop(key)
    try:
        workshop.store.get(key)
    except CorruptCache:
        return False
    return True


def _drawn(path: Path) -> bool:
    """Whether a PNG can be read; one that is not there is missing, not damaged."""
    try:
        with Image.open(path) as found:
            found.load()
    except FileNotFoundError:
        return True
    except (OSError, SyntaxError, ValueError):  # Pillow's PNG reader speaks of damage with all three
        return False
    return True
