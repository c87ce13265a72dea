"""A workshop goes in; how many bytes of what its home holds comes out, counted now and then and not at every question for it.

A walk looks at every file once. It is made again when it is some seconds old or the catalogue has changed, and costs at most a twentieth of
the time between two walks: a home of a million files is counted beside the requests, and they see the count before.
"""

from __future__ import annotations

import os
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ingest.workshop import Workshop  # the real one brings torch with it

FRESH = 5.0  # seconds
REST = 20  # a walk is followed by so many times its own length without one
QUICK = 0.25  # seconds; a walk that takes longer is made beside the requests


@dataclass(frozen=True)
class Held:
    """Bytes on the disk by kind, caches by DPI with their number, and by collection; `evicted` pages lack a cache at one DPI or more."""

    caches: Mapping[int, int] = field(default_factory=dict)
    cached: Mapping[int, int] = field(default_factory=dict)
    images: int = 0
    pictures: int = 0
    patches: int = 0
    index: int = 0
    catalogue: int = 0
    spool: int = 0
    total: int = 0
    evicted: int = 0
    collections: Mapping[str, int] = field(default_factory=dict)

    def mean(self, dpi: int) -> float | None:
        """Bytes of one cache; None where there is none."""
        return self.caches[dpi] / self.cached[dpi] if self.cached.get(dpi) else None

    @property
    def mean_image(self) -> float | None:
        return self.images / self.pictures if self.pictures else None


class Holdings:
    """What one home holds; thread-safe."""

    def __init__(self, workshop: Workshop) -> None:
        self._workshop = workshop
        self._held = Held()
        self._seen: tuple[int, float, float] | None = None  # the catalogue's generation, when the walk ended, how long it took
        self._removed = False
        self._walking = threading.Lock()

    def now(self) -> Held:
        """The count, walked for where it is old: here where that is quick, beside otherwise."""
        if self._seen is None or self._removed:
            with self._walking:
                self._walk()
            return self._held
        generation, at, took = self._seen
        age = time.monotonic() - at
        stale = age > FRESH or generation != self._workshop.catalogue.generation()
        if stale and age >= REST * took and self._walking.acquire(blocking=False):
            if took > QUICK:
                threading.Thread(target=self._beside, name="quire-holdings", daemon=True).start()
            else:
                self._beside()
        return self._held

    def collection(self, name: str) -> int:
        """Bytes of a collection's pages: caches, images and patches. A page of two collections counts in both."""
        return self.now().collections.get(name, 0)

    def changed(self) -> None:
        """Something was removed: the next question for it walks, if a walk is quick."""
        self._removed = self._seen is not None and self._seen[2] <= QUICK

    def _beside(self) -> None:
        try:
            self._walk()
        finally:
            self._walking.release()

    def _walk(self) -> None:
        begun, self._removed = time.monotonic(), False
        generation = self._workshop.catalogue.generation()
        self._held = measure(self._workshop)
        ended = time.monotonic()
        self._seen = (generation, ended, ended - begun)


def measure(workshop: Workshop) -> Held:
    """Look at every file of the home once."""
    catalogue, root = workshop.catalogue, workshop.home.root
    owners: dict[str, list[str]] = {}
    expected: set[str] = set()
    for row in catalogue.collections():
        pages = catalogue.page_keys(row.name)
        expected |= pages if row.identity == workshop.identity.as_mapping() else set()
        for page in pages:
            owners.setdefault(page, []).append(row.name)
    ours, kinds = workshop.store.folder.name, Counter[str]()
    caches, cached, collections, there = Counter[int](), Counter[int](), Counter[str](), Counter[str]()
    for parts, size in _files(root):
        kind, page, dpi = _sort(parts)
        kinds[kind] += size
        if kind == "caches":
            caches[dpi] += size
            cached[dpi] += 1
            if parts[1] == ours and dpi in workshop.dpis:
                there[page] += 1
        elif kind == "images":
            kinds["pictures"] += 1
        for name in owners.get(page, ()):
            collections[name] += size
    return Held(
        caches=dict(caches),
        cached=dict(cached),
        images=kinds["images"],
        pictures=kinds["pictures"],
        patches=kinds["patches"],
        index=kinds["index"],
        catalogue=kinds["catalogue"],
        spool=kinds["spool"],
        total=sum(size for kind, size in kinds.items() if kind != "pictures"),
        evicted=sum(there[page] < len(workshop.dpis) for page in expected),
        collections=dict(collections),
    )


def _sort(parts: tuple[str, ...]) -> tuple[str, str, int]:
    """(kind, page key, DPI) of a file by its place in the home; "" and 0 where it is no page's."""
    if parts[0].startswith("catalogue.sqlite"):
        return "catalogue", "", 0
    if parts[0] in ("index", "spool"):
        return parts[0], "", 0
    kind = parts[0] if parts[0] == "images" else parts[2] if parts[0] == "store" and len(parts) > 2 else "rest"
    # <page>@<dpi> names a cache's and an image's file, and the folder of a patch.
    page, _, rest = parts[-2 if kind == "patches" else -1].partition("@")
    dpi = rest.partition(".")[0]
    if kind not in ("caches", "images", "patches"):
        return "rest", "", 0
    return kind, page if dpi.isdecimal() else "", int(dpi) if dpi.isdecimal() else 0


def _files(root: Path) -> Iterator[tuple[tuple[str, ...], int]]:
    """(path parts below `root`, bytes) of every file; one that goes meanwhile is passed over, and no link is followed."""
    waiting: list[tuple[str, tuple[str, ...]]] = [(str(root), ())]
    while waiting:
        folder, above = waiting.pop()
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append((entry.path, (*above, entry.name)))
                    elif entry.is_file(follow_symlinks=False):
                        yield (*above, entry.name), entry.stat(follow_symlinks=False).st_size
        except FileNotFoundError:
            continue
