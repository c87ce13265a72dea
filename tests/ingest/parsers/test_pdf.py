"""PDFs: pages in order, rows whole, and a clear word for what has no text."""

import re
import subprocess
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pymupdf
import pypdfium2
import pytest

from ingest.errors import DamagedFile, NoText, PasswordNeeded, TooLarge
from ingest.parsers import pdf, pdfium, printed
from ingest.parsers.parsed import Parsed
from ingest.parsers.printed import spelt
from ingest.types import Limits, Scan

ROOT = Path(__file__).resolve().parents[3]


def saved(*pages: Callable[[Any], None], **options: Any) -> bytes:
    document = pymupdf.open()
    for write in pages:
        write(document.new_page(width=400, height=400))
    return document.tobytes(**options)  # type: ignore[no-any-return]


def says(text: str, x: float = 50, y: float = 100, **options: Any) -> Callable[[Any], None]:
    return lambda page: page.insert_text((x, y), text, **options)


Parse = Callable[[bytes, Limits], Parsed]


@pytest.fixture(params=["pdf", "pdfium"])
def parse(request: pytest.FixtureRequest) -> Parse:
    """Each engine in turn: whoever reads a PDF, the same comes out."""
    return import_module(f"ingest.parsers.{request.param}").parse  # type: ignore[no-any-return]


def blank(page: Any) -> None:
    pass


def picture(page: Any) -> None:
    page.insert_image(page.rect, pixmap=pymupdf.Pixmap(pymupdf.csRGB, pymupdf.IRect(0, 0, 8, 8)))


def found(parsed: Parsed) -> list[tuple[str, int | None]]:
    return [(parsed.text[block.start : block.end], block.page) for block in parsed.blocks]


def test_each_block_knows_its_page_and_what_is_blank_is_noted(parse: Parse) -> None:
    parsed = parse(saved(says("one"), blank, picture, says("four")), Limits())
    assert found(parsed) == [("one", 1), ("four", 4)]
    assert parsed.source_pages == 4
    assert parsed.scans == (Scan(3, 400.0, 400.0),)
    assert parsed.notes == ("blank: page 2",)


def test_pages_that_are_pictures_are_scans_and_blank_ones_no_text(parse: Parse) -> None:
    def wide(page: Any) -> None:
        picture(page)
        page.set_mediabox(pymupdf.Rect(0, 0, 400, 300))
        page.set_rotation(90)

    assert parse(saved(picture, wide), Limits()).scans == (Scan(1, 400.0, 400.0), Scan(2, 300.0, 400.0))
    with pytest.raises(NoText, match="its 1 page is blank"):
        parse(saved(blank), Limits())


@pytest.mark.parametrize("turn", [0, 90, 180, 270])
def test_a_table_s_row_is_one_row_however_the_page_or_its_text_is_turned(turn: int, parse: Parse) -> None:
    def write(page: Any) -> None:
        for row, words in enumerate((("Alabama", "18,870", "23,022"), ("Alaska", "209", "3,062"))):
            for column, word in enumerate(words):
                right, down = 80 * column - 80, 14 * row - 7
                along = {0: (right, down), 90: (down, -right), 180: (-right, -down), 270: (-down, right)}[turn]
                page.insert_text((200 + along[0], 200 + along[1]), word, rotate=turn)
        page.set_rotation((90 + turn) % 360)

    assert parse(saved(write), Limits()).text == "Alabama 18,870 23,022\nAlaska 209 3,062"


def test_larger_print_is_a_heading_over_what_follows(parse: Parse) -> None:
    def write(page: Any) -> None:
        page.insert_text((50, 60), "Title", fontsize=20)
        for line in range(8):
            page.insert_text((50, 100 + 12 * line), "words of the body that run on and on here", fontsize=9)

    parsed = parse(saved(write), Limits())
    assert [(block.kind, block.heading) for block in parsed.blocks] == [("heading", "Title"), ("paragraph", "Title")]


def test_ligatures_are_spelt_out_and_other_compatibility_forms_kept() -> None:
    assert spelt("\ufb01nd \ufb00 x\u00b2 \uff21") == "find ff x\u00b2 \uff21"


def test_form_fields_are_read_once_where_they_are_drawn_or_else_as_rows(parse: Parse) -> None:
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


def test_a_password_is_asked_for_only_where_it_is_needed(parse: Parse) -> None:
    locked = {"encryption": pymupdf.PDF_ENCRYPT_AES_256, "owner_pw": "owner"}
    assert parse(saved(says("open"), user_pw="", **locked), Limits()).text == "open"
    with pytest.raises(PasswordNeeded, match="password"):
        parse(saved(says("shut"), user_pw="user", **locked), Limits())


def test_limits_name_the_value_and_the_setting(parse: Parse) -> None:
    data = saved(says("one"), says("two"), says("three"))
    with pytest.raises(TooLarge, match=r"3 pages, over 2 \(source_pages\)"):
        parse(data, Limits(source_pages=2))
    with pytest.raises(TooLarge, match=r"5 characters of text \(text_chars\) by page 2"):
        parse(data, Limits(text_chars=5))


@pytest.mark.parametrize("data", [b"%PDF-1.7\n", b"%PDF-1.7\n1 0 obj <</Type/Catalog>> endobj\ntrailer <</Root 1 0 R>>"])
def test_a_file_without_pages_is_damaged(data: bytes, parse: Parse) -> None:
    with pytest.raises(DamagedFile, match="damaged or cut short"):
        parse(data, Limits())


