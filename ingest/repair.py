"""A collection goes in; the keys of the page images that had to be compiled again come out: missing, or not the bytes that were written."""

from __future__ import annotations

from collections.abc import Callable

from cache_compiler.errors import CorruptCache
from renderer.types import image_key

from .leaves import compile_missing, lay_out, missing_keys
from .types import Progress, Stage
from .workshop import Workshop


def repair(
    workshop: Workshop,
    collection: str,
    document_id: str | None = None,
    progress: Callable[[Progress], None] = lambda _: None,
    cancelled: Callable[[], bool] = lambda: False,
) -> tuple[str, ...]:
    """Check every cache of a collection (or of one document) against its checksum, and compile again what is damaged or missing."""
    workshop.collection(collection)
    documents = [workshop.catalogue.document(document_id)] if document_id else workshop.catalogue.documents(collection)
    mended: list[str] = []
    for document in documents:
        chunks = workshop.catalogue.chunks_of(document.id)
        keys = sorted({image_key(page.key, dpi) for chunk in chunks for page in chunk.pages for dpi in workshop.dpis})
        for key in keys:
            if workshop.store.has(key) and not _sound(workshop, key):
                workshop.store.remove(key)
        if missing_keys(keys, workshop):
            leaves = lay_out(chunks, workshop, _step(progress, document.name, "rasterise"), cancelled)
            mended += compile_missing(leaves, workshop, _step(progress, document.name, "compile"), cancelled)
    with workshop.home.writing():
        workshop.store.seal()
    return tuple(mended)


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
