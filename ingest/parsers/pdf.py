"""A PDF goes in; its text in reading order comes out, page by page, form fields included, and which of its pages are scans. No picture is decoded.

This is the only file that imports PyMuPDF, which is under the AGPL: whoever wants another licence replaces this file.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import replace
from statistics import median
from typing import Any

from ingest.encoding import clean
from ingest.errors import DamagedFile, NoText, PasswordNeeded, TooLarge
from ingest.types import Limits, Scan

from .layout import Line, Region, regions
from .parsed import Draft, Parsed, visible

# Ligatures are drawing, not spelling: "fi" must be found in "Unified". Full-width and superscript forms are spelling and stay.
_LIGATURES = {
    **{code: unicodedata.normalize("NFKC", chr(code)) for code in range(0xFB00, 0xFB07)},
    # A soft hyphen shows only where a line ends; the line's own end is seen by `layout`.
    0xAD: "-",
}
_UNREADABLE = re.compile("[\ufffd\ue000-\uf8ff]")

# A heading is set larger than most of the file, by this much, and is short.
_HEADING_SIZE = 1.18
_HEADING_CHARS = 160


def parse(data: bytes, limits: Limits) -> Parsed:
    """A page that cannot be read is a note and the rest go on; so is a blank one. Raises NoText where no page has text or is a scan."""
    import pymupdf

    pymupdf.TOOLS.mupdf_display_errors(False)
    pymupdf.TOOLS.mupdf_display_warnings(False)
    try:
        document = pymupdf.open(stream=data, filetype="pdf")
        if document.needs_pass and not document.authenticate(""):
            raise PasswordNeeded("it is encrypted and needs a password: save a copy without one")
        count = document.page_count
    except (RuntimeError, ValueError, pymupdf.mupdf.FzErrorBase) as error:
        raise _failure(error) from error
    if count == 0:
        raise DamagedFile("no page of it can be found; it is damaged or cut short: open it in a PDF reader and save it again")
    if count > limits.source_pages:
        raise TooLarge(f"it has {count:,} pages, over {limits.source_pages:,} (source_pages): raise that limit or split the file")
    draft = Draft(limits)
    pages: list[list[Region]] = []
    blank: list[int] = []
    scans: list[Scan] = []
    failed: list[int] = []
    characters = 0
    for number in range(1, count + 1):
        try:
            page = document[number - 1]
            found = _read(page)
            has_picture = not found and bool(page.get_images())
        except (RuntimeError, ValueError, IndexError, pymupdf.mupdf.FzErrorBase) as error:
            if "malloc" in str(error) or "memory" in str(error).lower():
                raise MemoryError from error
            failed.append(number)
            draft.note(f"page {number} could not be read and is left out ({error})")
            found, has_picture = [], False
        else:
            if has_picture:
                scans.append(Scan(number, page.rect.width, page.rect.height))
            elif not found:
                blank.append(number)
        # Counted while reading, so that a million pages stop early.
        characters += sum(len(region.text) for region in found)
        if characters > limits.text_chars:
            raise TooLarge(
                f"more than {limits.text_chars:,} characters of text (text_chars) by page {number}: raise that limit or split the file"
            )
        pages.append(found)
    document.close()
    if not any(pages) and not scans:
        raise NoText(_why_empty(count, failed))
    if blank:
        draft.note(f"blank: {_named(blank)}")
    _write(draft, pages)
    return _checked(draft.finish(source_pages=count, scans=tuple(scans)))


def _failure(error: Exception) -> Exception:
    if "malloc" in str(error):
        return MemoryError()
    return DamagedFile(f"it is damaged or cut short ({error}): open it in a PDF reader and save it again")


def _why_empty(count: int, failed: list[int]) -> str:
    pages = f"{count} page{'s' if count > 1 else ''}"
    if failed:
        return f"no text: of its {pages}, {len(failed)} cannot be read: open it in a PDF reader and save it again"
    return f"no text: its {pages} {'are' if count > 1 else 'is'} blank"


def _named(pages: list[int]) -> str:
    shown = ", ".join(str(page) for page in pages[:20]) + (f" and {len(pages) - 20} more" if len(pages) > 20 else "")
    return f"page{'s' if len(pages) > 1 else ''} {shown}"


def _read(page: Any) -> list[Region]:
    """One page's regions. Text that runs another way than most of the page (a turned table) is read after it, upright."""
    import pymupdf

    facing: dict[tuple[int, int], list[Line]] = {}
    # Without TEXT_PRESERVE_IMAGES no picture is opened. Ligatures come as MuPDF found them and are spelt out here.
    content = page.get_text("dict", flags=pymupdf.TEXT_PRESERVE_WHITESPACE | pymupdf.TEXT_PRESERVE_LIGATURES | pymupdf.TEXT_MEDIABOX_CLIP)
    for block in content["blocks"]:
        for line in block.get("lines", ()):
            spans = line["spans"]
            text = clean("".join(span["text"] for span in spans)).translate(_LIGATURES).replace("\f", " ")
            if not visible(text):
                continue
            way = (round(line["dir"][0]), round(line["dir"][1]))
            way = way if abs(way[0]) + abs(way[1]) == 1 else (1, 0)
            longest = max(spans, key=lambda span: len(span["text"]))
            x, y = longest["origin"]
            facing.setdefault(way, []).append(Line(text, *_upright(line["bbox"], way), y * way[0] - x * way[1], longest["size"]))
    found: list[Region] = []
    for lines in sorted(facing.values(), key=lambda lines: -sum(len(line.text) for line in lines)):
        found.extend(regions(lines))
    fields = _fields(page, [line["bbox"] for block in content["blocks"] for line in block.get("lines", ())])
    if fields:
        found.append(Region("\n".join(fields), True, 0.0))
    return found


def _upright(box: tuple[float, float, float, float], way: tuple[int, int]) -> tuple[float, float, float, float]:
    """A box in the frame in which text that runs along `way` runs to the right."""
    dx, dy = way
    x0, y0, x1, y1 = box
    across = sorted((x0 * dx + y0 * dy, x1 * dx + y1 * dy))
    down = sorted((y0 * dx - x0 * dy, y1 * dx - x1 * dy))
    return across[0], down[0], across[1], down[1]


def _fields(page: Any, drawn: list[tuple[float, float, float, float]]) -> list[str]:
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


def _write(draft: Draft, pages: list[list[Region]]) -> None:
    sizes = [region.size for found in pages for region in found for _ in range(1 + len(region.text) // 80) if region.size]
    body = median(sizes) if sizes else 0.0
    for number, found in enumerate(pages, start=1):
        for region in found:
            words = " ".join(region.text.split())
            if not region.table and body and region.size >= _HEADING_SIZE * body and len(words) <= _HEADING_CHARS:
                draft.heading(words, 1 if region.size >= 1.5 * body else 2, number)
            else:
                draft.add(region.text, "table" if region.table else "paragraph", number)


def _checked(parsed: Parsed) -> Parsed:
    """Note a text that a person could not read: fonts without a table from glyph to letter."""
    seen = sum(not character.isspace() for character in parsed.text)
    unreadable = len(_UNREADABLE.findall(parsed.text))
    if unreadable * 2 <= seen:
        return parsed
    note = f"{unreadable:,} of {seen:,} characters are unreadable: its fonts do not say which letters they draw"
    return replace(parsed, notes=(*parsed.notes, note))
