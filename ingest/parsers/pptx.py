"""A PowerPoint presentation (.pptx) goes in; its slides come out as pages: title, text, tables, then the speaker's notes."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator
from typing import Any

from ingest.encoding import clean
from ingest.errors import DamagedFile, TooLarge
from ingest.types import Limits

from .container import DAMAGED, check_container, refuse_ole
from .parsed import Draft, Parsed, visible
from .table import write_table


def parse(data: bytes, limits: Limits) -> Parsed:
    """A block's page is its slide's number. Hidden slides are left out, and pictures, charts and diagrams are not read, with a note each."""
    refuse_ole(data, ".ppt", ".pptx")
    check_container(data, limits, "ppt/presentation.xml", ".pptx")

    import pptx
    from lxml import etree

    draft = Draft(limits)
    try:
        slides = list(pptx.Presentation(io.BytesIO(data)).slides)
        if len(slides) > limits.source_pages:
            raise TooLarge(
                f"it has {len(slides):,} slides, over {limits.source_pages:,} (source_pages): raise that limit or split the file"
            )
        reader = _Reader(draft)
        for number, slide in enumerate(slides, start=1):
            reader.slide(slide, number)
    except (
        *(AttributeError, IndexError, KeyError, TypeError, ValueError, NotImplementedError),
        *(zipfile.BadZipFile, etree.LxmlError, OSError, pptx.exc.PythonPptxError),
    ) as error:
        # python-pptx takes parts as they should be: one that is not ends in any of these.
        raise DamagedFile(DAMAGED.format(f"{type(error).__name__}: {error}")) from error
    reader.note_what_is_left_out()
    return draft.finish(source_pages=len(slides))


class _Reader:
    """Takes slide after slide and remembers what of them is not read."""

    def __init__(self, draft: Draft) -> None:
        self.draft = draft
        self.left_out: dict[str, list[int]] = {}

    def slide(self, slide: Any, number: int) -> None:
        if slide._element.get("show") in ("0", "false"):
            self.leave("hidden", number)
            return
        title = slide.shapes.title
        if title is not None and title.has_text_frame:
            self.draft.heading(clean(title.text_frame.text), 1, number)
        for shape in _shapes(slide.shapes):
            if title is not None and shape.shape_id == title.shape_id:
                continue
            self.shape(shape, number)
        if slide.has_notes_slide and slide.notes_slide.notes_text_frame is not None:
            notes = _lines(slide.notes_slide.notes_text_frame)
            if notes:
                self.draft.add("Notes: " + "\n".join(line.strip() for line in notes), page=number)

    def shape(self, shape: Any, number: int) -> None:
        if getattr(shape, "has_table", False):
            write_table(self.draft, _cells(shape.table), page=number)
        elif getattr(shape, "has_chart", False):
            self.leave("charts", number)
        elif shape.has_text_frame:
            lines = _lines(shape.text_frame)
            kind = "list" if shape.is_placeholder and len(lines) > 1 else "paragraph"
            for index, line in enumerate(lines):
                indent, text = line[: len(line) - len(line.lstrip())], line.strip()
                self.draft.add(f"{indent}- {text}" if kind == "list" else text, kind, number, joined=index > 0)  # type: ignore[arg-type]
        else:
            what = {"pic": "pictures", "graphicFrame": "diagrams or embedded files"}.get(shape._element.tag.rpartition("}")[2])
            if what:
                self.leave(what, number)

    def leave(self, what: str, number: int) -> None:
        pages = self.left_out.setdefault(what, [])
        if pages[-1:] != [number]:
            pages.append(number)

    def note_what_is_left_out(self) -> None:
        for what, pages in self.left_out.items():
            shown = ", ".join(map(str, pages[:20])) + (f" and {len(pages) - 20} more" if len(pages) > 20 else "")
            slides = f"slide{'s' if len(pages) > 1 else ''} {shown}"
            self.draft.note(f"hidden, left out: {slides}" if what == "hidden" else f"{what} not read: {slides}")


def _shapes(shapes: Any) -> Iterator[Any]:
    """Every shape in drawing order, those inside groups too."""
    waiting = [iter(shapes)]
    while waiting:
        for shape in waiting[-1]:
            if shape._element.tag.endswith("}grpSp"):
                waiting.append(iter(shape.shapes))
                break
            yield shape
        else:
            waiting.pop()


def _lines(frame: Any) -> list[str]:
    """A frame's paragraphs that have words, indented by their level."""
    found = []
    for paragraph in frame.paragraphs:
        text = " ".join(clean(paragraph.text).split())
        if visible(text):
            found.append("  " * min(paragraph.level, 8) + text)
    return found


def _cells(table: Any) -> Iterator[list[str]]:
    """A table's rows. A merged cell stands once, in its first place."""
    for row in table.rows:
        yield ["" if cell.is_spanned else clean(cell.text_frame.text) for cell in row.cells]
