"""Chunks go in; their pages are laid out, rasterised and compiled until every page image has its cache in the store. Native pages come with their
images kept already: those cannot be drawn.

Batches are fixed by the document and `workshop.batch` alone: so many of its distinct pages, in order, at one DPI. A batch is
compiled whole when any cache of it is missing. So a run that was killed and started again makes the very same forwards as
one that was not, and the store ends up the same, byte for byte.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from renderer import paginate, rasterise
from renderer.types import Line, Page, image_key
from retrieval.errors import UnknownDocument, UnknownPage
from retrieval.types import Chunk, PageRef, PageRow

from .errors import Cancelled
from .reading import compile_batch
from .reading import rows as rows_of
from .workshop import Workshop

Step = Callable[[int, int], None]


@dataclass(frozen=True)
class Leaves:
    """A document's chunks with their pages, and each distinct page once, in order."""

    chunks: tuple[Chunk, ...]
    pages: tuple[Page, ...]

    def image_keys(self, dpis: Sequence[int]) -> list[str]:
        return [image_key(page.key, dpi) for page in self.pages for dpi in dpis]

    def rows(self) -> tuple[PageRow, ...]:
        """What the catalogue keeps of the pages: sizes and line boxes in points, and rows per DPI."""
        rows = {ref.key: ref.rows for chunk in self.chunks for ref in chunk.pages}
        return tuple(
            PageRow(
                page.key,
                page.width,
                page.height,
                tuple((line.text, line.x0, line.y0, line.x1, line.y1) for line in page.lines),
                rows[page.key],
                "native" if page.native else "text",
            )
            for page in self.pages
        )


def lay_out(chunks: Sequence[Chunk], workshop: Workshop, step: Step, cancelled: Callable[[], bool], natives: Iterable[Page] = ()) -> Leaves:
    """Lay every chunk out in points, put its page images into the image store, and note how many rows each takes.

    `natives`: native pages of a document that is not in the catalogue yet. Raises UnknownPage, naming the file to ingest again, where the
    picture of a native page is lost.
    """
    distinct: dict[str, Page] = {}
    known = {page.key: page for page in natives}
    rows: dict[str, dict[int, int]] = {}
    laid = []
    for number, chunk in enumerate(chunks):
        _stop_if(cancelled)
        refs = []
        for ref, page in _natives(chunk, workshop, known):
            if lost := [key for dpi in workshop.dpis if not workshop.images.has(key := image_key(page.key, dpi))]:
                raise UnknownPage(_lost(lost[0], chunk, workshop))
            distinct.setdefault(page.key, page)
            refs.append(ref)
        if refs:
            laid.append(replace(chunk, pages=tuple(refs)))
            step(number + 1, len(chunks))
            continue
        for page in paginate(chunk.text, workshop.style):
            if page.key not in distinct:
                distinct[page.key] = page
                rows[page.key] = {}
                for dpi in workshop.dpis:
                    image = rasterise(page, workshop.style, dpi)
                    workshop.images.put(image)
                    rows[page.key][dpi] = rows_of(workshop, page, image)
            refs.append(PageRef(page.key, rows[page.key]))
        laid.append(replace(chunk, pages=tuple(refs)))
        step(number + 1, len(chunks))
    return Leaves(tuple(laid), tuple(distinct.values()))


def lost_pictures(chunks: Sequence[Chunk], workshop: Workshop) -> dict[str, str]:
    """Page image key -> what to do, for every image of these chunks' native pages that is not kept any more: it cannot be made again here."""
    return {
        key: _lost(key, chunk, workshop)
        for chunk in chunks
        for _, page in _natives(chunk, workshop, {})
        for dpi in workshop.dpis
        if not workshop.images.has(key := image_key(page.key, dpi))
    }


def native_of(row: PageRow) -> Page:
    """A native page as the catalogue has it."""
    lines = tuple(Line(text, 0, 0, *box) for text, *box in row.lines)
    return Page(lines, 0, 0, row.width, row.height, True, row.key, native=True)


def _natives(chunk: Chunk, workshop: Workshop, known: Mapping[str, Page]) -> Iterator[tuple[PageRef, Page]]:
    """The chunk's pages, if they are native: those just developed, else as the catalogue knows them. Other chunks are laid out from their text."""
    for ref in chunk.pages:
        if ref.key in known:
            yield ref, known[ref.key]
            continue
        try:
            row = workshop.catalogue.page(ref.key)
        except UnknownPage:
            return
        if row.kind == "native":
            yield ref, native_of(row)


def _lost(key: str, chunk: Chunk, workshop: Workshop) -> str:
    try:
        name = workshop.catalogue.document(chunk.document).name
    except UnknownDocument:
        name = "the document"  # it is on its way in
    return f"{name}, page {chunk.source_page}: its picture ({key}) is lost, and cannot be drawn from text: ingest {name} again"


def compile_missing(leaves: Leaves, workshop: Workshop, step: Step, cancelled: Callable[[], bool]) -> tuple[str, ...]:
    """Compile every page image that has no cache yet; returns the keys that were written. Nothing is done where all are there."""
    written: list[str] = []
    total, done = len(leaves.pages) * len(workshop.dpis), 0
    for dpi, pages in _batches(leaves, workshop):
        _stop_if(cancelled)
        missing = {key for page in pages if not workshop.store.has(key := image_key(page.key, dpi))}
        if missing:
            for canonical in compile_batch(workshop, pages, dpi):
                if canonical.key in missing:
                    workshop.store.put(canonical)
                    written.append(canonical.key)
        done += len(pages)
        step(done, total)
    return tuple(written)


def missing_keys(keys: Iterable[str], workshop: Workshop) -> list[str]:
    """Of these page images (`<page key>@<dpi>`), those without a cache or without their PNG."""
    return [key for key in keys if not (workshop.store.has(key) and workshop.images.has(key))]


def _batches(leaves: Leaves, workshop: Workshop) -> Iterator[tuple[int, Sequence[Page]]]:
    for first in range(0, len(leaves.pages), workshop.batch):
        for dpi in workshop.dpis:
            yield dpi, leaves.pages[first : first + workshop.batch]


def _stop_if(cancelled: Callable[[], bool]) -> None:
    if cancelled():
        raise Cancelled("stopped on request; what was compiled is kept, run it again to go on")
