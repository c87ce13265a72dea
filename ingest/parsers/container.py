"""An office file or e-book that is a ZIP goes in; it comes out as checked: what it unpacks to is within limits, and nothing in it expands itself."""

from __future__ import annotations

import io
import re
import zipfile
import zlib
from collections.abc import Sequence

from ingest.errors import DamagedFile, PasswordNeeded, TooLarge, UnsupportedType
from ingest.types import Limits

OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
DAMAGED = "it is damaged or cut short ({}): open it in the program that made it and save it again"
LOCKED = "it is encrypted and needs a password: save a copy without one"

# How many bytes of memory a byte of XML may take as a tree; an empty paragraph of six bytes is a node of over a hundred.
TREE = 20
# Parts beyond this are no document's; each costs a record before a byte of it is read.
PARTS = 20_000
# Other methods are not bounded while they unpack: 4 KiB of bzip2 can become gigabytes in one step.
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_PIECE = 1 << 20
_DTD = re.compile(rb"<!(DOCTYPE|ENTITY)", re.I)
_MARKUP = (".xml", ".rels", ".vml", ".opf", ".ncx", ".xhtml", ".html", ".htm")
# What lies in an Office file beside its own XML and may speak of document types: pictures, pages, macros.
_FOREIGN = (".svg", ".html", ".htm", ".mht", ".bin", ".txt")

# The part that tells what a container is, and what it then is and is called.
_TELLING = {
    "word/document.xml": "a Word document: call it .docx",
    "xl/workbook.xml": "an Excel workbook: call it .xlsx",
    "ppt/presentation.xml": "a PowerPoint presentation: call it .pptx",
    "META-INF/container.xml": "an EPUB book: call it .epub",
    "content.xml": "an OpenDocument file: save it as .docx, .xlsx or .pptx",
}


def refuse_ole(data: bytes, old: str, new: str) -> None:
    """Refuse what office programs made before 2007, and the shell around an encrypted file. Raises PasswordNeeded, UnsupportedType."""
    if not data.startswith(OLE):
        return
    if "EncryptedPackage".encode("utf-16-le") in data:
        raise PasswordNeeded(LOCKED)
    raise UnsupportedType(f"it is a file of the old kind ({old}): save it as {new}")


def check_container(data: bytes, limits: Limits, wanted: str, extension: str, dtd: bool = False) -> Sequence[str]:
    """The names of the parts of a ZIP that holds the part `wanted`. It is refused by its directory, and then by its bytes.

    `dtd`: whether its XML may have a document type, as e-books' has; Office's never does (ECMA-376, part 2, section 9.1), and what
    declares an entity there means to expand it. Raises TooLarge, DamagedFile, UnsupportedType, PasswordNeeded.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as container:
            entries = container.infolist()
            names = [entry.filename for entry in entries]
            if wanted not in names:
                found = next(
                    (what for part, what in _TELLING.items() if part in names), f"no {extension} file; a zip of documents is called .zip"
                )
                raise UnsupportedType(f"it is a ZIP container without {wanted} inside; it looks like {found}")
            _admit(entries, limits)
            _unpack(container, entries, limits, dtd)
            return names
    except (zipfile.BadZipFile, zipfile.LargeZipFile, EOFError, NotImplementedError, ValueError, OSError, zlib.error) as error:
        raise DamagedFile(DAMAGED.format(error)) from error


def _admit(entries: Sequence[zipfile.ZipInfo], limits: Limits) -> None:
    if len(entries) > PARTS:
        raise TooLarge(f"it has {len(entries):,} parts, over {PARTS:,}: split the file")
    _refuse_beyond(limits, sum(entry.file_size for entry in entries), "says it unpacks")
    for entry in entries:
        if entry.flag_bits & 1:
            raise PasswordNeeded(LOCKED)
        if entry.compress_type not in _METHODS:
            raise DamagedFile(DAMAGED.format(f"{entry.filename} is packed by method {entry.compress_type}"))
        if entry.filename.lower().endswith(_MARKUP) and entry.file_size * TREE > limits.parse_memory:
            raise TooLarge(
                f"{entry.filename} unpacks to {entry.file_size:,} bytes of XML, whose tree may take {TREE} times that, "
                f"over {limits.parse_memory:,} bytes of memory (parse_memory): raise that limit or split the file"
            )


def _unpack(container: zipfile.ZipFile, entries: Sequence[zipfile.ZipInfo], limits: Limits, dtd: bool) -> None:
    unpacked = 0
    for entry in entries:
        xml = not dtd and not entry.filename.lower().endswith(_FOREIGN)
        tail = b""
        # zipfile stops at the size the directory names, so a directory that lies ends here as a wrong checksum.
        with container.open(entry) as part:
            while piece := part.read(_PIECE):
                unpacked += len(piece)
                _refuse_beyond(limits, unpacked, "unpacks")
                if xml:
                    # Without its NULs, UTF-16 reads like ASCII.
                    seen = tail + piece.replace(b"\0", b"")
                    if _DTD.search(seen):
                        raise DamagedFile(DAMAGED.format(f"{entry.filename} declares a document type, which no Office file does"))
                    tail = seen[-16:]


def _refuse_beyond(limits: Limits, size: int, verb: str) -> None:
    if size > limits.unpacked_bytes:
        raise TooLarge(
            f"it {verb} to {size:,} bytes, over {limits.unpacked_bytes:,} (unpacked_bytes): raise that limit, or remove pictures from the file"
        )
