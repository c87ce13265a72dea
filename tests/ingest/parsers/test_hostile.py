"""Files made to harm: what unpacks, expands, nests or points elsewhere ends in text or in one clear error, within limits, and nothing is run or fetched."""

import io
import zipfile
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

import docx
import openpyxl
import pptx
import pymupdf
import pytest

from ingest.errors import DamagedFile, LoadError, NoText, TooLarge
from ingest.load import load
from ingest.parsers import container
from ingest.parsers.parsed import Parsed
from ingest.types import Limits

SCRIPT = "<script>alert('x')</script> <img src=x onerror=alert(1)>"
CONTAINERS = {"docx": "word/document.xml", "xlsx": "xl/workbook.xml", "pptx": "ppt/presentation.xml", "epub": "in/book.opf"}


def read(kind: str, data: bytes, limits: Limits | None = None) -> Parsed:
    return import_module(f"ingest.parsers.{kind}").parse(data, limits or Limits())  # type: ignore[no-any-return]


def made(kind: str, text: str) -> bytes:
    """A small sound file of a kind that holds `text`."""
    out = io.BytesIO()
    match kind:
        case "docx":
            document = docx.Document()
            document.add_paragraph(text)
            document.save(out)
        case "xlsx":
            book = openpyxl.Workbook()
            book.active["A1"] = text
            book.save(out)
        case "pptx":
            show = pptx.Presentation()
            show.slides.add_slide(show.slide_layouts[5]).shapes.title.text = text
            show.save(out)
        case "epub":
            shown = text.replace("&", "&amp;").replace("<", "&lt;")
            with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as file:
                file.writestr("META-INF/container.xml", '<container><rootfiles><rootfile full-path="in/book.opf"/></rootfiles></container>')
                file.writestr(
                    "in/book.opf",
                    "<package><metadata/><manifest>"
                    '<item id="a" href="a.xhtml" media-type="application/xhtml+xml"/></manifest><spine><itemref idref="a"/></spine></package>',
                )
                file.writestr("in/a.xhtml", f'<html xmlns="http://www.w3.org/1999/xhtml"><body><p>{shown}</p></body></html>')
        case "html":
            return ("<p>" + text.replace("&", "&amp;").replace("<", "&lt;") + "</p>").encode()
        case "markdown":
            return f"```\n{text}\n```\n".encode()
        case "pdf" | "pdfium":
            page = pymupdf.open().new_page()
            page.insert_text((50, 50), text)
            return page.parent.tobytes()  # type: ignore[no-any-return]
        case _:
            return text.encode()
    return out.getvalue()


