"""Word documents: the body in order, merged cells once, and containers that are not what they say."""

import io
import zipfile
from collections.abc import Callable
from typing import Any

import docx
import pytest
from docx.oxml import parse_xml

from ingest.errors import DamagedFile, NoText, PasswordNeeded, UnsupportedType
from ingest.parsers.docx import parse
from ingest.parsers.parsed import Parsed
from ingest.types import Limits

W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'


def saved(write: Callable[[Any], None]) -> bytes:
    document = docx.Document()
    write(document)
    out = io.BytesIO()
    document.save(out)
    return out.getvalue()


def read(write: Callable[[Any], None]) -> Parsed:
    return parse(saved(write), Limits())


def test_headings_paragraphs_and_items_come_in_order() -> None:
    def write(document: Any) -> None:
        document.add_heading("Book", 0)
        document.add_heading("One", 2)
        document.add_paragraph("words\nnext line")
        document.add_paragraph("first", style="List Bullet")
        document.add_paragraph("second", style="List Bullet")

    parsed = read(write)
    assert parsed.text == "Book\n\nOne\n\nwords\nnext line\n\n- first\n- second"
    assert [(block.kind, block.heading) for block in parsed.blocks] == [
        ("heading", "Book"),
        ("heading", "Book > One"),
        ("paragraph", "Book > One"),
        ("list", "Book > One"),
    ]


def test_merged_cells_stand_once_and_a_table_in_a_cell_on_one_line() -> None:
    def write(document: Any) -> None:
        table = document.add_table(3, 3)
        for row in range(3):
            for column in range(3):
                table.cell(row, column).text = f"{row}{column}"
        table.cell(0, 0).merge(table.cell(0, 1)).text = "wide"
        table.cell(1, 2).merge(table.cell(2, 2)).text = "tall"
        inner = table.cell(2, 0).add_table(1, 2)
        inner.cell(0, 0).text, inner.cell(0, 1).text = "x", "y"
        document.add_paragraph("after")

    assert read(write).text == "wide | 02\n10 | 11 | tall\n20 x, y | 21 |\n\nafter"


def test_deleted_text_is_left_out_and_inserted_and_boxed_text_read_once() -> None:
    def write(document: Any) -> None:
        document.element.body.insert(
            0,
            parse_xml(
                f"<w:p {W}><w:r><w:t>a </w:t></w:r><w:del><w:r><w:delText>gone</w:delText><w:t>gone</w:t></w:r></w:del>"
                "<w:ins><w:r><w:t>new</w:t></w:r></w:ins>"
                '<w:r><mc:AlternateContent xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006">'
                "<mc:Choice><w:txbxContent><w:p><w:r><w:t>box</w:t></w:r></w:p></w:txbxContent></mc:Choice>"
                "<mc:Fallback><w:txbxContent><w:p><w:r><w:t>box</w:t></w:r></w:p></w:txbxContent></mc:Fallback>"
                "</mc:AlternateContent></w:r></w:p>"
            ),
        )

    assert read(write).text == "a new\nbox"


def test_headers_and_footers_are_left_out_with_a_note() -> None:
    def write(document: Any) -> None:
        document.sections[0].header.paragraphs[0].text = "on every page"
        document.add_paragraph("body")

    parsed = read(write)
    assert parsed.text == "body"
    assert parsed.notes == ("1 headers left out",)


def test_a_document_without_words_is_no_text() -> None:
    with pytest.raises(NoText):
        read(lambda document: None)


def container(parts: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as file:
        for name, data in parts.items():
            file.writestr(name, data)
    return out.getvalue()


@pytest.mark.parametrize("cut", [30, 800, -200])
def test_a_cut_file_is_damaged(cut: int) -> None:
    with pytest.raises(DamagedFile, match="damaged or cut short"):
        parse(saved(lambda document: document.add_paragraph("words"))[:cut], Limits())


def test_other_containers_are_told_apart() -> None:
    with pytest.raises(UnsupportedType, match=r"call it \.xlsx"):
        parse(container({"xl/workbook.xml": b"<x/>"}), Limits())
    with pytest.raises(UnsupportedType, match=r"old kind \(\.doc\)"):
        parse(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 512, Limits())
    with pytest.raises(PasswordNeeded, match="encrypted"):
        parse(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + "EncryptedPackage".encode("utf-16-le"), Limits())
    with pytest.raises(DamagedFile):
        parse(container({"word/document.xml": b"<not closed"}), Limits())
