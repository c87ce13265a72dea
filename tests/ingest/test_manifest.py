"""Every real file of the sample collection comes out as its row in the manifest says."""

import csv
import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from ingest.errors import DamagedFile, EmptyFile, LoadError, NoText, PasswordNeeded, UnsupportedType
from ingest.load import KINDS, PDF_ENGINES, load
from ingest.types import Document, Limits, Scan

# What a row asks for that is not a phrase in quotes: an error and a word of its message.
ERRORS: dict[str, tuple[type[LoadError], str]] = {
    "zero_length.pdf": (EmptyFile, "empty"),
    "text_empty.txt": (EmptyFile, "empty"),
    "text_only_whitespace.txt": (NoText, "white space"),
    "enc_r6_user_password.pdf": (PasswordNeeded, "password"),
    "word_password.docx": (PasswordNeeded, "encrypted"),
    "word_truncated.docx": (DamagedFile, "damaged"),
}
# What a row says beyond its phrases.
FACTS: dict[str, Callable[[Document], bool]] = {
    # A picture 6.3 by 12.7 metres in size, and scans: nothing is decoded yet, so memory stays small. PDFium does not multiply by UserUnit.
    "huge_page_poster.pdf": lambda d: d.scans in ((Scan(1, 18000.0, 36000.0),), (Scan(1, 1800.0, 3600.0),)),
    "scan_ocr_test.pdf": lambda d: [round(scan.width) for scan in d.scans] == [595],
    "page_layout_parser.jpg": lambda d: d.scans == (Scan(1, 612.0, 792.0),),
    "page_chinese.jpeg": lambda d: d.scans == (Scan(1, 336.75, 82.5),),
    "long_riscv_238p.pdf": lambda d: d.source_pages == 238 and "0x7fc00000" in on_page(d, 84),
    "layout_parser_empty_pages.pdf": lambda d: d.source_pages == 4 and "blank: page 2" in d.notes,
    "text_rfc1951_formfeeds.txt": lambda d: d.source_pages == 17 and d.text.count("\f") == 16,
    "docling_multi_page.pdf": lambda d: d.source_pages == 5 and "Christopher Latham Sholes" in on_page(d, 1),
    "multi_column_2p.pdf": lambda d: "Lucene-BM25" in on_page(d, 1),
    "table_borderless_invoice.pdf": lambda d: "$4,287.50" in on_page(d, 1),
    "nics_rotated_table.pdf": lambda d: any(line.startswith("Alabama 18,870 23,022 22,650") for line in d.text.split("\n")),
    "html_utf16.html": lambda d: "Japanese steel" in d.text and "SNB22-3" in d.text and "\0" not in d.text,
    "html_nul_bytes.html": lambda d: "\0" not in d.text and any("NUL" in note for note in d.notes),
    "form_openoffice.pdf": lambda d: "CheckBox1: Off" in d.text,
    "docx_tables.docx": lambda d: "Header Col 1 | Header Col 2" in d.text and d.text.count("e |") == 1,
    "handbook_872p.docx": lambda d: len(d.text.split()) > 120_000 and "38 headers left out" in d.notes,
    "fuzzed_pdfbox_3148.pdf": lambda d: d.source_pages == 1,
    "hebrew_rtl.pdf": lambda d: len(d.blocks) > 1,
    "csv_utf16.csv": lambda d: d.text.split("\n")[2:4] == ["Team,Location,Stanley Cups", "Blues,STL,1"],
    "csv_shift_jis.csv": lambda d: any("cp932" in note for note in d.notes),
    "markitdown_test.epub": lambda d: d.blocks[-1].heading == "Test EPUB Document > Chapter 2: More Content",
    "umlauts_latin1.md": lambda d: d.blocks[0].kind == "heading",
}


def on_page(document: Document, page: int) -> str:
    return "\n".join(document.text[block.start : block.end] for block in document.blocks if block.page == page)


def complaint(row: dict[str, str], path: Path, pdf_engine: str) -> str:
    """What is wrong with a file's outcome; "" if nothing is."""
    name, right = row["file"], row["right_ingest"]
    expected = ERRORS.get(name) or (None if path.suffix in KINDS else (UnsupportedType, "supported: "))
    try:
        document = load(path, name, str(path), Limits(), pdf_engine=pdf_engine)
    except LoadError as error:
        if expected and isinstance(error, expected[0]) and str(error).startswith(name + ": ") and expected[1] in str(error):
            return ""
        return f"{name}: {type(error).__name__}: {error}"
    if expected:
        return f"{name}: it was read, though {expected[0].__name__} is right"
    # What is written on a picture is not known before it is developed.
    wanted = [] if document.scans else re.findall(r'"([^"]+)"', right)
    missing = [phrase for phrase in wanted if phrase not in " ".join(document.text.split())]
    if not wanted and name not in FACTS:
        return f"{name}: this test does not know what {right!r} asks for"
    if missing:
        return f"{name}: {missing} not found"
    return "" if name not in FACTS or FACTS[name](document) else f"{name}: not as its row says: {right}"


@pytest.mark.parametrize("pdf_engine", PDF_ENGINES)
def test_every_row_comes_out_as_the_manifest_says(shared: Path, pdf_engine: str) -> None:
    folder = shared / "data" / "docs"
    with (folder / "MANIFEST.tsv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    assert {*ERRORS, *FACTS} <= {row["file"] for row in rows}
    if pdf_engine != "pymupdf":
        rows = [row for row in rows if row["file"].endswith(".pdf")]
    # Each file has a process of its own; the threads only wait for them.
    with ThreadPoolExecutor(4) as pool:
        complaints = list(pool.map(lambda row: complaint(row, folder / row["file"], pdf_engine), rows))
    assert [text for text in complaints if text] == []
