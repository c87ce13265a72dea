"""A document's scans go in; for a model that reads images they come out as native pages, whose images are kept; for one that reads text alone the
text recognised on them comes out, put into the document at its place.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path

from renderer import native_image, native_page
from renderer.types import Page

from .chunk import place_of
from .darkroom import Print, Spoiled, develop
from .errors import NoText, TooLarge
from .ocr import why_not
from .types import Block, Document, Native, Scan
from .workshop import Workshop

Step = Callable[[int, int], None]

_FOUND = "found by {its} name and page number only"


@dataclass
class _Tally:
    """What became of a document's scans, by page number, for its notes."""

    read: list[int] = field(default_factory=list)
    blank: list[int] = field(default_factory=list)
    unread: dict[str, list[int]] = field(default_factory=dict)
    spoiled: list[Spoiled] = field(default_factory=list)

    def add(self, found: Print | Spoiled) -> None:
        if isinstance(found, Spoiled):
            self.spoiled.append(found)
        elif found.lines:
            self.read.append(found.scan.number)
        elif found.unread:
            self.unread.setdefault(found.unread, []).append(found.scan.number)
        else:
            self.blank.append(found.scan.number)

    @property
    def without_text(self) -> list[int]:
        return sorted([*self.blank, *(number for numbers in self.unread.values() for number in numbers)])


def take_natives(
    path: Path, document: Document, workshop: Workshop, step: Step, cancelled: Callable[[], bool], scans: Sequence[Scan] | None = None
) -> tuple[Document, tuple[Native, ...], tuple[Page, ...]]:
    """The document with notes on its scans (of a model of text: with their text, and without them), what the chunker needs of its native
    pages, and those pages, whose images are in the image store. `scans`: develop these alone.

    Raises TooLarge above `rendered_pages`; the error of the first page where nothing of the document can be read; NoText where a model of
    text finds none; Cancelled.
    """
    if not document.scans:
        return document, (), ()
    if len(document.scans) > workshop.limits.rendered_pages:
        raise TooLarge(
            f"{document.name}: {len(document.scans):,} of its pages are pictures, over {workshop.limits.rendered_pages:,} (rendered_pages): "
            "raise that limit or split the file"
        )
    tally, natives, pages, texts = _Tally(), [], [], []
    reads_images = workshop.backbone.reads_images
    wanted = document.scans if scans is None else scans
    developed = develop(
        path,
        document,
        workshop.style,
        workshop.dpis if reads_images else (),
        workshop.limits,
        workshop.pdf_engine,
        why_not(workshop.ocr),
        cancelled,
        wanted,
    )
    # Closed at once where anything fails, for a child process hangs on it.
    with closing(developed):
        for count, found in enumerate(developed, start=1):
            tally.add(found)
            if isinstance(found, Print) and reads_images:
                page = native_page(found.pictures, found.size, found.lines, workshop.style)
                natives.append(Native(found.scan.number, page.key, _keep(workshop, page, found), found.text))
                pages.append(page)
            elif isinstance(found, Print) and found.lines:
                texts.append((found.scan.number, found.text))
            step(count, len(wanted))
    if not (document.text or natives or texts):
        _refuse(document, tally)
    document = replace(document, notes=(*document.notes, *_notes(document, tally, reads_images)))
    for number, text in texts:
        document = _with_text(document, number, text)
    return document, tuple(natives), tuple(pages)


def _keep(workshop: Workshop, page: Page, found: Print) -> dict[int, int]:
    """Put the page's images into the store; rows per DPI: visual tokens, and the page's two marks."""
    rows = {}
    for dpi, picture in found.pictures.items():
        image = native_image(page.key, picture, found.size, dpi, workshop.style)
        workshop.images.put(image)
        rows[dpi] = image.tokens + 2
    return rows


def _with_text(document: Document, number: int, text: str) -> Document:
    """The document with a block more, of the text that was recognised on a page of it."""
    at = place_of(document, number)
    before, after = document.blocks[:at], document.blocks[at:]
    start = before[-1].end if before else 0
    lead = "\n\n" if before else ""
    grown = f"{lead}{text}" if before else f"{text}\n\n"
    block = Block(start + len(lead), start + len(lead) + len(text), before[-1].heading if before else "", number)
    moved = [replace(other, start=other.start + len(grown), end=other.end + len(grown)) for other in after]
    return replace(
        document,
        text=document.text[:start] + grown + document.text[start:],
        blocks=(*before, block, *moved),
        scans=tuple(scan for scan in document.scans if scan.number != number),
    )


def _refuse(document: Document, tally: _Tally) -> None:
    if tally.spoiled:
        error = tally.spoiled[0].error
        raise type(error)(f"{document.name}: {error}", error.place)
    why = f" ({'; '.join(tally.unread)})" if tally.unread else ""
    raise NoText(
        f"{document.name}: no text was found on {_named(tally.without_text)}, which {'are pictures' if len(tally.without_text) > 1 else 'is a picture'}"
        f"{why}, and this model reads text alone: load a model that reads images, or install the extra `ocr` and set ocr to auto"
    )


def _notes(document: Document, tally: _Tally, reads_images: bool) -> list[str]:
    pictures = document.media.startswith("image/")
    notes = [f"left out: {spoiled.error}" for spoiled in tally.spoiled]
    if tally.read and not pictures:
        notes.append(f"scanned, with the text recognised on it: {_named(tally.read)}")
    left_out = "left out, for this model reads text alone"
    for why, numbers in [*tally.unread.items(), *([("", tally.blank)] if tally.blank else [])]:
        end = _FOUND.format(its="its" if len(numbers) == 1 else "their") if reads_images else left_out
        notes.append(f"no text was found on {_named(numbers)}{f' ({why})' if why else ''}: {end}")
    return notes


def _named(numbers: Sequence[int]) -> str:
    shown = ", ".join(map(str, numbers[:20])) + (f" and {len(numbers) - 20} more" if len(numbers) > 20 else "")
    return f"page{'s' if len(numbers) > 1 else ''} {shown}"
