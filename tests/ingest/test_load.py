"""From a file to a document: which parser reads it, and one clear error for what cannot be read."""

import io
import os
import zipfile
from pathlib import Path
from typing import Any

import pytest

from ingest.errors import Cancelled, DamagedFile, EmptyFile, LoadError, NoText, TooLarge, UnsupportedType
from ingest.load import CURES, KINDS, kind, load
from ingest.types import Limits
from ingest.worker import PARSERS


def test_a_document_says_what_was_read(tmp_path: Path) -> None:
    path = tmp_path / "upload"
    path.write_bytes("Größe\n\nzwei".encode("cp1252"))
    document = load(path, "notes/a.txt", "https://x.example", Limits())
    assert (document.name, document.source, document.media, document.bytes) == ("notes/a.txt", "https://x.example", "text/plain", 11)
    assert document.text == "Größe\n\nzwei"
    assert [document.text[block.start : block.end] for block in document.blocks] == ["Größe", "zwei"]
    assert document.notes == ("read as cp1252, not UTF-8",)


@pytest.mark.parametrize("name", ["x.txt", "x", "x.epub", "x.PDF"])
def test_a_pdf_is_read_as_a_pdf_whatever_its_name(name: str) -> None:
    parser, media, notes = kind(name, b"\n%PDF-1.7")
    assert (parser, media) == ("pdf", "application/pdf")
    assert bool(notes) == (name != "x.PDF")


HEADS = {
    **dict.fromkeys((".docx", ".xlsx", ".xlsm", ".pptx"), b"PK\x03\x04"),
    ".epub": b"PK\x03\x04".ljust(30, b"\0") + b"mimetypeapplication/epub+zip",
    ".pdf": b"%PDF-",
    ".png": b"\x89PNG\r\n\x1a\n",
    **dict.fromkeys((".jpg", ".jpeg"), b"\xff\xd8\xff"),
    ".webp": b"RIFF\0\0\0\0WEBP",
    **dict.fromkeys((".tif", ".tiff"), b"II*\0"),
    ".gif": b"GIF89a",
    ".bmp": b"BM".ljust(14, b"\0") + b"\x28\0\0\0",
}


@pytest.mark.parametrize("extension", KINDS)
def test_every_supported_name_has_a_parser(extension: str) -> None:
    assert kind("a" + extension.upper(), HEADS.get(extension, b"words")) == (*KINDS[extension], ())
    assert KINDS[extension][0] in PARSERS


@pytest.mark.parametrize("extension", HEADS)
def test_a_text_called_by_another_kind_s_name_is_damaged(extension: str) -> None:
    with pytest.raises(DamagedFile, match=rf"called \{extension} but .* save it again"):
        kind("a" + extension, b"words")


@pytest.mark.parametrize(
    ("name", "head"),
    [("a.mp4", b"x"), ("a", b"x"), ("a.html", b"MZ\x90\0"), ("a.txt", b"PK\x03\x04"), ("a.csv", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1")],
)
def test_what_is_not_read_says_what_is(name: str, head: bytes) -> None:
    with pytest.raises(UnsupportedType, match=r"supported: .*\.txt.*\.pdf.*; \.zip of these"):
        kind(name, head)


@pytest.mark.parametrize(("extension", "cure"), CURES.items())
def test_a_kind_of_old_says_what_to_save_it_as(extension: str, cure: str) -> None:
    for head in (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", b"PK\x03\x04", b"{\\rtf1"):
        with pytest.raises(UnsupportedType, match=f"save it as {cure}"):
            kind("a" + extension, head)
    assert extension not in KINDS
    assert all(each in KINDS for each in cure.split(" or "))


def test_a_zip_is_no_document() -> None:
    with pytest.raises(UnsupportedType, match="a batch of documents"):
        kind("a.zip", b"PK\x03\x04")
    with pytest.raises(DamagedFile, match=r"called \.zip"):
        kind("a.zip", b"words")


@pytest.mark.parametrize(("pdf_engine", "parser"), [("pymupdf", "pdf"), ("pypdfium2", "pdfium")])
def test_the_engine_that_is_asked_for_reads_the_pdf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pdf_engine: str, parser: str) -> None:
    asked: list[str] = []

    def run(request: dict[str, Any], *_: object) -> dict[str, Any]:
        asked.append(request["parser"])
        return {"error": "NoText", "message": "asked"}

    monkeypatch.setattr("ingest.sandbox.run", run)
    (tmp_path / "a").write_bytes(b"%PDF-1.7")
    with pytest.raises(NoText):
        load(tmp_path / "a", "a.pdf", "", Limits(), pdf_engine=pdf_engine)
    assert asked == [parser]


def test_an_engine_there_is_not_is_refused_before_the_file_is_opened(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="choose one of pymupdf, pypdfium2"):
        load(tmp_path / "gone", "a.pdf", "", Limits(), pdf_engine="word")


def test_every_message_begins_with_the_name(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.touch()
    with pytest.raises(EmptyFile, match=r"^b/a\.txt: "):
        load(path, "b/a.txt", "", Limits())
    path.write_bytes(b"12345")
    with pytest.raises(TooLarge, match=r"^a\.txt: the file has 5 bytes, over 4 \(file_bytes\)"):
        load(path, "a.txt", "", Limits(file_bytes=4))
    with pytest.raises(TooLarge, match=r"^a\.txt: more than 4 characters of text \(text_chars\)"):
        load(path, "a.txt", "", Limits(text_chars=4))
    with pytest.raises(LoadError, match=r"^gone\.txt: it cannot be opened"):
        load(tmp_path / "gone", "gone.txt", "", Limits())


def test_pipes_and_folders_are_refused_without_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", tmp_path):
        with pytest.raises(UnsupportedType, match="not a regular file"):
            load(path, "a.txt", "", Limits())


def test_a_word_bomb_ends_in_a_clear_error(tmp_path: Path) -> None:
    path = tmp_path / "bomb.docx"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("word/document.xml", b"<w:p/>" * (3 << 20))
    with pytest.raises(TooLarge, match=r"^bomb\.docx: word/document\.xml unpacks to 18,874,368 bytes.*parse_memory"):
        load(path, "bomb.docx", "", Limits(parse_memory=256 << 20))


def test_a_cancelled_load_ends_at_once(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("words")
    with pytest.raises(Cancelled, match=r"^a\.txt: "):
        load(path, "a.txt", "", Limits(), lambda: True)


def test_a_zip_called_docx_that_is_something_else_says_so(tmp_path: Path) -> None:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as file:
        file.writestr("a.txt", "x")
    path = tmp_path / "a"
    path.write_bytes(out.getvalue())
    with pytest.raises(UnsupportedType, match=r"a zip of documents is called \.zip"):
        load(path, "a.docx", "", Limits())
