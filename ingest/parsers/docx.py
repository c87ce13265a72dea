"""A Word document (.docx) goes in; its body in order comes out: headings, paragraphs, list items, table rows as "a | b"."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator
from typing import Any

from ingest.encoding import clean
from ingest.errors import DamagedFile
from ingest.types import Limits

from .container import DAMAGED, check_container, refuse_ole
from .parsed import Draft, Parsed

_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_FALLBACK = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"


def parse(data: bytes, limits: Limits) -> Parsed:
    """Deleted text is left out, and so are headers, footers and footnotes, with a note. No picture is decoded."""
    refuse_ole(data, ".doc", ".docx")
    check_container(data, limits, "word/document.xml", ".docx")

    import docx
    from lxml import etree

    draft = Draft(limits)
    try:
        document = docx.Document(io.BytesIO(data))
        body = document.element.body
        if body is None:
            raise DamagedFile(DAMAGED.format("no body that python-docx can read; strict Open XML is not supported"))
        _Reader(draft, _styles(document)).read(body)
        _note_what_is_left_out(document, draft)
    except (
        *(AttributeError, IndexError, KeyError, TypeError, ValueError, zipfile.BadZipFile),
        *(etree.LxmlError, docx.opc.exceptions.PackageNotFoundError, OSError),
    ) as error:
        # python-docx takes parts as they should be: one that is not ends in any of these.
        raise DamagedFile(DAMAGED.format(f"{type(error).__name__}: {error}")) from error
    return draft.finish()


def _styles(document: Any) -> dict[str, tuple[int, bool]]:
    """Style id -> (heading level, 0 for none; whether it is a list style). A style has what the style it is based on has."""
    styles = {}
    for style in document.styles.element.iter(_W + "style"):
        styles[style.get(_W + "styleId")] = style
    found: dict[str, tuple[int, bool]] = {}
    for name in styles:
        level, listed, seen = 0, False, set()
        at: str | None = name
        while at in styles and at not in seen and not level:
            seen.add(at)
            style = styles[at]
            title = _value(style.find(_W + "name")).lower()
            outline = _value(style.find(f"{_W}pPr/{_W}outlineLvl"))
            if title == "title":
                level = 1
            elif title.startswith("heading ") and title[8:].isdigit():
                level = int(title[8:])
            elif outline.isdigit() and int(outline) < 9:
                level = int(outline) + 1
            listed = listed or style.find(f"{_W}pPr/{_W}numPr") is not None
            at = _value(style.find(_W + "basedOn")) or None
        found[name] = (level, listed)
    return found


def _value(element: Any) -> str:
    return "" if element is None else element.get(_W + "val") or ""


class _Reader:
    """Walks the body's XML. The tree is walked itself, for python-docx repeats merged cells and takes quadratic time over long tables."""

    def __init__(self, draft: Draft, styles: dict[str, tuple[int, bool]]) -> None:
        self.draft = draft
        self.styles = styles

    def read(self, body: Any) -> None:
        for element in _content(body):
            if element.tag == _W + "tbl":
                for index, row in enumerate(_rows(element)):
                    self.draft.add(" | ".join(row), "table", joined=index > 0)
            else:
                self.paragraph(element)

    def paragraph(self, element: Any) -> None:
        text = clean(_words(element)).replace("\f", "\n")
        style = element.find(f"{_W}pPr/{_W}pStyle")
        level, listed = self.styles.get(_value(style), (0, False))
        numbering = element.find(f"{_W}pPr/{_W}numPr")
        if level:
            self.draft.heading(text, level)
        elif text.strip() and (listed or numbering is not None):
            depth = _value(numbering.find(_W + "ilvl")) if numbering is not None else ""
            indent = "  " * min(int(depth), 8) if depth.isdigit() else ""
            self.draft.add(f"{indent}- {text.strip()}", "list", joined=self.draft.kind == "list")
        else:
            self.draft.add(text)


def _content(parent: Any) -> Iterator[Any]:
    """The paragraphs and tables of a body or cell in order, those inside content controls and tracked insertions too."""
    waiting = [iter(parent)]
    while waiting:
        for element in waiting[-1]:
            if element.tag in (_W + "p", _W + "tbl"):
                yield element
            elif element.tag in (_W + "sdt", _W + "sdtContent", _W + "ins", _W + "customXml", _W + "smartTag"):
                waiting.append(iter(element))
                break
        else:
            waiting.pop()


def _rows(table: Any) -> Iterator[list[str]]:
    """A table's rows. A merged cell stands once: where it goes on downwards, its place is empty."""
    for row in table.iter(_W + "tr"):
        if next(row.iterancestors(_W + "tbl")) is not table:
            continue
        cells = []
        for cell in row.iter(_W + "tc"):
            if next(cell.iterancestors(_W + "tr")) is not row:
                continue
            merge = cell.find(f"{_W}tcPr/{_W}vMerge")
            goes_on = merge is not None and _value(merge) != "restart"
            cells.append("" if goes_on else _cell(cell))
        if any(cells):
            yield cells


def _cell(cell: Any) -> str:
    """A cell on one line; a table inside it as its rows, cells parted by commas and rows by semicolons."""
    parts = []
    for element in _content(cell):
        if element.tag == _W + "tbl":
            parts.append("; ".join(", ".join(text for text in row if text) for row in _rows(element)))
        else:
            parts.append(" ".join(clean(_words(element)).split()))
    return " ".join(part for part in parts if part)


def _words(paragraph: Any) -> str:
    """A paragraph's text, text boxes included once, deleted text left out."""
    parts = []
    walk = _walk(paragraph)
    for element in walk:
        match element.tag.removeprefix(_W):
            case "t":
                parts.append(element.text or "")
            case "tab" | "ptab":
                # A tab stop in the paragraph's properties is no tab.
                if element.getparent().tag == _W + "r":
                    parts.append(" ")
            case "br" | "cr":
                parts.append("\n")
            case "noBreakHyphen":
                parts.append("-")
            case "p":
                parts.append("\n")
    return "".join(parts)


def _walk(paragraph: Any) -> Iterator[Any]:
    """Every element of a paragraph but deletions and the old drawing that stands beside each new one, saying the same again."""
    waiting = [iter(paragraph)]
    while waiting:
        for element in waiting[-1]:
            if not isinstance(element.tag, str) or element.tag in (_W + "del", _W + "moveFrom", _FALLBACK):
                continue
            yield element
            waiting.append(iter(element))
            break
        else:
            waiting.pop()


def _note_what_is_left_out(document: Any, draft: Draft) -> None:
    kinds = [part.partname.split("/")[-1].rstrip("0123456789.xml") for part in document.part.package.iter_parts()]
    for kind, name in (
        ("header", "headers"),
        ("footer", "footers"),
        ("footnotes", "footnotes"),
        ("endnotes", "endnotes"),
        ("comments", "comments"),
    ):
        count = sum(found == kind for found in kinds)
        if count:
            draft.note(f"{count} {name} left out" if kind in ("header", "footer") else f"{name} left out")
