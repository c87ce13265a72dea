"""PDFs: pages in order, rows whole, and a clear word for what has no text."""

from collections.abc import Callable
from typing import Any

import pymupdf
import pytest

from ingest.errors import DamagedFile, NoText, PasswordNeeded, TooLarge
from ingest.parsers import pdf
from ingest.parsers.parsed import Parsed
from ingest.parsers.pdf import parse
from ingest.types import Limits


def saved(*pages: Callable[[Any], None], **options: Any) -> bytes:
    document = pymupdf.open()
    for write in pages:
        write(document.new_page(width=400, height=400))
    return document.tobytes(**options)  # type: ignore[no-any-return]


def says(text: str, x: float = 50, y: float = 100, **options: Any) -> Callable[[Any], None]:
    return lambda page: page.insert_text((x, y), text, **options)


def blank(page: Any) -> None:
    pass


def picture(page: Any) -> None:
    page.insert_image(page.rect, pixmap=pymupdf.Pixmap(pymupdf.csRGB, pymupdf.IRect(0, 0, 8, 8)))


def found(parsed: Parsed) -> list[tuple[str, int | None]]:
    return [(parsed.text[block.start : block.end], block.page) for block in parsed.blocks]


def test_each_block_knows_its_page_and_what_is_not_read_is_noted() -> None:
    parsed = parse(saved(says("one"), blank, picture, says("four")), Limits())
    assert found(parsed) == [("one", 1), ("four", 4)]
    assert parsed.source_pages == 4
    assert parsed.notes == ("blank: page 2", "no text layer, a picture that is not read: page 3")


def test_pages_that_are_pictures_are_no_text_and_counted() -> None:
    with pytest.raises(NoText, match="no text layer: its 2 pages are pictures; scans are not read yet"):
        parse(saved(picture, picture), Limits())
    with pytest.raises(NoText, match="its 1 page is blank"):
        parse(saved(blank), Limits())


@pytest.mark.parametrize("turn", [0, 90, 180, 270])
def test_a_table_s_row_is_one_row_however_the_page_or_its_text_is_turned(turn: int) -> None:
    def write(page: Any) -> None:
        for row, words in enumerate((("Alabama", "18,870", "23,022"), ("Alaska", "209", "3,062"))):
            for column, word in enumerate(words):
                right, down = 80 * column - 80, 14 * row - 7
                along = {0: (right, down), 90: (down, -right), 180: (-right, -down), 270: (-down, right)}[turn]
                page.insert_text((200 + along[0], 200 + along[1]), word, rotate=turn)
        page.set_rotation((90 + turn) % 360)

    assert parse(saved(write), Limits()).text == "Alabama 18,870 23,022\nAlaska 209 3,062"


def test_larger_print_is_a_heading_over_what_follows() -> None:
    def write(page: Any) -> None:
        page.insert_text((50, 60), "Title", fontsize=20)
        for line in range(8):
            page.insert_text((50, 100 + 12 * line), "words of the body that run on and on here", fontsize=9)

    parsed = parse(saved(write), Limits())
    assert [(block.kind, block.heading) for block in parsed.blocks] == [("heading", "Title"), ("paragraph", "Title")]


def test_ligatures_are_spelt_out_and_other_compatibility_forms_kept() -> None:
    assert "\ufb01nd \ufb00 x\u00b2 \uff21".translate(pdf._LIGATURES) == "find ff x\u00b2 \uff21"


def test_form_fields_are_read_once_where_they_are_drawn_or_else_as_rows() -> None:
    def write(page: Any) -> None:
        for number, (name, value) in enumerate((("Name", "Bo Ek"), ("Town", ""), ("Trade", "baker"))):
            widget = pymupdf.Widget()
            widget.field_name, widget.field_value, widget.field_type = name, value, pymupdf.PDF_WIDGET_TYPE_TEXT
            widget.rect = pymupdf.Rect(50, 50 + 40 * number, 200, 70 + 40 * number)
            page.add_widget(widget)
        trade = list(page.annots(types=[pymupdf.PDF_ANNOT_WIDGET])) or list(page.widgets())
        page.parent.xref_set_key(trade[-1].xref, "AP", "null")
        tick = pymupdf.Widget()
        tick.field_name, tick.field_value, tick.field_type = "Agreed", True, pymupdf.PDF_WIDGET_TYPE_CHECKBOX
        tick.rect = pymupdf.Rect(50, 200, 60, 210)
        page.add_widget(tick)

    text = parse(saved(write), Limits()).text
    assert text.count("Bo Ek") == 1
    assert "Agreed: Yes" in text.split("\n")
    assert text.count("baker") == 1
    assert "Town" not in text


def test_a_password_is_asked_for_only_where_it_is_needed() -> None:
    locked = {"encryption": pymupdf.PDF_ENCRYPT_AES_256, "owner_pw": "owner"}
    assert parse(saved(says("open"), user_pw="", **locked), Limits()).text == "open"
    with pytest.raises(PasswordNeeded, match="password"):
        parse(saved(says("shut"), user_pw="user", **locked), Limits())


def test_limits_name_the_value_and_the_setting() -> None:
    data = saved(says("one"), says("two"), says("three"))
    with pytest.raises(TooLarge, match=r"3 pages, over 2 \(source_pages\)"):
        parse(data, Limits(source_pages=2))
    with pytest.raises(TooLarge, match=r"5 characters of text \(text_chars\) by page 2"):
        parse(data, Limits(text_chars=5))


@pytest.mark.parametrize("data", [b"%PDF-1.7\n", b"%PDF-1.7\n1 0 obj <</Type/Catalog>> endobj\ntrailer <</Root 1 0 R>>"])
def test_a_file_without_pages_is_damaged(data: bytes) -> None:
    with pytest.raises(DamagedFile, match="damaged or cut short"):
        parse(data, Limits())


def test_a_page_that_fails_is_a_note_and_the_rest_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    read = pdf._read

    def failing(page: Any) -> Any:
        if page.number == 1:
            raise RuntimeError("cycle in page tree")
        return read(page)

    monkeypatch.setattr(pdf, "_read", failing)
    parsed = parse(saved(says("one"), says("two"), says("three")), Limits())
    assert found(parsed) == [("one", 1), ("three", 3)]
    assert parsed.notes == ("page 2 could not be read and is left out (cycle in page tree)",)


def test_text_that_nobody_could_read_is_noted() -> None:
    whole, garbled = Parsed("plain", ()), Parsed("a\ufffd\ue000\uf8ff", ())
    assert pdf._checked(whole).notes == ()
    assert pdf._checked(garbled).notes == ("3 of 4 characters are unreadable: its fonts do not say which letters they draw",)
