"""Workbooks: sheets under their names, values as a person writes them, and sizes that a sheet only claims cost nothing."""

import datetime
import io
import re
import zipfile
from collections.abc import Callable
from typing import Any

import openpyxl
import pytest

from ingest.errors import DamagedFile, NoText, PasswordNeeded, TooLarge
from ingest.parsers.parsed import Parsed
from ingest.parsers.xlsx import parse
from ingest.types import Limits


def saved(write: Callable[[Any], None]) -> bytes:
    book = openpyxl.Workbook()
    write(book)
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


def read(write: Callable[[Any], None]) -> Parsed:
    return parse(saved(write), Limits())


def replaced(data: bytes, part: str, change: Callable[[bytes], bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            new.writestr(name, change(old.read(name)) if name == part else old.read(name))
    return out.getvalue()


def test_each_sheet_is_a_heading_over_its_rows() -> None:
    def write(book: Any) -> None:
        book.active.title = "Towns"
        for row in (("town", "people"), ("Aa", 13), ("Bo", 2.5)):
            book.active.append(row)
        book.create_sheet("Empty")
        book.create_sheet("More").append(("x", "y"))

    parsed = read(write)
    assert parsed.text == "Towns\n\ntown | people\nAa | 13\nBo | 2.5\n\nMore\n\nx | y"
    assert [(block.kind, block.heading) for block in parsed.blocks] == [
        ("heading", "Towns"),
        ("table", "Towns"),
        ("heading", "More"),
        ("table", "More"),
    ]


def test_values_are_written_as_a_person_writes_them() -> None:
    def write(book: Any) -> None:
        book.active.append(
            (True, 13.0, 0.1 + 0.2, datetime.date(2024, 1, 31), datetime.datetime(2024, 1, 31, 8, 30), datetime.time(8, 5), "a\nb", 10**15)
        )

    assert read(write).text.split("\n\n")[1] == "TRUE | 13 | 0.3 | 2024-01-31 | 2024-01-31 08:30:00 | 08:05:00 | a b | 1000000000000000"


def test_a_percentage_reads_as_one() -> None:
    def write(book: Any) -> None:
        book.active.append(("share", 0.255, 1))
        book.active["B1"].number_format = "0.0%"
        book.active["C1"].number_format = "0%"

    assert read(write).text == "Sheet\n\nshare | 25.5% | 100%"


def test_merged_cells_stand_once_and_empty_columns_not_at_all() -> None:
    def write(book: Any) -> None:
        sheet = book.active
        sheet["C3"], sheet["E3"], sheet["F3"] = "wide", "b", "c"
        sheet.merge_cells("C3:D3")
        sheet["C5"], sheet["D5"], sheet["F5"] = 1, 2, 4

    assert read(write).text == "Sheet\n\nwide |  | b | c\n1 | 2 |  | 4"


def test_hidden_sheets_are_left_out_with_a_note() -> None:
    def write(book: Any) -> None:
        book.active.append(("seen",))
        book.create_sheet("Secret").append(("hidden",))
        book["Secret"].sheet_state = "hidden"

    parsed = read(write)
    assert "hidden" not in parsed.text
    assert parsed.notes == ("hidden sheet left out: Secret",)


def test_a_formula_gives_its_stored_value_and_never_itself() -> None:
    def write(book: Any) -> None:
        book.active.append(("a", '=HYPERLINK("http://x.example")'))

    assert read(write).text == "Sheet\n\na"


def test_a_sheet_that_claims_a_million_rows_of_sixteen_thousand_cells_costs_what_it_holds() -> None:
    data = saved(lambda book: book.active.append(("a", "b")))
    claimed = replaced(data, "xl/worksheets/sheet1.xml", lambda xml: re.sub(rb'ref="[^"]*"', b'ref="A1:XFD1048576"', xml))
    assert claimed != data
    assert parse(claimed, Limits(parse_seconds=5)).text == "Sheet\n\na | b"

    def far(book: Any) -> None:
        book.active["A1"], book.active["XFD1048576"] = "near", "far"

    assert read(far).text == "Sheet\n\nnear\nfar"


def test_rows_of_very_many_columns_name_their_filled_cells_alone() -> None:
    def write(book: Any) -> None:
        for row in range(1, 301):
            book.active.cell(row, row, f"c{row}")

    text = read(write).text
    assert "\nc299\nc300" in text
    assert "|" not in text


def test_limits_and_damage_are_told() -> None:
    def write(book: Any) -> None:
        for _ in range(30):
            book.active.append(("words " * 10,))

    with pytest.raises(TooLarge, match=r"text_chars\) in sheet Sheet"):
        parse(saved(write), Limits(text_chars=500))
    with pytest.raises(NoText):
        read(lambda book: None)
    with pytest.raises(DamagedFile, match="damaged or cut short"):
        parse(saved(write)[:500], Limits())
    with pytest.raises(DamagedFile):
        parse(replaced(saved(write), "xl/worksheets/sheet1.xml", lambda xml: xml[: len(xml) // 2]), Limits())
    with pytest.raises(PasswordNeeded):
        parse(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + "EncryptedPackage".encode("utf-16-le"), Limits())
