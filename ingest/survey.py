"""Documents go in, one by one; what they would become comes out: pages, rows, files and patches. Nothing is compiled, and nothing is kept.

Of some documents all chunks are made, and of those so many are drawn as the sample allows; the others are known by their characters.
Of scans so many are developed as would be drawn; the others have their rows from their size, and what the developed ones have of the rest.
What a home holds already is left out, and so is what an earlier document of the same run has brought.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np

from renderer import fitted, native_cells, paginate, rasterise
from renderer.types import Page, image_key

from .chunk import chunk
from .errors import Cancelled
from .leaves import missing_keys
from .natives import take_natives
from .reading import rows as rows_of
from .spread import Amount, Table, evenly, extrapolate, within
from .trial import Specimen, patch_bytes
from .types import Document, Native, Scan
from .workshop import Workshop

# Counted of every chunk of a document that is drawn. "chunking": seconds.
_COUNTED = ("chunks", "pages", "patches", "chunking")
# What a page that is a picture counts for among documents that are known by their characters: as much as a page of print.
_SCAN = 2_000
# Batches of one document that may be compiled for the sample.
_CANDIDATES = 4


@dataclass(frozen=True)
class Standing:
    """A home that is there, and the collection that the files would go into. It is read alone."""

    workshop: Workshop
    collection: str


class Survey:
    """What has been seen of a corpus so far. `sheets`: chunks that may be drawn, over the `documents` that are to be taken."""

    def __init__(self, workshop: Workshop, sheets: int, documents: int, standing: Standing | None, cancelled: Callable[[], bool]) -> None:
        self.workshop, self.sheets, self.documents, self.cancelled = workshop, sheets, documents, cancelled
        self.standing = standing.workshop if standing is not None else None
        self.specimens: list[Specimen] = []
        self.drawn = self.sheets_drawn = 0
        self._rest = 0
        self._characters = 0
        self._sizes: list[float] = []
        self._measured: list[Table] = []
        self._within: list[Table] = []
        self._certain: list[Table] = []
        # Whether a document speaks for those that are passed by: one that was taken for being large does not.
        self._speaks: list[bool] = []
        self._pages: set[str] = set()
        # Keys of scans that were not developed: no page has such.
        self._unseen: set[str] = set()
        self._pairs: set[tuple[str, str]] = set()
        # Of every page that was drawn: DPI -> (rows, bytes of its image).
        self._faces: dict[str, dict[int, tuple[int, int]]] = {}

    @property
    def names(self) -> list[str]:
        """The columns: `totals` has one of each."""
        per_dpi = [f"{what}@{dpi}" for dpi in self.workshop.dpis for what in ("rows", "caches", "images")]
        return [*_COUNTED, *per_dpi, "patch_bytes", "patch_rows", "drawing"]

    @property
    def characters(self) -> int:
        return self._characters

    def pass_by(self, document: Document) -> None:
        """Count a document by its characters alone, and its scans."""
        self._characters += len(document.text)
        self._rest += _weight(document)

    def take(self, path: Path, document: Document, step: Callable[[int, int], None], speaks: bool = True) -> None:
        """Make a document's chunks and draw of them. `speaks`: for those that are passed by, too.

        The images of scans that are developed are put into the workshop's image store: they are what the trial compiles.
        Raises TooLarge as `chunk` does, the renderer's errors, those of scans none of which can be read, and Cancelled.
        """
        # What short documents leave over, longer ones may use.
        share = max(2, (self.sheets - self.sheets_drawn) // max(1, self.documents - self.drawn))
        size = _weight(document)
        document, natives, pictures, developing = self._develop(path, document, share)
        begun = time.perf_counter()
        chunks = chunk(document, "", self.workshop.style, self.workshop.limits, natives)
        known = {page.key: page for page in pictures}
        laid = [[known[ref.key] for ref in piece.pages] or paginate(piece.text, self.workshop.style) for piece in chunks]
        seconds = time.perf_counter() - begun
        new, behind = self._fresh(laid)
        scans = [index for index, piece in enumerate(chunks) if piece.pages]
        prints = [index for index, piece in enumerate(chunks) if not piece.pages]
        # Every scan is counted: nothing of it need be drawn any more.
        drawn = sorted([*scans, *(prints[place] for place in evenly(share, len(prints)))])
        rows = []
        for number, index in enumerate(drawn):
            if self.cancelled():
                raise Cancelled("stopped on request; nothing was kept")
            rows.append(self._draw(laid[index], new[index], behind[index]))
            step(number + 1, len(drawn))
        table = np.array(rows).reshape(len(drawn), -1)
        of_print = [place for place, index in enumerate(drawn) if not chunks[index].pages]
        sizes = [len(chunks[drawn[place]].text) for place in of_print]
        certain = table.sum(axis=0)
        total, variance = certain, np.zeros_like(certain)
        if of_print:
            left = sum(len(chunks[index].text) for index in prints) - sum(sizes)
            total, variance = extrapolate(sizes, table[of_print], left)
            total = total + certain - table[of_print].sum(axis=0)
        total[-1] += developing
        counted = [len(chunks), sum(map(len, new)), len(self.workshop.dpis) ** 2 * sum(map(len, behind)), seconds]
        # From here on nothing fails: a document that does not go in adds nothing.
        self._characters += len(document.text)
        self._sizes.append(size)
        self._speaks.append(speaks)
        self._measured.append(np.array([*counted, *total]))
        self._within.append(np.array([*np.zeros(len(counted)), *variance]))
        self._certain.append(np.array([*counted, *certain]))
        keys = [page.key for pages in laid for page in pages]
        self._pages.update(keys)
        self._pairs.update(pairwise(keys))
        self.drawn, self.sheets_drawn = self.drawn + 1, self.sheets_drawn + len(drawn)
        if any(new):
            # Only what was developed can be compiled.
            self._put_aside([[page for page in pages if page.key not in self._unseen] for pages in laid])

    def totals(self) -> Mapping[str, Amount]:
        """Every column over the whole corpus."""
        if not self._sizes:
            return {name: Amount() for name in self.names}
        measured, open_, certain = (np.array(part) for part in (self._measured, self._within, self._certain))
        # Where none speaks, all do.
        speaks = np.array(self._speaks if any(self._speaks) else [True] * len(self._speaks))
        sizes = np.array(self._sizes)[speaks]
        total, variance = extrapolate(sizes.tolist(), measured[speaks], self._rest)
        total = total + measured[~speaks].sum(axis=0)
        # What a document's own drawing leaves open is open once more in all that is told from it.
        share = (sizes.sum() + self._rest) / sizes.sum()
        variance = variance + share**2 * open_[speaks].sum(axis=0) + open_[~speaks].sum(axis=0)
        certain = certain.sum(axis=0)
        return {name: within(*map(float, found)) for name, *found in zip(self.names, total, variance, certain, strict=True)}

    # -- one document ------------------------------------------------------------------------------------------------

    def _develop(self, path: Path, document: Document, share: int) -> tuple[Document, list[Native], list[Page], float]:
        """The document with its scans as native pages, the pages, and the seconds that developing all of them takes. Of a model that reads
        images, `share` of them are developed; of one that reads text, all: nobody knows how much stands on a picture."""
        if not document.scans:
            return document, [], [], 0.0
        scans = document.scans
        if self.workshop.backbone.reads_images:
            scans = tuple(scans[place] for place in evenly(share, len(scans)))
        begun = time.perf_counter()
        told, natives, pages = take_natives(path, document, self.workshop, lambda *_: None, self.cancelled, scans)
        seconds = (time.perf_counter() - begun) * len(document.scans) / len(scans)
        if not pages:
            return told, [], [], seconds
        weights = {page.key: self._weigh(page) for page in pages}
        cells = sum(rows - 2 for native in natives for rows in native.rows.values())
        per_cell = sum(sum(weights[page.key].values()) for page in pages) / cells
        others = [scan for scan in document.scans if scan not in scans]
        for scan in others:
            native, page = self._undeveloped(document, scan)
            self._unseen.add(page.key)
            self._faces[page.key] = {dpi: (rows, round(per_cell * (rows - 2))) for dpi, rows in native.rows.items()}
            natives, pages = (*natives, native), (*pages, page)
        for native in natives:
            if native.key in weights:
                self._faces[native.key] = {dpi: (rows, weights[native.key][dpi]) for dpi, rows in native.rows.items()}
        return told, list(natives), list(pages), seconds

    def _weigh(self, page: Page) -> dict[int, int]:
        """Bytes of a developed page's images, per DPI."""
        images = self.workshop.images
        return {dpi: images.path(image_key(page.key, dpi)).stat().st_size for dpi in self.workshop.dpis}

    def _undeveloped(self, document: Document, scan: Scan) -> tuple[Native, Page]:
        """A scan that is not developed, under a key that no page has."""
        size = fitted(scan.width, scan.height, self.workshop.style)
        rows = {}
        for dpi in self.workshop.dpis:
            down, across = native_cells(size, dpi, self.workshop.style)
            rows[dpi] = down * across + 2
        key = f"{document.sha256}-{scan.number}"
        return Native(scan.number, key, rows), Page((), 0, 0, *size, True, key, native=True)

    def _fresh(self, laid: Sequence[Sequence[Page]]) -> tuple[list[list[str]], list[list[str]]]:
        """For each chunk the pages that are new, and those that get patches for standing behind the page before: by their keys."""
        pages, pairs = set(self._pages), set(self._pairs)
        new: list[list[str]] = []
        behind: list[list[str]] = []
        before: str | None = None
        for of_chunk in laid:
            new.append([])
            behind.append([])
            for page in of_chunk:
                there = self._whole(page.key)
                if page.key not in pages and not there:
                    new[-1].append(page.key)
                if before is not None and (before, page.key) not in pairs and not (there and self._whole(before)):
                    behind[-1].append(page.key)
                    pairs.add((before, page.key))
                pages.add(page.key)
                before = page.key
        return new, behind if self.workshop.policy.word != "off" else [[] for _ in laid]

    def _draw(self, pages: Sequence[Page], new: Sequence[str], behind: Sequence[str]) -> list[float]:
        """What is extrapolated, of one chunk."""
        begun = time.perf_counter()
        for page in pages:
            if page.key not in self._faces:
                images = [rasterise(page, self.workshop.style, dpi) for dpi in self.workshop.dpis]
                self._faces[page.key] = {image.dpi: (rows_of(self.workshop, page, image), len(image.png())) for image in images}
        seconds = time.perf_counter() - begun
        found: list[float] = []
        for dpi in self.workshop.dpis:
            lacking = [self._faces[key][dpi] for key in new if not self._has(key, dpi)]
            found += [sum(rows for rows, _ in lacking), len(lacking), sum(png for _, png in lacking)]
        # One patch for every DPI of the page and every DPI of the one before it.
        dpis = self.workshop.dpis
        lengths = [self._faces[key][dpi][0] for key in behind for dpi in dpis for _ in dpis]
        return [*found, sum(patch_bytes(self.workshop, length) for length in lengths), sum(lengths), seconds]

    def _has(self, page: str, dpi: int) -> bool:
        return self.standing is not None and page not in self._unseen and not missing_keys([image_key(page, dpi)], self.standing)

    def _whole(self, page: str) -> bool:
        return all(self._has(page, dpi) for dpi in self.workshop.dpis)

    def _put_aside(self, laid: Sequence[Sequence[Page]]) -> None:
        """Batches, as ingest would make them, that the sample may compile."""
        distinct = list({page.key: page for pages in laid for page in pages}.values())
        firsts = range(0, len(distinct), self.workshop.batch)
        chosen = evenly(_CANDIDATES, len(firsts))
        for first in (firsts[number] for number in chosen):
            pages = tuple(distinct[first : first + self.workshop.batch])
            self.specimens.append(Specimen(pages, distinct[first - 1] if first else None, len(distinct) / len(chosen)))


def _weight(document: Document) -> int:
    return len(document.text) + _SCAN * len(document.scans)
