"""Lines or parts of a text in; bytes of a TXT, Markdown, HTML, DOCX or PDF file out. They are written to be read by our own parsers and by people."""

from __future__ import annotations

import html
import io
import textwrap
from collections.abc import Sequence
from datetime import UTC, datetime

from .prose import Heading, Paragraph, Part, Table

_DATE = datetime(2026, 1, 1, tzinfo=UTC)

# A4 in points, and the margin around the text.
_WIDTH, _HEIGHT, _MARGIN = 595, 842, 72
_BODY = 11.0
# Helvetica runs to about half its size a character; the right edge is ragged, so a count of characters is near enough.
_COLUMNS = int((_WIDTH - 2 * _MARGIN) / (_BODY * 0.49))


def txt(pages: Sequence[Sequence[str]]) -> bytes:
    """One line a sentence, a form feed between pages."""
    return ("\n\f".join("\n".join(page) for page in pages) + "\n").encode()


def markdown(lines: Sequence[str]) -> bytes:
    """A paragraph a line: Markdown would run lines together that no blank one parts."""
    return ("\n\n".join(lines) + "\n").encode()


def html_page(lines: Sequence[str]) -> bytes:
    """A paragraph a line. There is no title: it would be a line of its own on the page that is made of it."""
    body = "\n".join(f"<p>{html.escape(line, quote=False)}</p>" for line in lines)
    return f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n</head>\n<body>\n{body}\n</body>\n</html>\n'.encode()


def docx(parts: Sequence[Part]) -> bytes:
    """A Word document with its headings as headings and its tables as tables. Its dates are fixed."""
    from docx import Document

    document = Document()
    document.core_properties.created = document.core_properties.modified = _DATE
    document.core_properties.author = document.core_properties.comments = ""
    for part in parts:
        match part:
            case Heading(text, level):
                document.add_heading(text, level)
            case Paragraph(text):
                document.add_paragraph(text)
            case Table(rows):
                table = document.add_table(len(rows), len(rows[0]))
                table.style = "Table Grid"
                for cells, row in zip(table.rows, rows, strict=True):
                    for cell, text in zip(cells.cells, row, strict=True):
                        cell.text = text
    out = io.BytesIO()
    document.save(out)
    return out.getvalue()


def pdf(parts: Sequence[Part], gap: float = 0.9) -> bytes:
    """A PDF with a text layer in Helvetica, which every reader has built in. Raises ValueError for a table, and outside Windows-1252.

    `gap` is the space between two parts, in font sizes, beside the leading of 1.3. Lines that each stand for themselves need about 2: closer
    ones look like double-spaced prose, to a parser as to a person.
    """
    pages: list[list[str]] = [[]]
    y = float(_HEIGHT - _MARGIN)
    for part in parts:
        match part:
            case Table():
                raise ValueError("a table cannot be written as PDF here: use docx")
            case Heading(text, level):
                size, font, lines = (20.0 if level == 1 else 14.0), "F2", [text]
            case Paragraph(text):
                size, font, lines = _BODY, "F1", textwrap.wrap(text, _COLUMNS, break_on_hyphens=False)
        if y - size * (gap + 1.3 * len(lines)) < _MARGIN:
            pages.append([])
            y = _HEIGHT - _MARGIN
        y -= size * gap
        for line in lines:
            y -= size * 1.3
            pages[-1].append(f"BT /{font} {size:g} Tf {_MARGIN} {y:.1f} Td ({_escaped(line)}) Tj ET")
    return _assemble(["\n".join(page) for page in pages])


def _escaped(line: str) -> str:
    """The line as a PDF string in Windows-1252, bytes beyond ASCII in octal."""
    raw = line.encode("cp1252")
    return "".join(f"\\{chr(b)}" if chr(b) in "()\\" else chr(b) if 32 <= b < 127 else f"\\{b:03o}" for b in raw)


def _assemble(pages: Sequence[str]) -> bytes:
    """Objects, cross-reference table and trailer (PDF 1.4). Object 1 is the catalogue, 2 the page tree, 3 and 4 the fonts."""
    kids = " ".join(f"{5 + 2 * i} 0 R" for i in range(len(pages)))
    objects = ["<< /Type /Catalog /Pages 2 0 R >>", f"<< /Type /Pages /Count {len(pages)} /Kids [{kids}] >>"]
    objects += [
        f"<< /Type /Font /Subtype /Type1 /BaseFont /{name} /Encoding /WinAnsiEncoding >>" for name in ("Helvetica", "Helvetica-Bold")
    ]
    for i, content in enumerate(pages):
        resources = "<< /Font << /F1 3 0 R /F2 4 0 R >> >>"
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 {_WIDTH} {_HEIGHT}] /Resources {resources} /Contents {6 + 2 * i} 0 R >>"
        )
        objects.append(f"<< /Length {len(content)} >>\nstream\n{content}\nendstream")
    # The comment of high bytes tells file transfers that this is no text.
    out = b"%PDF-1.4\n%\xe2\xe3\xcf\xd3\n"
    offsets = []
    for number, body in enumerate(objects, start=1):
        offsets.append(len(out))
        out += f"{number} 0 obj\n{body}\nendobj\n".encode("ascii")
    table = "".join(f"{offset:010d} 00000 n \n" for offset in offsets)
    end = f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{table}trailer\n<< /Size {len(objects) + 1} /Root 1 0 R >>\nstartxref\n{len(out)}\n%%EOF\n"
    return out + end.encode("ascii")
