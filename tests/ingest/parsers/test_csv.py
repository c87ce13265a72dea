"""Tables as text: any delimiter and encoding, rows in their own notation, names of columns in every block."""

import pytest

from ingest.errors import NoText, TooLarge
from ingest.parsers.csv import delimiter_of, parse
from ingest.types import Limits


def text(source: str) -> str:
    return parse(source.encode(), Limits()).text


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_delimiter_is_the_one_that_parts_the_rows_alike(delimiter: str) -> None:
    rows = [["name", "remark", "sum"], ["Bo", "tall, with a hat", "1"], ["Ek", "small", "2"]]
    source = "\r\n".join(delimiter.join(f'"{cell}"' if delimiter in cell else cell for cell in row) for row in rows)
    assert delimiter_of(source) == delimiter
    shown = source.replace("\r\n", "\n")
    assert text(source) == (shown if delimiter in ",;" else shown.replace(delimiter, " | "))


def test_a_decimal_comma_does_not_part_a_row_of_semicolons() -> None:
    assert text("Ort;Preis\nBerlin;1,50\nWien;2,75") == "Ort;Preis\nBerlin;1,50\nWien;2,75"


def test_quoted_cells_may_hold_delimiters_quotes_and_lines() -> None:
    assert text('a,b\n"x, y","say ""hi""\nthere"') == 'a,b\n"x, y",say "hi" there'


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be", "utf-8-sig", "cp932", "utf-32"])
def test_encodings_are_told_by_their_marks_or_their_bytes(encoding: str) -> None:
    source = "名前,年齢,住所\n佐藤太郎,30,東京\n三木英子,25,大阪\n高橋淳,35,名古屋"
    data = source.encode(encoding)
    assert parse(b"\xfe\xff" + data if encoding == "utf-16-be" else data, Limits()).text == source


def test_a_quotation_mark_that_is_never_closed_swallows_nothing() -> None:
    parsed = parse(("a,b\n" + '"x,1\n' + "y,2\n" * 500).encode(), Limits())
    assert parsed.text.count("y,2") == 500
    assert "y,2\ny,2" in parsed.text
    assert any("never closed" in note for note in parsed.notes)


def test_one_column_is_lines() -> None:
    assert text("first line\nsecond line\n") == "first line\nsecond line"


def test_formulas_and_markup_arrive_as_text() -> None:
    assert text("a,b\n=cmd|' /C calc'!A0,<script>alert(1)</script>") == "a,b\n=cmd|' /C calc'!A0,<script>alert(1)</script>"


def test_cells_alone_and_limits_are_told() -> None:
    with pytest.raises(NoText):
        text(",,\n,,\n")
    with pytest.raises(TooLarge, match="text_chars"):
        parse(b"a,b\n" * 1000, Limits(text_chars=100))
    with pytest.raises(TooLarge, match="one of its cells"):
        parse(b'a,b\n"' + b"x" * 1000, Limits(text_chars=100))