def changed(data: bytes, changes: dict[str, bytes | Callable[[bytes], bytes]]) -> bytes:
    """The same container with some parts replaced or added."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as new:
        for name in dict.fromkeys((*old.namelist(), *changes)):
            change = changes.get(name, lambda part: part)
            new.writestr(name, change if isinstance(change, bytes) else change(old.read(name)))
    return out.getvalue()


ALL = (*CONTAINERS, "html", "markdown", "text", "csv", "pdf", "pdfium")


@pytest.mark.parametrize("kind", ALL)
def test_markup_arrives_as_the_text_it_is(kind: str) -> None:
    assert SCRIPT in read(kind, made(kind, SCRIPT)).text


@pytest.mark.parametrize("kind", CONTAINERS)
def test_a_bomb_in_any_container_is_refused_before_it_is_a_tree(kind: str) -> None:
    bomb = changed(made(kind, "words"), {CONTAINERS[kind]: b"<x>" * (3 << 20)})
    assert len(bomb) < 1 << 17
    with pytest.raises(TooLarge, match=r"parse_memory"):
        read(kind, bomb, Limits(parse_memory=128 << 20))
    with pytest.raises(TooLarge, match=r"unpacked_bytes"):
        read(kind, bomb, Limits(unpacked_bytes=1 << 20))


@pytest.mark.parametrize("kind", CONTAINERS)
def test_a_size_that_is_a_lie_is_damage(kind: str) -> None:
    honest = changed(made(kind, "words"), {"extra.xml": b"x" * 3_000_001})
    lying = honest.replace((3_000_001).to_bytes(4, "little"), (77).to_bytes(4, "little"))
    assert lying != honest
    with pytest.raises(DamagedFile):
        read(kind, lying)


@pytest.mark.parametrize("kind", CONTAINERS)
def test_a_container_of_very_many_parts_is_refused(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(container, "PARTS", 100)
    out = io.BytesIO(made(kind, "words"))
    with zipfile.ZipFile(out, "a") as file:
        for number in range(101):
            file.writestr(f"{number}.xml", b"")
    with pytest.raises(TooLarge, match="parts, over 100"):
        read(kind, out.getvalue())


LAUGHS = (
    '<!DOCTYPE x [<!ENTITY a0 "ha">'
    + "".join(f'<!ENTITY a{level} "{f"&a{level - 1};" * 10}">' for level in range(1, 10))
    + '<!ENTITY f SYSTEM "file:///etc/passwd"><!ENTITY % p SYSTEM "http://127.0.0.1:9/x"> %p;]>'
)


def with_laughs(part: bytes) -> bytes:
    declaration, mark, rest = part.partition(b"?>") if part.startswith(b"<?xml") else (b"", b"", part)
    # Entities in text and in an attribute, where parsers expand them even when told not to.
    root, end, body = rest.partition(b">")
    closed = root.endswith(b"/")
    root = root.removesuffix(b"/") + b' laugh="&a9;"' + (b"/" if closed else b"")
    return declaration + mark + LAUGHS.encode() + root + end + b"&a9;&f;" + body


@pytest.mark.parametrize("kind", ["docx", "xlsx", "pptx"])
@pytest.mark.parametrize("part", ["[Content_Types].xml", "_rels/.rels", "docProps/core.xml", "main", "sheet"])
def test_an_office_file_that_declares_entities_is_damaged_wherever_it_does(kind: str, part: str) -> None:
    data = made(kind, "words")
    part = {
        "main": CONTAINERS[kind],
        "sheet": {"xlsx": "xl/worksheets/sheet1.xml", "pptx": "ppt/slides/slide1.xml"}.get(kind, "word/styles.xml"),
    }.get(part, part)
    with pytest.raises(DamagedFile, match="declares a document type"):
        read(kind, changed(data, {part: with_laughs}))


@pytest.mark.parametrize("part", ["META-INF/container.xml", "in/book.opf", "in/a.xhtml"])
def test_a_book_expands_no_entities(part: str) -> None:
    try:
        text = read("epub", changed(made("epub", "words"), {part: with_laughs})).text
    except DamagedFile:
        return
    assert "haha" not in text
    assert "root:" not in text
    assert len(text) < 1000


@pytest.mark.parametrize("kind", ["html", "markdown"])
def test_a_page_expands_no_entities(kind: str) -> None:
    text = read(kind, with_laughs(b"<html><p>words</p></html>")).text
    assert "haha" not in text
    assert "root:" not in text
    assert len(text) < 3000


W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
DEEP = 10_000


@pytest.mark.parametrize(
    ("kind", "data"),
    [
        ("html", b"<div>" * DEEP + b"words"),
        ("html", b"<ul><li>" * DEEP + b"words"),
        ("html", b"<table><tr><td>" * DEEP + b"words"),
        ("markdown", b"> " * DEEP + b"words"),
        ("markdown", b"- " * DEEP + b"words"),
        ("markdown", b"[" * DEEP + b"words" + b"](x)" * DEEP),
        ("markdown", b"*" * DEEP + b"words"),
        ("csv", b'"' * DEEP + b"words"),
        ("docx", changed(made("docx", ""), {"word/document.xml": f"<w:document {W}><w:body>".encode() + b"<w:tbl><w:tr><w:tc>" * DEEP})),
        ("epub", changed(made("epub", ""), {"in/a.xhtml": b"<html><body>" + b"<div>" * DEEP + b"words"})),
        ("epub", changed(made("epub", ""), {"in/book.opf": b"<package>" * DEEP})),
        ("pdf", b"%PDF-1.7\n1 0 obj\n" + b"[" * DEEP + b"\nendobj\ntrailer<</Root 1 0 R>>"),
        ("pdfium", b"%PDF-1.7\n1 0 obj\n" + b"[" * DEEP + b"\nendobj\ntrailer<</Root 1 0 R>>"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_nesting_however_deep_ends_in_text_or_a_clear_error(kind: str, data: bytes, tmp_path: Path) -> None:
    # As it is done for real: in a child process, so that a stack that overflows takes nothing with it.
    extension = {"markdown": ".md", "pdfium": ".pdf"}.get(kind, f".{kind}")
    (tmp_path / "a").write_bytes(data)
    try:
        load(tmp_path / "a", f"a{extension}", "", Limits(parse_seconds=20), pdf_engine="pypdfium2" if kind == "pdfium" else "pymupdf")
    except LoadError as error:
        told = str(error)
    else:
        return
    assert "exit status" not in told


@pytest.mark.parametrize("kind", CONTAINERS)
def test_parts_named_to_step_out_are_never_written(kind: str, tmp_path: Path) -> None:
    evil = dict.fromkeys(("../../evil.xml", f"{tmp_path}/evil.xml", "..\\evil.xml", "a\x00b.xml"), b"evil")
    (tmp_path / "a").write_bytes(changed(made(kind, "words"), dict(evil)))
    document = load(tmp_path / "a", f"a.{kind}", "", Limits())
    assert "words" in document.text
    assert [path.name for path in tmp_path.rglob("*")] == ["a"]


def test_what_a_file_points_to_is_not_opened(tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("secret")
    target = (tmp_path / "secret.txt").as_uri()
    link = (
        '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="rId99" '
        f'Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/subDocument" Target="{target}" TargetMode="External"/>'
    )

    def linked(part: bytes) -> bytes:
        _, _, rest = part.partition(b"<Relationship ")
        return link.encode() + b"<Relationship " + rest

    pointing = {
        "docx": changed(made("docx", "words"), {"word/_rels/document.xml.rels": linked}),
        "epub": changed(made("epub", "words"), {"in/a.xhtml": lambda part: part.replace(b"<p>", f'<object data="{target}"/><p>'.encode())}),
        "html": f'<iframe src="{target}"></iframe><object data="{target}"></object><p>words<img src="{target}">'.encode(),
        "markdown": f"words ![x]({target}) [y]({target})".encode(),
    }
    for kind, data in pointing.items():
        text = read(kind, data).text
        assert "words" in text, kind
        assert "secret" not in text.replace(target, ""), kind


@pytest.mark.parametrize("kind", ["text", "csv", "markdown", "html"])
def test_nuls_and_control_characters_do_not_come_through(kind: str) -> None:
    text = read(kind, b"wo\0rds\x1b[31m\x07,\x08x\n").text
    assert not {character for character in text if ord(character) < 32} - {"\n", "\t"}
    assert "words" in text


@pytest.mark.parametrize("kind", ["csv", "text", "markdown"])
def test_one_endless_line_is_read_in_bounded_time(kind: str) -> None:
    for unit in (b'"', b",", b"a,", b"[", b"`", b"<a ", b"&#", b"\t"):
        try:
            read(kind, unit * 10_000)
        except (NoText, TooLarge):
            continue


@pytest.mark.parametrize("kind", ["pdf", "pdfium"])
@pytest.mark.parametrize("kids", [b"3 0 R", b"3 0 R 2 0 R"])
def test_a_pdf_that_counts_more_pages_than_it_has_ends_soon_and_says_so_in_few_words(kind: str, kids: bytes) -> None:
    data = (
        b"%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n2 0 obj<</Type/Pages/Count 4900/Kids[" + kids + b"]>>endobj\n"
        b"3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 200 200]/Contents 4 0 R/Resources<</Font<</F<</Type/Font/Subtype/Type1"
        b"/BaseFont/Helvetica>>>>>>>>endobj\n4 0 obj<</Length 36>>stream\nBT /F 12 Tf 20 100 Td (words) Tj ET \nendstream endobj\n"
        b"trailer<</Root 1 0 R>>\n"
    )
    try:
        parsed = read(kind, data)
    except DamagedFile:
        return
    assert parsed.text == "words"
    assert len(parsed.notes) == 21