@pytest.mark.parametrize("engine", [pdf, pdfium])
def test_a_page_that_fails_is_a_note_and_the_rest_go_on(engine: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    read = engine._sheet
    asked: list[int] = []

    def failing(*given: Any) -> Any:
        asked.append(len(asked))
        if len(asked) == 2:
            raise pypdfium2.PdfiumError("no page") if engine is pdfium else RuntimeError("no page")
        return read(*given)

    monkeypatch.setattr(engine, "_sheet", failing)
    parsed = engine.parse(saved(says("one"), says("two"), says("three")), Limits())
    assert found(parsed) == [("one", 1), ("three", 3)]
    assert parsed.notes == ("page 2 could not be read and is left out (no page)",)


def test_a_note_written_onto_the_page_is_read(parse: Parse) -> None:
    def write(page: Any) -> None:
        page.insert_text((50, 50), "printed")
        page.add_freetext_annot(pymupdf.Rect(50, 100, 300, 140), "written later")

    assert parse(saved(write), Limits()).text == "printed\n\nwritten later"


def test_what_stands_beside_the_paper_is_not_read(parse: Parse) -> None:
    def write(page: Any) -> None:
        page.insert_text((50, 50), "seen")
        page.insert_text((50, 900), "unseen")

    assert parse(saved(write), Limits()).text == "seen"


def test_a_footnote_s_number_stays_in_its_line(parse: Parse) -> None:
    def write(page: Any) -> None:
        page.insert_text((50, 50), "units", fontsize=10)
        page.insert_text((50 + pymupdf.get_text_length("units", fontsize=10), 46), "3", fontsize=7)
        page.insert_text((78, 50), "and more", fontsize=10)

    assert parse(saved(write), Limits()).text == "units3 and more"


def test_cells_are_kept_apart_and_columns_read_one_after_the_other(parse: Parse) -> None:
    def write(page: Any) -> None:
        for row in range(6):
            for side, x in (("left", 20), ("right", 220)):
                page.insert_text((x, 60 + 12 * row), f"{side} {row} of a column of prose that runs on", fontsize=8)

    text = parse(saved(write), Limits()).text
    assert text.index("left 5") < text.index("right 0")


def test_what_a_form_s_script_would_do_is_not_done(parse: Parse) -> None:
    document = pymupdf.open("pdf", saved(says("words")))
    document.xref_set_key(document.pdf_catalog(), "OpenAction", "<</S/JavaScript/JS(this.addField\\('evil', 'text', 0, [0,0,9,9]\\))>>")
    assert "JavaScript" in document.xref_object(document.pdf_catalog())
    assert parse(document.tobytes(), Limits()).text == "words"


@pytest.mark.parametrize(("library", "files"), [("pymupdf", {"pdf.py", "pdf_scan.py"}), ("pypdfium2", {"pdfium.py", "pdfium_scan.py"})])
def test_each_library_is_imported_by_its_own_two_files_alone(library: str, files: set[str]) -> None:
    rooms = [path for room in ("renderer", "cache_compiler", "retrieval", "ingest", "app", "eval") for path in (ROOT / room).rglob("*.py")]
    found = {path for path in rooms if re.search(rf"^\s*(import|from) {library}\b", path.read_text(encoding="utf-8"), re.M)}
    assert {path.name for path in found} == files
    assert {path.parent for path in found} == {ROOT / "ingest" / "parsers"}


@pytest.mark.parametrize("library", ["pymupdf", "pypdfium2"])
def test_one_engine_reads_without_the_other(library: str, tmp_path: Path) -> None:
    (tmp_path / "a.pdf").write_bytes(saved(says("words")))
    parser, other = ("pdf", "pypdfium2") if library == "pymupdf" else ("pdfium", "pymupdf")
    program = (
        f"import sys; sys.modules[{other!r}] = None; sys.modules['fitz'] = None;"
        "from pathlib import Path; from ingest.worker import answer; from ingest.types import Limits;"
        f"print(answer(Path({str(tmp_path / 'a.pdf')!r}), {parser!r}, Limits())['text'])"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "words\n"


@pytest.mark.parametrize("parser", ["pdf", "pdfium"])
def test_an_engine_that_is_not_installed_says_so(parser: str, tmp_path: Path) -> None:
    (tmp_path / "a.pdf").write_bytes(saved(says("words")))
    program = (
        "import sys; sys.modules['pymupdf'] = None; sys.modules['pypdfium2'] = None;"
        "from pathlib import Path; from ingest.worker import answer; from ingest.types import Limits;"
        f"reply = answer(Path({str(tmp_path / 'a.pdf')!r}), {parser!r}, Limits()); print(reply['error'], reply['message'])"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("UnsupportedType the library pymupdf" if parser == "pdf" else "UnsupportedType the library pypdfium2")
    assert "pdf_engine" in done.stdout


def test_text_that_nobody_could_read_is_noted() -> None:
    whole, garbled = Parsed("plain", ()), Parsed("a\ufffd\ue000\uf8ff", ())
    assert printed._checked(whole).notes == ()
    assert printed._checked(garbled).notes == ("3 of 4 characters are unreadable: its fonts do not say which letters they draw",)
    lost = Parsed("much text and one \ufffd", ())
    assert printed._checked(lost).notes == ("1 of 15 characters show as \ufffd: its fonts do not say which letters they draw",)
