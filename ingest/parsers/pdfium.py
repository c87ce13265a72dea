"""A PDF goes in; its text in reading order comes out, page by page, form fields included, and which of its pages are scans, as `pdf.py` does it.

PDFium (BSD and Apache licences) is called through pypdfium2, here and in `pdfium_scan.py` alone.
"""

from __future__ import annotations

import ctypes
import math
import re
from collections.abc import Iterator
from typing import Any

from ingest.encoding import clean
from ingest.errors import DamagedFile, PasswordNeeded, TooLarge
from ingest.types import Limits

from .layout import Line
from .parsed import Parsed, visible
from .printed import DAMAGED, LOCKED, Box, Sheet, UnreadablePage, Way, compose, spelt, upright, way_of

# A gap of this share of the font's size ends a line: two columns, or two cells, stand side by side.
_GAP = 0.8
# A mark above or below the line (a footnote's number) stays in it.
_RISE = 0.7
_OVERLAP = 0.6
_SPACE = 0.15
# What PDFium puts where a word is parted at the line's end, and where a font does not say which letter it draws.
_NAMED = {0x02: ord("-"), 0xFFFE: ord("-"), 0: 0xFFFD}
_RTL = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]")
_MIRRORED = str.maketrans("()[]{}<>«»", ")(][}{><»«")
# A note's text is told without its size.
_NOTE_SIZE = 12.0

Point = tuple[float, float]


def parse(data: bytes, limits: Limits) -> Parsed:
    """A page that cannot be read is a note and the rest go on; so is a blank one. Raises NoText where no page has text or is a scan."""
    import pypdfium2

    try:
        document = pypdfium2.PdfDocument(data)
        count = len(document)
        document.init_forms()
    except pypdfium2.PdfiumError as error:
        if error.err_code == pypdfium2.raw.FPDF_ERR_PASSWORD:
            raise PasswordNeeded(LOCKED) from error
        raise DamagedFile(DAMAGED.format(error)) from error

    def sheet(number: int) -> Sheet:
        try:
            page = document[number - 1]
            try:
                return _sheet(page, document.formenv, limits)
            finally:
                page.close()
        except pypdfium2.PdfiumError as error:
            raise UnreadablePage(str(error)) from error

    return compose(count, sheet, limits)


def _sheet(page: Any, forms: Any, limits: Limits) -> Sheet:
    from pypdfium2 import raw

    left, bottom, right, top = page.get_mediabox()
    lines: dict[Way, list[Line]] = {}
    text = page.get_textpage()
    if text.count_chars() > limits.text_chars:
        raise TooLarge(f"more than {limits.text_chars:,} characters of text (text_chars) on one page: raise that limit or split the file")
    for run in _runs(text):
        # What stands beside the paper is not on the page.
        x, y = (run.x0 + run.x1) / 2, (run.y0 + run.y1) / 2
        if left <= x <= right and bottom <= y <= top and visible(words := spelt(run.text())):
            lines.setdefault(run.way, []).append(run.line(words))
    notes, fields = _annotations(page, forms)
    if notes:
        lines.setdefault((1, 0), []).extend(notes)
    pictured = not lines and not fields and any(True for _ in page.get_objects(filter=[raw.FPDF_PAGEOBJ_IMAGE]))
    width, height = page.get_size()
    return Sheet(lines, fields, width, height, pictured)


class _Run:
    """Characters on one base line without a wide gap, in the order they are read; points, y upwards."""

    def __init__(self, way: Way, box: Box, size: float, origin: Point) -> None:
        self.way = way
        self.x0, self.y0, self.x1, self.y1 = box
        self.codes: list[int] = []
        # Size and base line are those of most of the run, not those of the footnote's number that it may begin with.
        self.size, self.origin = size, origin
        self.sizes: dict[float, int] = {}

    def add(self, code: int, box: Box, size: float, origin: Point) -> None:
        self.codes.append(code)
        self.x0, self.y0 = min(self.x0, box[0]), min(self.y0, box[1])
        self.x1, self.y1 = max(self.x1, box[2]), max(self.y1, box[3])
        count = self.sizes[size] = self.sizes.get(size, 0) + 1
        if size != self.size and count > self.sizes.get(self.size, 0):
            self.size, self.origin = size, origin

    def goes_on(self, way: Way, box: Box, size: float, origin: Point, broken: bool) -> bool:
        """Whether a character stands on this line and near it; behind its end, where PDFium has called the line `broken`."""
        if way != self.way:
            return False
        size = max(size, self.size)
        rise = abs(origin[1] - self.origin[1]) if way[0] else abs(origin[0] - self.origin[0])
        gap = self.gap(box)
        return rise <= _RISE * size and gap <= _GAP * size and (not broken or gap >= -_OVERLAP * size)

    def gap(self, box: Box) -> float:
        """What is empty between the run and a box before or behind it; less than 0 where they overlap."""
        if self.way[0]:
            return max(self.x0 - box[2], box[0] - self.x1)
        return max(self.y0 - box[3], box[1] - self.y1)

    def text(self) -> str:
        # Beyond the first plane a character comes as two.
        text = "".join(map(chr, self.codes)).encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        # PDFium puts characters in the order they are read, but keeps brackets as they are drawn.
        return text.translate(_MIRRORED) if 3 * len(_RTL.findall(text)) > len(text) else text

    def line(self, words: str) -> Line:
        return upright(words, (self.x0, -self.y1, self.x1, -self.y0), (self.origin[0], -self.origin[1]), self.way, self.size)


