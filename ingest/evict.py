"""A number of bytes goes in; caches and patches go until the home takes no more than that: those least lately used, the large ones first.

    1. caches above the lowest DPI       2. patches of those page images
    3. caches at the lowest DPI          4. their patches

Only what can be made again goes: a cache is compiled from the page's PNG when a question needs it, so PNGs stay. What stays besides: pages of
pinned collections, pages that a running question has planned, and pages that no document owns yet: somebody is taking them in.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

from cache_compiler.keys import is_image_key
from cache_compiler.patch_files import PatchFiles

from .types import Evicted
from .workshop import Workshop

log = logging.getLogger("quire.evict")


@dataclass(frozen=True)
class Item:
    """A file that may go, or all patches of a page image: `path` None."""

    rank: int
    used: float
    key: str
    bytes: int
    path: Path | None
    files: PatchFiles | None = None


def evict(workshop: Workshop, disk_bytes: int, planned: Collection[str] = ()) -> Evicted:
    """Make the home's caches, images and patches take `disk_bytes` at most, as far as they may go. `planned`: image keys that stay.

    `workshop.evicted` hears what went. Raises HomeBusy. Where even all that may go is not enough, that is logged with both figures.
    """
    held, items = look(workshop, planned)
    if held <= disk_bytes:
        return Evicted(held=held)
    caches: list[str] = []
    patches = freed = 0
    with workshop.home.writing():
        for item in items:
            if held - freed <= disk_bytes:
                break
            if item.path is not None:
                gone = _remove_cache(workshop, item)
                if gone:
                    caches.append(item.key)
                freed += gone
            else:
                files, size = _remove_patches(workshop, item)
                patches += files
                freed += size
        workshop.store.seal()
    if held - freed > disk_bytes:
        log.warning(
            "%d bytes of images, pinned and planned pages are above the limit of %d bytes (disk_bytes): raise it, or unpin or delete something",
            held - freed,
            disk_bytes,
        )
    log.info("evicted %d caches and %d patches, %d bytes", len(caches), patches, freed)
    done = Evicted(tuple(caches), patches, freed, held - freed)
    # Here, and not by who called: an upload that makes room, and one that ends, evict as well as the keeper.
    workshop.evicted(done)
    return done


def look(workshop: Workshop, planned: Collection[str]) -> tuple[int, list[Item]]:
    """The bytes that caches, images and patches take, and what may go, in the order in which it goes."""
    catalogue, uses = workshop.catalogue, workshop.catalogue.uses()
    pinned = {page for row in catalogue.collections() if row.pinned for page in catalogue.page_keys(row.name)}
    owned, lowest = catalogue.page_keys(), min(workshop.dpis)
    held, items = 0, []
    for path in workshop.home.page_files():
        try:
            facts = path.stat()
        except FileNotFoundError:
            continue
        held += facts.st_size
        key = path.name.partition(".")[0]
        if path.suffix == ".safetensors" and _may_go(key, owned, pinned, planned):
            # One that was never read is as old as its file: what was just compiled does not go first.
            used = max(uses.get(key, 0.0), facts.st_mtime)
            items.append(Item(1 if _dpi(key) > lowest else 3, used, key, facts.st_size, path))
    for files in workshop.home.patch_files():
        for key, paths in _patches(files):
            sizes, newest = [], 0.0
            for path in paths:
                try:
                    facts = path.stat()
                except FileNotFoundError:
                    continue
                sizes.append(facts.st_size)
                newest = max(newest, facts.st_mtime)
            held += sum(sizes)
            if sizes and key and _may_go(key, owned, pinned, planned):
                items.append(Item(2 if _dpi(key) > lowest else 4, max(uses.get(key, 0.0), newest), key, sum(sizes), None, files))
    return held, sorted(items, key=lambda item: (item.rank, item.used, item.key))


def _patches(files: PatchFiles) -> Iterator[tuple[str, list[Path]]]:
    """The patch files of each page image; and under "" the bases, which many pages share."""
    for key in files.pages():
        yield key, files.paths(key)
    yield "", files.bases()


def _may_go(key: str, owned: set[str], pinned: set[str], planned: Collection[str]) -> bool:
    page = key.partition("@")[0]
    return is_image_key(key) and page in owned and page not in pinned and key not in planned


def _remove_cache(workshop: Workshop, item: Item) -> int:
    assert item.path is not None
    try:
        size = item.path.stat().st_size
        item.path.unlink()
    except FileNotFoundError:
        return 0
    # Behind the file, as `CacheStore.remove` does.
    workshop.store.ram.drop(item.key)
    return size


def _remove_patches(workshop: Workshop, item: Item) -> tuple[int, int]:
    """Remove a page image's own patches; those that were given it stay. Returns how many files and bytes."""
    assert item.files is not None
    own, count, size = workshop.store.patches, 0, 0
    for path in item.files.paths(item.key):
        if item.files.folder == own.folder:
            freed = own.remove_named(item.key, path.stem)
        else:
            freed = sum(bytes_ for _, bytes_ in item.files.remove_patch(item.key, path.stem))
        count, size = count + (freed > 0), size + freed
    return count, size


def _dpi(key: str) -> int:
    return int(key.partition("@")[2])
