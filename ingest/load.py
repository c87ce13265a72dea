"""A file goes in; a `Document` with text comes out, or the one error that says what is wrong with the file and what to do.

The content decides where it has a signature (PDF, Word, pictures and other known binaries); among texts the name decides.
So a PDF called notes.txt is read as a PDF, with a note; a text called notes.pdf is refused as damaged.
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
from .types import Block, Document, Limits

# Extension -> (parser, media type).
KINDS: dict[str, tuple[str, str]] = {
    ".txt": ("text", "text/plain"),
    ".text": ("text", "text/plain"),
    ".md": ("markdown", "text/markdown"),
    ".markdown": ("markdown", "text/markdown"),
    ".html": ("html", "text/html"),
    ".htm": ("html", "text/html"),
    ".xhtml": ("html", "text/html"),
    ".docx": ("docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"),
    ".pdf": ("pdf", "application/pdf"),
}
SUPPORTED = ", ".join(KINDS)

_ZIP = b"PK\x03\x04"
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_BINARIES = (
    (b"\x89PNG\r\n\x1a\n", "a PNG picture"),
    (b"\xff\xd8\xff", "a JPEG picture"),
    (b"GIF8", "a GIF picture"),
    (b"II*\0", "a TIFF picture"),
    (b"MM\0*", "a TIFF picture"),
    (b"\x7fELF", "a program"),
    (b"MZ\x90", "a program"),
    (b"\x1f\x8b", "a gzip archive"),
    (b"7z\xbc\xaf", "a 7-Zip archive"),
    (b"Rar!", "a RAR archive"),
    (b"SQLite format 3\0", "a database"),
)


def load(path: Path, name: str, source: str, limits: Limits, cancelled: Callable[[], bool] | None = None) -> Document:
    """Read the file at `path` in a child process. `name` is what people call it (and decides the kind); `source` is passed on.

    Raises a LoadError whose message begins with `name`; Cancelled soon after `cancelled()` turns true.
    """
    try:
        return _load(path, name, source, limits, cancelled)
    except IngestError as error:
        raise type(error)(f"{name}: {error}", error.place) from error


def kind(name: str, head: bytes) -> tuple[str, str, tuple[str, ...]]:
    """(parser, media type, notes) for a file of that name that begins with `head`. Raises UnsupportedType, DamagedFile."""
    extension = PurePosixPath(name).suffix.lower()
    by_name = KINDS.get(extension)
    found = _signature(head)
    if found is None:
        if by_name is None:
            raise UnsupportedType(f"files of kind {extension or 'without extension'} are not read; supported: {SUPPORTED}")
        if extension == ".pdf":
            raise DamagedFile("it is called .pdf but no PDF begins in its first 1,024 bytes: open it in a PDF reader and save it again")
        return *by_name, ()
    if found not in KINDS:
        raise UnsupportedType(f"it is {found}, whatever its name; supported: {SUPPORTED}")
    if extension == found:
        return *KINDS[found], ()
    if by_name is None and found == ".docx":
        # Many formats are ZIP or OLE containers; their names tell them apart.
        raise UnsupportedType(f"files of kind {extension or 'without extension'} are not read; supported: {SUPPORTED}")
    return *KINDS[found], (f"called {extension or 'without extension'}, but read as the {found} file it is",)


def _signature(head: bytes) -> str | None:
    """The extension that the content calls for, or the name of a binary that is not read, or None for anything else."""
    if b"%PDF-" in head[:1024]:
        return ".pdf"
    if head.startswith((_ZIP, _OLE)):
        return ".docx"
    if head.startswith(b"RIFF") and head[8:12] == b"WEBP":
        return "a WebP picture"
    return next((what for mark, what in _BINARIES if head.startswith(mark)), None)


def _load(path: Path, name: str, source: str, limits: Limits, cancelled: Callable[[], bool] | None) -> Document:
    parser, media, notes = kind(name, _head(path, limits))
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
            raise EmptyFile("the file is empty (0 bytes): there is nothing to read")
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