def _across(box: Box, way: Way) -> Point:
    return (box[1], box[3]) if way[0] else (box[0], box[2])


def _runs(text: Any) -> Iterator[_Run]:
    """The runs of a page, in the order in which they are drawn."""
    from pypdfium2 import raw

    x, y = ctypes.c_double(), ctypes.c_double()
    rectangle, matrix = raw.FS_RECTF(), raw.FS_MATRIX()
    run: _Run | None = None
    way, size, origin, last = (1, 0), 0.0, (0.0, 0.0), (0.0, 0.0, 0.0, 0.0)
    broken = spaced = False
    for index in range(text.count_chars()):
        code = raw.FPDFText_GetUnicode(text, index)
        if (code <= 0x20 or code == 0xFFFE) and raw.FPDFText_IsGenerated(text, index) == 1:
            # A gap that PDFium spells out: a space within the line, or the line's end.
            broken = broken or code in (0x0A, 0x0D)
            spaced = True
            continue
        if not raw.FPDFText_GetLooseCharBox(text, index, rectangle):
            continue
        box = (rectangle.left, rectangle.bottom, rectangle.right, rectangle.top)
        # A box as high as the last, at the same height, is of the same font on the same line: most are, and asking takes most of the time.
        if run is None or _across(box, way) != _across(last, way):
            if not (raw.FPDFText_GetCharOrigin(text, index, x, y) and raw.FPDFText_GetMatrix(text, index, matrix)):
                continue
            length = math.hypot(matrix.a, matrix.b) or 1.0
            way = way_of(matrix.a / length, -matrix.b / length)
            size = round(raw.FPDFText_GetFontSize(text, index) * math.hypot(matrix.c, matrix.d), 2)
            origin = (x.value, y.value)
        last = box
        if run is not None and not run.goes_on(way, box, size, origin, broken):
            yield run
            run = None
        if run is None:
            run = _Run(way, box, size, origin)
        elif spaced and (not broken or run.gap(box) > _SPACE * size):
            run.codes.append(0x20)
        broken = spaced = False
        run.add(_NAMED.get(code, code), box, size, origin)
    if run is not None:
        yield run


def _annotations(page: Any, forms: Any) -> tuple[list[Line], list[str]]:
    """(text that is written onto the page; the form's fields that have a value, as "name: value"). PDFium counts neither as the page's own
    text, so nothing stands twice."""
    from pypdfium2 import raw

    notes: list[Line] = []
    rows: dict[str, str] = {}
    rectangle = raw.FS_RECTF()
    for index in range(raw.FPDFPage_GetAnnotCount(page)):
        annotation = raw.FPDFPage_GetAnnot(page, index)
        if not annotation:
            continue
        try:
            kind = raw.FPDFAnnot_GetSubtype(annotation)
            if kind == raw.FPDF_ANNOT_FREETEXT and raw.FPDFAnnot_GetRect(annotation, rectangle):
                words = clean(_told(raw.FPDFAnnot_GetStringValue, annotation, b"Contents"))
                for row, line in enumerate(filter(visible, words.split("\n"))):
                    base = -rectangle.top + _NOTE_SIZE * (row + 1)
                    box = (rectangle.left, base - _NOTE_SIZE, max(rectangle.right, rectangle.left + 1), base)
                    notes.append(upright(spelt(line), box, (rectangle.left, base), (1, 0), _NOTE_SIZE))
            elif kind == raw.FPDF_ANNOT_WIDGET and forms is not None:
                name = _told(raw.FPDFAnnot_GetFormFieldName, forms, annotation)
                name = name or _told(raw.FPDFAnnot_GetFormFieldAlternateName, forms, annotation)
                value = " ".join(clean(_told(raw.FPDFAnnot_GetFormFieldValue, forms, annotation)).split())
                # Of a group of radio buttons what is chosen counts, not the last of them.
                if value and not (value == "Off" and name in rows):
                    rows[name or "field"] = value
        finally:
            raw.FPDFPage_CloseAnnot(annotation)
    return notes, [f"{clean(name)}: {value}" for name, value in rows.items()]


def _told(ask: Any, *about: Any) -> str:
    """A string that PDFium writes in UTF-16 into a buffer, of which it first tells the bytes."""
    from pypdfium2 import raw

    size = ask(*about, None, 0)
    if size <= 2:
        return ""
    buffer = ctypes.create_string_buffer(size)
    ask(*about, ctypes.cast(buffer, ctypes.POINTER(raw.FPDF_WCHAR)), size)
    return buffer.raw[: size - 2].decode("utf-16-le", "replace")
