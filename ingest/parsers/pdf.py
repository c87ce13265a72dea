"""A PDF goes in; its text in reading order comes out, page by page, form fields included, and which of its pages are scans. No picture is decoded.

This and `pdf_scan.py` are the only files that import PyMuPDF, which is under the AGPL; `pdfium.py` does the same with PDFium.
"""

from __future__ import annotations

from typing import Any

from ingest.encoding import clean
from ingest.errors import DamagedFile, PasswordNeeded
from ingest.types import Limits

from .layout import Line
from .parsed import Parsed, visible
from .printed import DAMAGED, LOCKED, Box, Sheet, UnreadablePage, Way, compose, spelt, upright, way_of


def parse(data: bytes, limits: Limits) -> Parsed:
    """A page that cannot be read is a note and the rest go on; so is a blank one. Raises NoText where no page has text or is a scan."""
    import pymupdf

    pymupdf.TOOLS.mupdf_display_errors(False)
    pymupdf.TOOLS.mupdf_display_warnings(False)
    broken = (RuntimeError, ValueError, IndexError, pymupdf.mupdf.FzErrorBase)
    try:
        document = pymupdf.open(stream=data, filetype="pdf")
        if document.needs_pass and not document.authenticate(""):
            raise PasswordNeeded(LOCKED)
        count = document.page_count
    except broken as error:
        raise _told(error, DamagedFile(DAMAGED.format(error))) from error

    def sheet(number: int) -> Sheet:
        try:
            return _sheet(document[number - 1])
        except broken as error:
            raise _told(error, UnreadablePage(str(error))) from error

    with document:
        return compose(count, sheet, limits)


def _told(error: Exception, otherwise: Exception) -> Exception:
    """MuPDF tells of its want of memory in words."""
    return MemoryError() if "malloc" in str(error) or "memory" in str(error).lower() else otherwise


def _sheet(page: Any) -> Sheet:
    import pymupdf

    lines: dict[Way, list[Line]] = {}
    drawn: list[Box] = []
    # Without TEXT_PRESERVE_IMAGES no picture is opened. Ligatures come as MuPDF found them and are spelt out here.
    content = page.get_text("dict", flags=pymupdf.TEXT_PRESERVE_WHITESPACE | pymupdf.TEXT_PRESERVE_LIGATURES | pymupdf.TEXT_MEDIABOX_CLIP)
    for block in content["blocks"]:
        for line in block.get("lines", ()):
            drawn.append(line["bbox"])
            spans = line["spans"]
            text = spelt("".join(span["text"] for span in spans))
            if not visible(text):
                continue
            way = way_of(*line["dir"])
            longest = max(spans, key=lambda span: len(span["text"]))
            lines.setdefault(way, []).append(upright(text, line["bbox"], longest["origin"], way, longest["size"]))
    fields = _fields(page, drawn)
    return Sheet(lines, fields, page.rect.width, page.rect.height, not lines and not fields and bool(page.get_images()))


def _fields(page: Any, drawn: list[Box]) -> list[str]:
    """The form's fields that have a value, as "name: value". Text that is drawn in its field was read with the page; a choice never is."""
    import pymupdf

    ticks = (pymupdf.PDF_WIDGET_TYPE_CHECKBOX, pymupdf.PDF_WIDGET_TYPE_RADIOBUTTON)
    rows: dict[str, str] = {}
    for widget in page.widgets():
        name, value = widget.field_name or widget.field_label or "field", widget.field_value
        value = ", ".join(value) if isinstance(value, list | tuple) else "" if value is None else str(value)
        value = " ".join(clean(value).split())
        # A group of radio buttons is one field: what is chosen counts, not the last of them.
        if not value or (value == "Off" and name in rows):
            continue
        box = widget.rect
        shown = any(box.x0 <= (x0 + x1) / 2 <= box.x1 and box.y0 <= (y0 + y1) / 2 <= box.y1 for x0, y0, x1, y1 in drawn)
        if widget.field_type in ticks or not shown:
            rows[name] = value
    return [f"{clean(name)}: {value}" for name, value in rows.items()]
