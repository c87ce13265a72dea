"""An Excel workbook (.xlsx) goes in; its sheets come out, each a heading with its rows beneath, the column names repeated in every block."""

from __future__ import annotations

import datetime
import io
import warnings
import zipfile
from collections.abc import Iterator
from typing import Any

from ingest.encoding import clean
from ingest.errors import DamagedFile, TooLarge
from ingest.types import Limits

from .container import DAMAGED, check_container, refuse_ole
from .parsed import Draft, Parsed
from .table import write_table

# A sheet of more columns than this with words in them is no table to be read across: its rows name their filled cells alone.
_COLUMNS = 200


def parse(data: bytes, limits: Limits) -> Parsed:
    """Values as they were last computed, dates in ISO form. Hidden sheets are left out with a note; formulas and macros never run."""
    refuse_ole(data, ".xls", ".xlsx")
    check_container(data, limits, "xl/workbook.xml", ".xlsx")

    import openpyxl
    from lxml import etree

    draft = Draft(limits)
    try:
        with warnings.catch_warnings():
            # What openpyxl will not keep when it saves (validation, extensions) is nothing to a reader.
            warnings.simplefilter("ignore")
            book = openpyxl.load_workbook(io.BytesIO(data), read_only=True, data_only=True, keep_links=False)
            for sheet in book.worksheets:
                if sheet.sheet_state != "visible":
                    draft.note(f"hidden sheet left out: {clean(sheet.title)}")
                    continue
                rows = _rows(sheet, limits)
                if rows:
                    draft.heading(clean(sheet.title), 1)
                    write_table(draft, _aligned(rows))
    except (
        *(AttributeError, IndexError, KeyError, OverflowError, TypeError, ValueError, SyntaxError, NotImplementedError),
        *(zipfile.BadZipFile, etree.LxmlError, OSError, EOFError),
    ) as error:
        # openpyxl has no error of its own: a part that is not as it expects ends in any of these.
        raise DamagedFile(DAMAGED.format(f"{type(error).__name__}: {error}")) from error
    return draft.finish()


def _rows(sheet: Any, limits: Limits) -> list[dict[int, str]]:
    """A sheet's rows that have words, each as column -> text: empty cells cost nothing, however many the sheet says it has."""
    # The dimensions that a sheet declares may be a million rows of sixteen thousand cells; without them the rows that are there count.
    sheet.reset_dimensions()
    found: list[dict[int, str]] = []
    characters = 0
    for row in sheet.iter_rows():
        cells = {at: text for at, cell in enumerate(row) if cell.value is not None and (text := _text(cell.value, cell.number_format))}
        if cells:
            found.append(cells)
            characters += sum(map(len, cells.values()))
            if characters > limits.text_chars:
                raise TooLarge(
                    f"more than {limits.text_chars:,} characters of text (text_chars) in sheet {clean(sheet.title)}: "
                    "raise that limit or split the file"
                )
    return found


def _aligned(rows: list[dict[int, str]]) -> Iterator[list[str]]:
    """Rows of equal width without the columns that are empty from top to bottom. A merged cell stands once, in its first place."""
    columns = sorted({column for row in rows for column in row})
    for row in rows:
        yield [row.get(column, "") for column in columns] if len(columns) <= _COLUMNS else [row[column] for column in sorted(row)]


def _text(value: Any, form: str) -> str:
    """A cell as a person would write it: 13 and not 13.0, 25% and not 0.25, a date without its midnight."""
    match value:
        case bool():
            return "TRUE" if value else "FALSE"
        case int() | float():
            return f"{100 * value:.15g}%" if "%" in form else f"{value:.15g}" if isinstance(value, float) else str(value)
        case datetime.datetime():
            return value.date().isoformat() if value.time() == datetime.time() else value.isoformat(" ", "seconds")
        case datetime.time():
            return value.isoformat("seconds")
        case _:
            return clean(str(value)).replace("\f", " ").strip()
