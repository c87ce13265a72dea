"""A file goes in; a `Document` with text comes out, or the one error that says what is wrong with the file and what to do.

The content decides where it has a signature (PDF, EPUB, pictures and other known binaries); among texts, and among Office files,
the name decides. So a PDF called notes.txt is read as a PDF, with a note; a text called notes.pdf is refused as damaged.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path, PurePosixPath
from typing import Any

from . import errors, sandbox
from .errors import DamagedFile, EmptyFile, IngestError, LoadError, TooLarge, UnsupportedType
from .types import Block, Document, Limits, Scan

# Extension -> (parser, media type).
KINDS: dict[str, tuple[str, str]] = {
    ".txt": ("text", "text/plain"),
    ".text": ("text", "text/plain"),
    ".md": ("markdown", "text/markdown"),
    ".markdown": ("markdown", "text/markdown"),
    ".html": ("html", "text/html"),
    ".htm": ("html", "text/html"),
    ".xhtml": ("html", "text/html"),
    ".csv": ("csv", "text/csv"),
    ".tsv": ("csv", "text/tab-separated-values"),
    ".docx": ("docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"),
    ".xlsx": ("xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"),
    ".xlsm": ("xlsx", "application/vnd.ms-excel.sheet.macroEnabled.12"),
    ".pptx": ("pptx", "application/vnd.openxmlformats-officedocument.presentationml.presentation"),
    ".epub": ("epub", "application/epub+zip"),
    ".pdf": ("pdf", "application/pdf"),
    ".png": ("picture", "image/png"),
    ".jpg": ("picture", "image/jpeg"),
    ".jpeg": ("picture", "image/jpeg"),
    ".webp": ("picture", "image/webp"),
    ".tif": ("picture", "image/tiff"),
    ".tiff": ("picture", "image/tiff"),
    ".gif": ("picture", "image/gif"),
    ".bmp": ("picture", "image/bmp"),
}
SUPPORTED = ", ".join(KINDS) + "; .zip of these"

# Kinds that are not read, and what to save them as.
CURES: dict[str, str] = {
    **dict.fromkeys((".doc", ".dot", ".docm", ".rtf", ".odt", ".pages", ".wpd"), ".docx"),
    **dict.fromkeys((".xls", ".xlt", ".xlsb", ".ods", ".numbers"), ".xlsx or .csv"),
    **dict.fromkeys((".ppt", ".pps", ".ppsx", ".pptm", ".odp", ".key"), ".pptx"),
    **dict.fromkeys((".mobi", ".azw", ".azw3"), ".epub"),
}

# pdf_engine -> the parser that calls it.
PDF_ENGINES: dict[str, str] = {"pymupdf": "pdf", "pypdfium2": "pdfium"}

_BITMAP_HEADERS = (12, 40, 52, 56, 64, 108, 124)
# How a file of a kind begins: the kind, or what it is where it is not read.
_SIGNATURES = (
    (b"\x89PNG\r\n\x1a\n", ".png", "a PNG picture"),
    (b"\xff\xd8\xff", ".jpg", "a JPEG picture"),
    (b"GIF8", ".gif", "a GIF picture"),
    (b"II*\0", ".tiff", "a TIFF picture"),
    (b"MM\0*", ".tiff", "a TIFF picture"),
    (b"\x7fELF", "", "a program"),
    (b"MZ\x90", "", "a program"),
    (b"\x1f\x8b", "", "a gzip archive"),
    (b"7z\xbc\xaf", "", "a 7-Zip archive"),
    (b"Rar!", "", "a RAR archive"),
    (b"SQLite format 3\0", "", "a database"),
)
_ZIP = b"PK\x03\x04"
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_EPUB = b"mimetypeapplication/epub+zip"
# Kinds that lie in a ZIP; of these, what may lie in an OLE file when it is encrypted.
_ZIPPED = (".docx", ".xlsx", ".xlsm", ".pptx", ".epub")
_TEXTS = ("text", "markdown", "html", "csv")


def load(
    path: Path, name: str, source: str, limits: Limits, cancelled: Callable[[], bool] | None = None, pdf_engine: str = "pymupdf"
) -> Document:
    """Read the file at `path` in a child process. `name` is what people call it (and decides the kind); `source` is passed on.

    `pdf_engine`: the library that reads PDFs, one of `PDF_ENGINES`. Raises a LoadError whose message begins with `name`; Cancelled
    soon after `cancelled()` turns true; ValueError for an engine there is not.
    """
    if pdf_engine not in PDF_ENGINES:
        raise ValueError(f"no pdf_engine {pdf_engine!r}: choose one of {', '.join(PDF_ENGINES)}")
    try:
        return _load(path, name, source, limits, cancelled, pdf_engine)
    except IngestError as error:
        raise type(error)(f"{name}: {error}", error.place) from error


def kind(name: str, head: bytes) -> tuple[str, str, tuple[str, ...]]:
    """(parser, media type, notes) for a file of that name that begins with `head`. Raises UnsupportedType, DamagedFile."""
    extension = PurePosixPath(name).suffix.lower()
    found, what = _signature(head)
    if found == ".pdf" or found in KINDS:
        return _by_content(extension, found)
    if extension in CURES:
        raise UnsupportedType(f"files of kind {extension} are not read: save it as {CURES[extension]}; supported: {SUPPORTED}")
    if extension == ".zip":
        if head.startswith((_ZIP, b"PK\x05\x06")):
            raise UnsupportedType("a zip is a batch of documents, not one of them: add it by itself, not within another")
        raise DamagedFile("it is called .zip but does not begin like one: make the archive again")
    if found == "zip" and extension in _ZIPPED:
        return *KINDS[extension], ()
    if what and extension in KINDS:
        raise UnsupportedType(f"it is {what}, whatever its name; supported: {SUPPORTED}")
    if extension not in KINDS:
        raise UnsupportedType(f"files of kind {extension or 'without extension'} are not read; supported: {SUPPORTED}")
    if KINDS[extension][0] not in _TEXTS:
        looked = "no PDF begins in its first 1,024 bytes" if extension == ".pdf" else "does not begin like one"
        raise DamagedFile(
            f"it is called {extension} but {looked}: open it in the program that made it and save it again, or give it the ending of what it is"
        )
    return *KINDS[extension], ()


def _by_content(extension: str, found: str) -> tuple[str, str, tuple[str, ...]]:
    """The kind that the content calls for, with a note where the name says another."""
    if extension in KINDS and KINDS[extension][0] == KINDS[found][0]:
        return *KINDS[extension], ()
    return *KINDS[found], (f"called {extension or 'without extension'}, but read as the {found} file it is",)


def _signature(head: bytes) -> tuple[str, str]:
    """(the extension that the content calls for, "zip" or "", what it is in words or "") by how a file begins."""
    if b"%PDF-" in head[:1024]:
        return ".pdf", "a PDF"
    if head.startswith(_ZIP):
        return (".epub", "an EPUB book") if head[30:].startswith(_EPUB) else ("zip", "a ZIP container")
    if head.startswith(_OLE):
        return "zip", "an Office file, encrypted or of the old kind"
    if head.startswith(b"RIFF") and head[8:12] == b"WEBP":
        return ".webp", "a WebP picture"
    # Two letters begin many a text; a bitmap's header says its own length behind them.
    if head.startswith(b"BM") and int.from_bytes(head[14:18], "little") in _BITMAP_HEADERS:
        return ".bmp", "a BMP picture"
    return next(((extension, what) for mark, extension, what in _SIGNATURES if head.startswith(mark)), ("", ""))


def _load(path: Path, name: str, source: str, limits: Limits, cancelled: Callable[[], bool] | None, pdf_engine: str) -> Document:
    parser, media, notes = kind(name, _head(path, limits))
    if parser == "pdf":
        parser = PDF_ENGINES[pdf_engine]
    request = {"path": str(path.resolve()), "parser": parser, "limits": asdict(limits)}
    reply = sandbox.run(request, limits, cancelled)
    if "error" in reply:
        raise _error(reply)
    document = Document(
        name=name,
        source=source,
        sha256=reply["sha256"],
        bytes=reply["bytes"],
        media=media,
        text=reply["text"],
        blocks=tuple(Block(**block) for block in reply["blocks"]),
        source_pages=reply["source_pages"],
        notes=(*notes, *reply["notes"]),
        scans=tuple(Scan(**scan) for scan in reply["scans"]),
    )
    return document


def _head(path: Path, limits: Limits) -> bytes:
    """The first bytes of a regular file that is neither empty nor over `file_bytes`."""
    # Without O_NONBLOCK, opening a named pipe would wait for ever.
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0))
    except OSError as error:
        raise LoadError(f"it cannot be opened ({error.strerror}): check that it exists and may be read") from error
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise UnsupportedType("it is not a regular file: add the files inside a folder, and no devices or pipes")
        if status.st_size == 0:
            raise EmptyFile("the file is empty (0 bytes): save it again, or leave it out")
        if status.st_size > limits.file_bytes:
            raise TooLarge(
                f"the file has {status.st_size:,} bytes, over {limits.file_bytes:,} (file_bytes): raise that limit or split the file"
            )
        return os.read(descriptor, 1024)
    finally:
        os.close(descriptor)


def _error(reply: dict[str, Any]) -> LoadError:
    """The error that the child met; only this room's own are ever made from its word."""
    found = getattr(errors, str(reply["error"]), LoadError)
    if not (isinstance(found, type) and issubclass(found, LoadError)):
        found = LoadError
    return found(str(reply.get("message", "")), str(reply.get("place", "")))
