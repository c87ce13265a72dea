"""A table as text (.csv, .tsv) goes in; its rows come out in its own notation, the column names repeated at the head of every block."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from typing import Literal

from ingest.encoding import decode
from ingest.errors import TooLarge
from ingest.types import Limits

from .parsed import Draft, Parsed
from .table import write_table

_DELIMITERS = (",", "\t", ";", "|")
# What is looked at to tell the delimiter.
_SAMPLE_ROWS = 50
_SAMPLE_CHARS = 64 * 1024
# A cell of more lines than this began with a stray quotation mark, which swallowed the rows behind it.
_CELL_LINES = 200


def parse(data: bytes, limits: Limits) -> Parsed:
    """The delimiter is the one that parts most rows alike. Rows keep comma or semicolon; others are shown as " | "."""
    decoded = decode(data)
    draft = Draft(limits)
    for note in decoded.notes:
        draft.note(note)
    text = decoded.text.replace("\f", " ")
    before = csv.field_size_limit(max(limits.text_chars, 1))
    try:
        _write(draft, text)
    finally:
        csv.field_size_limit(before)  # it is the whole process's
    return draft.finish()


def _write(draft: Draft, text: str) -> None:
    delimiter = delimiter_of(text)
    quoting: Literal[0, 3] = csv.QUOTE_MINIMAL
    if any(cell.count("\n") > _CELL_LINES for row in _rows(text, delimiter, quoting) for cell in row):
        quoting = csv.QUOTE_NONE
        draft.note("a quotation mark is never closed, so they are read as characters")
    keeps = delimiter in ",;"
    rows = _rows(text, delimiter, quoting)
    write_table(draft, ([_quoted(cell, delimiter) for cell in row] if keeps else row for row in rows), delimiter if keeps else " | ")


def delimiter_of(text: str) -> str:
    """The delimiter under which most of the first rows have the same number of cells, more than one; a comma where none does."""
    sample = text[:_SAMPLE_CHARS]
    best, most = ",", 0.0
    for delimiter in _DELIMITERS:
        widths = Counter(len(row) for row in islice(_rows(sample, delimiter, csv.QUOTE_MINIMAL), _SAMPLE_ROWS) if row)
        if not widths:
            continue
        width, count = widths.most_common(1)[0]
        score = count / widths.total() if width > 1 else 0.0
        if score > most:
            best, most = delimiter, score
    return best


def _rows(text: str, delimiter: str, quoting: Literal[0, 3]) -> Iterator[list[str]]:
    try:
        yield from csv.reader(_lines(text), delimiter=delimiter, quoting=quoting)
    except csv.Error as error:
        raise TooLarge(
            f"one of its cells is longer than the whole text may be (text_chars; {error}): raise that limit or split the file"
        ) from error


def _lines(text: str) -> Iterator[str]:
    # A copy of all lines at once would double the memory of a large file.
    start = 0
    while start < len(text):
        end = text.find("\n", start) + 1 or len(text)
        yield text[start:end]
        start = end


def _quoted(cell: str, delimiter: str) -> str:
    """A cell in the file's notation: one that holds the delimiter stands in quotation marks."""
    return '"' + cell.replace('"', '""') + '"' if delimiter in cell else cell
