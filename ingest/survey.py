"""Documents go in, one by one; what they would become comes out: pages, rows, files and patches. Nothing is compiled, and nothing is kept.

Of some documents all chunks are made, and of those so many are drawn as the sample allows; the others are known by their characters.
What a home holds already is left out, and so is what an earlier document of the same run has brought.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from renderer import paginate, rasterise
from renderer.types import Page, image_key

from .chunk import chunk
from .errors import Cancelled
from .leaves import missing_keys
from .reading import rows as rows_of
from .spread import Amount, Table, evenly, extrapolate, within
from .trial import Specimen, patch_bytes
from .types import Document
from .workshop import Workshop

# Counted of every chunk of a document that is drawn. "chunking": seconds.
_COUNTED = ("chunks", "pages", "patches", "chunking")
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
        self._sizes: list[float] = []
        self._measured: list[Table] = []
        self._within: list[Table] = []
        self._certain: list[Table] = []
        # Whether a document speaks for those that are passed by: one that was taken for being large does not.
        self._speaks: list[bool] = []
        self._pages: set[str] = set()
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
        return int(sum(self._sizes)) + self._rest

    def pass_by(self, document: Document) -> None:
        """Count a document by its characters alone."""
        self._rest += len(document.text)

    def take(self, document: Document, step: Callable[[int, int], None], speaks: bool = True) -> None:
        """Make a document's chunks and draw of them. `speaks`: for those that are passed by, too.

        Raises TooLarge as `chunk` does, the renderer's errors, and Cancelled.
        """
        begun = time.perf_counter()
        chunks = chunk(document, "", self.workshop.style, self.workshop.limits)
        laid = [paginate(piece.text, self.workshop.style) for piece in chunks]
        seconds = time.perf_counter() - begun
        new, behind = self._fresh(laid)
        # What short documents leave over, longer ones may use.
        share = (self.sheets - self.sheets_drawn) // max(1, self.documents - self.drawn)
        drawn = evenly(max(2, share), len(chunks))
        rows = []
        for number, index in enumerate(drawn):
            if self.cancelled():
                raise Cancelled("stopped on request; nothing was kept")
            rows.append(self._draw(laid[index], new[index], behind[index]))
            step(number + 1, len(drawn))
        table, sizes = np.array(rows), [len(chunks[index].text) for index in drawn]
        total, variance = extrapolate(sizes, table, sum(len(piece.text) for piece in chunks) - sum(sizes))
        counted = [len(chunks), sum(map(len, new)), len(self.workshop.dpis) ** 2 * sum(map(len, behind)), seconds]
        # From here on nothing fails: a document that does not go in adds nothing.
        self._sizes.append(len(document.text))
        self._speaks.append(speaks)
        self._measured.append(np.array([*counted, *total]))
        self._within.append(np.array([*np.zeros(len(counted)), *variance]))
        self._certain.append(np.array([*counted, *table.sum(axis=0)]))
        keys = [page.key for pages in laid for page in pages]
        self._pages.update(keys)
        self._pairs.update(pairwise(keys))
        self.drawn, self.sheets_drawn = self.drawn + 1, self.sheets_drawn + len(drawn)
        if any(new):
            self._put_aside(laid)

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
        return self.standing is not None and not missing_keys([image_key(page, dpi)], self.standing)

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
