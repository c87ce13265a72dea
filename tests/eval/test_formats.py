"""What is written in each format is read back by our own parser, line for line."""

import re

import pytest

from eval import formats
from eval.prose import LIBRARY_RULES, MUSEUM_LEAFLET, Heading, Paragraph, Table
from ingest.parsers import docx, html, markdown, pdf, text
from ingest.types import Limits

LINES = ["The gray farm's driver is Waigair Fraimi.", "Heahed bridge: price $68,256.", "Cost (net) \\ <5 & more: 7.", "Müller, Straße 4."]


def lines_of(parsed):
    return [line for line in parsed.text.split("\n") if line.strip()]


@pytest.mark.parametrize(
    ("write", "parse"),
    [
        (lambda: formats.txt([LINES]), text.parse),
        (lambda: formats.html_page(LINES), html.parse),
        (lambda: formats.docx([Paragraph(line) for line in LINES]), docx.parse),
        (lambda: formats.pdf([Paragraph(line) for line in LINES], gap=2.0), pdf.parse),
    ],
    ids=["txt", "html", "docx", "pdf"],
)
def test_each_line_comes_back_as_a_line(write, parse):
    assert lines_of(parse(write(), Limits())) == LINES


def test_markdown_keeps_the_lines_of_records_apart():
    plain = [LINES[0], LINES[1]]
    assert lines_of(markdown.parse(formats.markdown(plain), Limits())) == plain


def test_a_form_feed_parts_the_pages_of_a_text():
    parsed = text.parse(formats.txt([["One."], ["Two."]]), Limits())
    assert [(parsed.text[b.start : b.end], b.page) for b in parsed.blocks] == [("One.", 1), ("Two.", 2)]


def test_headings_and_tables_of_a_word_file_come_back_as_such():
    parsed = docx.parse(formats.docx(LIBRARY_RULES), Limits())
    headings = [parsed.text[b.start : b.end] for b in parsed.blocks if b.kind == "heading"]
    assert headings == [part.text for part in LIBRARY_RULES if isinstance(part, Heading)]
    assert "Saturday | 10.00 to 16.00 | 10.00 to 15.00" in parsed.text


def test_a_pdfs_paragraphs_and_headings_come_back_whole():
    parsed = pdf.parse(formats.pdf(MUSEUM_LEAFLET), Limits())
    for part in MUSEUM_LEAFLET:
        kind = "heading" if isinstance(part, Heading) else "paragraph"
        assert (kind, part.text) in [(b.kind, parsed.text[b.start : b.end]) for b in parsed.blocks]


def test_a_pdfs_cross_reference_table_points_at_its_objects():
    data = formats.pdf([Paragraph("x" * 40)] * 60)
    start = int(re.search(rb"startxref\n(\d+)\n%%EOF", data)[1])
    count = int(re.match(rb"xref\n0 (\d+)\n", data[start:])[1])
    entries = re.findall(rb"(\d{10}) 00000 n ", data[start:])
    assert len(entries) == count - 1
    for number, offset in enumerate(entries, start=1):
        assert data[int(offset) :].startswith(b"%d 0 obj\n" % number)


def test_a_long_pdf_has_pages_and_loses_nothing():
    lines = [f"Line number {i}." for i in range(60)]
    parsed = pdf.parse(formats.pdf([Paragraph(line) for line in lines], gap=2.0), Limits())
    assert parsed.source_pages == 4
    assert lines_of(parsed) == lines


def test_a_table_in_a_pdf_is_refused():
    with pytest.raises(ValueError, match="table"):
        formats.pdf([Table((("a", "b"),))])
