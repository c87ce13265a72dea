"""Books: chapters in the spine's order under the book's title; nothing outside the book is ever looked at."""

import io
import zipfile

import pytest

from ingest.errors import DamagedFile, NoText, PasswordNeeded, UnsupportedType
from ingest.parsers.epub import parse
from ingest.parsers.parsed import Parsed
from ingest.types import Limits

START = '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles><rootfile full-path="in/book.opf"/></rootfiles></container>'
XHTML = '<?xml version="1.0" encoding="utf-8"?><!DOCTYPE html><html xmlns="http://www.w3.org/1999/xhtml">{}</html>'


def book(chapters: dict[str, str], spine: list[str] | None = None, title: str = "Book", **parts: str) -> bytes:
    names = [*chapters, *(name for name in ("nav", "toc") if name in parts)]
    items = "".join(
        f'<item id="{name}" href="{name}.xhtml" media-type="application/x-dtbncx+xml"/>'
        if name == "toc"
        else f'<item id="{name}" href="{name}.xhtml" media-type="application/xhtml+xml" properties="{"nav" if name == "nav" else ""}"/>'
        for name in names
    )
    refs = "".join(f'<itemref idref="{name}"/>' for name in (spine if spine is not None else chapters))
    package = (
        f'<package xmlns="http://www.idpf.org/2007/opf"><metadata xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>{title}</dc:title>'
        f"</metadata><manifest>{items}</manifest><spine>{refs}</spine></package>"
    )
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("mimetype", "application/epub+zip", zipfile.ZIP_STORED)
        file.writestr("META-INF/container.xml", parts.pop("start", START))
        file.writestr("in/book.opf", parts.pop("package", package))
        for name, text in chapters.items():
            file.writestr(f"in/{name}.xhtml", XHTML.format(text))
        for name, text in parts.items():
            file.writestr(f"in/{name}.xhtml" if name in ("nav", "toc") else name, text)
    return out.getvalue()


def read(data: bytes) -> Parsed:
    return parse(data, Limits())


def test_chapters_come_in_the_spine_s_order_under_the_book_s_title() -> None:
    parsed = read(book({"a": "<body><h1>A</h1><p>one</p></body>", "b": "<body><h1>B</h1><h2>Sub</h2><p>two</p></body>"}, ["b", "a"]))
    assert parsed.text == "Book\n\nB\n\nSub\n\ntwo\n\nA\n\none"
    assert [block.heading for block in parsed.blocks][2:] == ["Book > B > Sub", "Book > B > Sub", "Book > A", "Book > A"]


@pytest.mark.parametrize(
    "contents",
    [
        {
            "nav": XHTML.format(
                '<body><nav><ol><li><a href="a.xhtml#x">First</a></li><li><a href="%61.xhtml">Later</a></li></ol></nav></body>'
            )
        },
        {
            "toc": '<ncx xmlns="x"><navMap><navPoint><navLabel><text>First</text></navLabel><content src="a.xhtml"/></navPoint></navMap></ncx>'
        },
    ],
)
def test_a_chapter_without_a_heading_is_called_as_the_contents_call_it(contents: dict[str, str]) -> None:
    data = book({"a": "<head><title>Book</title></head><body><p>one</p></body>"}, [*contents, "a"], **contents)
    assert read(data).text == "Book\n\nFirst\n\none"


def test_elements_that_close_themselves_swallow_nothing() -> None:
    chapter = '<head><title/><script src="x.js"/></head><body><a id="here"/><p>one&nbsp;two &amp; three</p><div/><p>four</p></body>'
    assert read(book({"a": chapter})).text == "Book\n\none\u00a0two & three\n\nfour"


def test_entities_in_a_chapter_lose_no_word_behind_them() -> None:
    chapter = "<body><p>a &LT; b &unknown; c&nbsp;&eacute; &lt;i&gt; d</p></body>"
    assert read(book({"a": chapter})).text == "Book\n\na < b &unknown; c\u00a0é <i> d"


def test_a_chapter_that_is_no_xml_is_read_as_html() -> None:
    assert read(book({"a": "<body><p>one<br>two<p>three</body>"})).text == "Book\n\none\ntwo\n\nthree"


def test_scripts_are_not_read_and_markup_in_text_stays_text() -> None:
    chapter = "<body><script>alert(1)</script><p>&lt;script&gt;alert(2)&lt;/script&gt;</p></body>"
    assert read(book({"a": chapter})).text == "Book\n\n<script>alert(2)</script>"


def test_entities_are_not_expanded_and_no_file_is_read() -> None:
    doctype = '<!DOCTYPE x [<!ENTITY a "secret"><!ENTITY f SYSTEM "file:///etc/passwd">]>'
    data = book({"a": "<body><p>x</p></body>"}, title="T &a; &f;")
    with zipfile.ZipFile(io.BytesIO(data)) as file:
        package = doctype + file.read("in/book.opf").decode()
    text = read(book({"a": "<body><p>seen &a; &f;</p></body>"}, package=package)).text
    assert "seen &a; &f;" in text
    assert "secret" not in text
    assert "root:" not in text


def test_references_that_step_out_of_the_book_find_nothing() -> None:
    data = book({"a": "<body><p>seen</p></body>"}, ["a", "../../../../etc/passwd"])
    parsed = read(data)
    assert parsed.text == "Book\n\nseen"
    assert parsed.notes == ("1 parts that its spine names are missing",)
    for at in ("../../etc/passwd", "/etc/passwd", "file:///etc/passwd"):
        with pytest.raises(DamagedFile, match="missing"):
            read(book({"a": "<body/>"}, start=START.replace("in/book.opf", at)))


def test_a_seller_s_lock_is_told_and_veiled_fonts_are_none() -> None:
    lock = '<encryption><EncryptedData><EncryptionMethod Algorithm="{}"/></EncryptedData></encryption>'
    with pytest.raises(PasswordNeeded, match="DRM"):
        read(_locked(lock.format("http://www.w3.org/2001/04/xmlenc#aes128-cbc")))
    assert read(_locked(lock.format("http://www.idpf.org/2008/embedding"))).text == "Book\n\nx"


def _locked(encryption: str) -> bytes:
    out = io.BytesIO(book({"a": "<body><p>x</p></body>"}))
    with zipfile.ZipFile(out, "a") as file:
        file.writestr("META-INF/encryption.xml", encryption)
    return out.getvalue()


def test_what_is_no_book_says_so() -> None:
    with pytest.raises(NoText):
        read(book({"a": "<body/>"}, title=""))
    with pytest.raises(DamagedFile, match=r"in/book\.opf: "):
        read(book({"a": "<body/>"}, package="<not closed"))
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as file:
        file.writestr("word/document.xml", "<x/>")
    with pytest.raises(UnsupportedType, match=r"call it \.docx"):
        read(out.getvalue())
