"""A zip of documents goes in; its members come out one after another, each as a file of a random name in `folder`, or as the error that says why not.

A zip is a batch, not a document: whoever takes files in asks `is_archive`, then treats every member like a file of its own.

    if is_archive(path, name):
        for member in unpack(path, name, limits, folder):
            if member.path is None: ...                         # a failed line: member.name, member.error
            else: ingest_file(member.path, member.name, ...)    # then unlink member.path
"""

from __future__ import annotations

import io
import os
import re
import stat
import unicodedata
import uuid
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from .errors import BadName, Cancelled, DamagedFile, EmptyFile, IngestError, LoadError, PasswordNeeded, TooLarge, UnsupportedType
from .names import LONGEST, document_name
from .types import Limits

# Deflate reaches 1,032; text and tables seldom pass 50.
RATIO = 200
_RATIO_FROM = 1 << 20

_BEGINNINGS = (b"PK\x03\x04", b"PK\x05\x06")
# Bytes that the directory may spend on one member: its name, and what archivers add. A million entries are refused before they are read.
_ENTRY = 1024
_LEAST_DIRECTORY = 128 * 1024
# The other methods are not bounded while they unpack: 4 KiB of bzip2 can become gigabytes in one step.
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_UTF8 = 0x800
_PIECE = 1 << 20
_BROKEN = (zipfile.BadZipFile, zipfile.LargeZipFile, EOFError, NotImplementedError, ValueError, zlib.error)
_CONTROL = ("Cc", "Cf", "Cs", "Zl", "Zp")
_EAST_ASIAN = re.compile("(?:[\u3005\u3040-\u30ff\u3400-\u9fff\uff66-\uff9f]{2,}|[\x20-\x7e])+")


@dataclass(frozen=True)
class Member:
    """A file of an archive: its shown name ("archive.zip/inner/name.txt"), and where its bytes lie, or why they do not (`path` is None then)."""

    name: str
    path: Path | None
    bytes: int = 0
    error: IngestError | None = None


def is_archive(path: Path, name: str) -> bool:
    """Whether the regular file at `path`, called `name`, is a zip of documents: by its name, for Word and EPUB files are zips too."""
    if not name.lower().endswith(".zip"):
        return False
    try:
        if not path.is_file():
            return False
        with path.open("rb") as file:
            return file.read(4) in _BEGINNINGS
    except OSError:
        # `load` is asked next, and says why it cannot be opened.
        return False


def unpack(path: Path, name: str, limits: Limits, folder: Path, cancelled: Callable[[], bool] | None = None) -> Iterator[Member]:
    """The members of the zip at `path` in their order; folders and hidden files are left out. `name` is the archive's own shown name.

    A member is written when it is asked for, not synced, and belongs to the caller. `Member.error` is BadName (an absolute or
    traversing name, one that stands twice), UnsupportedType (a link, a zip within, a rare compression), PasswordNeeded, TooLarge
    (`file_bytes`, or over 200 times its packed size) or DamagedFile; the others go on.

    Raises, before any member, DamagedFile, EmptyFile, or TooLarge: more than `archive_members`, or more than `unpacked_bytes` in all.
    Cancelled as soon as `cancelled()` turns true; nothing half-written is left.
    """
    try:
        with path.open("rb") as file, _opened(file, limits) as container:
            yield from _members(container, name, limits, folder, cancelled or (lambda: False))
    except IngestError as error:
        raise type(error)(f"{name}: {error}") from error


def _members(container: zipfile.ZipFile, name: str, limits: Limits, folder: Path, cancelled: Callable[[], bool]) -> Iterator[Member]:
    titled = [(entry, title) for entry, title in _titled(container.infolist()) if not _passed_over(title)]
    _admit([entry for entry, _ in titled], limits)
    taken: set[str] = set()
    for entry, title in titled:
        if cancelled():
            raise _stopped()
        try:
            full = document_name(f"{name}/{document_name(title)}")
            if full in taken:
                raise BadName("the archive holds this name twice, and this is not the first: rename one")
            taken.add(full)
            spool = folder / uuid.uuid4().hex
            size = _write(container, entry, spool, limits, cancelled)
        except (BadName, LoadError) as error:
            yield _failed(f"{name}/{title}", error)
        else:
            yield Member(full, spool, size)


def _stopped() -> Cancelled:
    return Cancelled("stopped while it was being unpacked: add it again to go on")


class _Bounded(io.RawIOBase):
    """A zip's file that is never read in a piece larger than `most`: zipfile reads a directory whole, however long it says it is."""

    def __init__(self, file: BinaryIO, most: int) -> None:
        self.file = file
        self.most = most

    def read(self, size: int | None = -1) -> bytes:
        if size is None or size < 0:
            at = self.file.tell()
            size = max(0, self.file.seek(0, os.SEEK_END) - at)
            self.file.seek(at)
        if size > self.most:
            raise TooLarge(f"its directory has {size:,} bytes, over {self.most:,}: split the archive")
        return self.file.read(size)

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        # A directory may say that a member lies before the file's beginning.
        if whence == os.SEEK_SET and offset < 0:
            raise ValueError(f"offset {offset:,}")
        return self.file.seek(offset, whence)

    def tell(self) -> int:
        return self.file.tell()

    def seekable(self) -> bool:
        return True

    def readable(self) -> bool:
        return True


def _opened(file: BinaryIO, limits: Limits) -> zipfile.ZipFile:
    bounded = _Bounded(file, max(_LEAST_DIRECTORY, limits.archive_members * _ENTRY))
    try:
        return zipfile.ZipFile(bounded)
    except (zipfile.BadZipFile, ValueError, OverflowError, NotImplementedError, OSError) as error:
        raise DamagedFile(f"it is no zip archive, or cut short ({error}): make it again") from error


def _admit(entries: Sequence[zipfile.ZipInfo], limits: Limits) -> None:
    """Refuse an archive by what its directory says. A directory that lies about a size is met by the checksum: zipfile stops at that size."""
    if not entries:
        raise EmptyFile("the archive holds no files: there is nothing to read")
    if len(entries) > limits.archive_members:
        raise TooLarge(
            f"it holds {len(entries):,} files, over {limits.archive_members:,} (archive_members): raise that limit or split the archive"
        )
    total = sum(entry.file_size for entry in entries if entry.file_size <= limits.file_bytes)
    if total > limits.unpacked_bytes:
        raise TooLarge(
            f"it unpacks to {total:,} bytes, over {limits.unpacked_bytes:,} (unpacked_bytes): raise that limit or split the archive"
        )


def _write(container: zipfile.ZipFile, entry: zipfile.ZipInfo, spool: Path, limits: Limits, cancelled: Callable[[], bool]) -> int:
    """Unpack one member into a new file, which is gone again where that fails; its size in bytes."""
    _admit_member(entry, limits)
    size = 0
    try:
        with container.open(entry) as source, spool.open("xb") as target:
            while piece := source.read(_PIECE):
                if cancelled():
                    raise _stopped()
                size += target.write(piece)
    except BaseException as error:
        spool.unlink(missing_ok=True)
        if isinstance(error, _BROKEN):
            raise DamagedFile(f"it cannot be unpacked ({error}): make the archive again") from error
        raise
    return size


def _admit_member(entry: zipfile.ZipInfo, limits: Limits) -> None:
    kind = stat.S_IFMT(entry.external_attr >> 16)
    if kind and kind != stat.S_IFREG:
        what = "a link" if kind == stat.S_IFLNK else "a device or pipe"
        raise UnsupportedType(f"it is {what}, not a file: put the file itself into the archive")
    if entry.flag_bits & 1:
        raise PasswordNeeded("it is encrypted and needs a password: make the archive without one")
    if entry.filename.lower().endswith(".zip"):
        raise UnsupportedType("it is a zip within a zip, which is not opened: add it by itself")
    if entry.compress_type not in _METHODS:
        raise UnsupportedType(
            f"it is packed by method {entry.compress_type}, which is not read: make the archive with ordinary (Deflate) compression"
        )
    if entry.file_size > limits.file_bytes:
        raise TooLarge(
            f"it unpacks to {entry.file_size:,} bytes, over {limits.file_bytes:,} (file_bytes): raise that limit or split the file"
        )
    if entry.file_size > max(_RATIO_FROM, RATIO * entry.compress_size):
        raise TooLarge(
            f"{entry.compress_size:,} bytes unpack to {entry.file_size:,}, over {RATIO} times as many: add the file itself, unpacked"
        )


def _titled(entries: Sequence[zipfile.ZipInfo]) -> Iterator[tuple[zipfile.ZipInfo, str]]:
    """Every entry with its name. Without the mark for UTF-8 the standard says code page 437, but archivers write UTF-8 or their own (cp932 in Japan)."""
    unmarked = [entry.orig_filename.encode("cp437") for entry in entries if not entry.flag_bits & _UTF8]
    beyond = [name for name in unmarked if not name.isascii()]
    codec = next((codec for codec in ("utf-8", "cp932") if all(_fits(name, codec) for name in beyond)), "cp437")
    for entry in entries:
        yield entry, entry.orig_filename if entry.flag_bits & _UTF8 else entry.orig_filename.encode("cp437").decode(codec)


def _fits(name: bytes, codec: str) -> bool:
    """Whether a name is of this encoding. Two bytes of a Western name may pass for one character of cp932, hardly for two in a row."""
    try:
        text = name.decode(codec)
    except UnicodeDecodeError:
        return False
    return codec == "utf-8" or _EAST_ASIAN.fullmatch(text) is not None


def _passed_over(name: str) -> bool:
    """Whether a member is what a folder's listing would leave out too: a folder, a dot file, or what macOS adds."""
    parts = re.split(r"[/\\]", name)
    return (
        (len(parts) > 1 and not parts[-1]) or parts[0] == "__MACOSX" or any(part[:1] == "." and part not in (".", "..") for part in parts)
    )


def _failed(name: str, error: IngestError) -> Member:
    shown = "".join("\ufffd" if unicodedata.category(character) in _CONTROL else character for character in name)[:LONGEST]
    return Member(shown, None, 0, type(error)(f"{shown}: {error}"))
