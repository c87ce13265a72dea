"""An upload's bytes go in; a file comes out that waits for its job, whole and on the disk, under a name of the house's own."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from cache_compiler.files import sync_folder

from .errors import TooLarge


@dataclass(frozen=True)
class Kept:
    """An upload on the disk: the id of its job, the name of its file in the spool, its SHA-256 and bytes."""

    job: str
    file: str
    sha256: str
    bytes: int


class Spool:
    """The folder of uploads on their way through ingest. No name that somebody sent reaches the disk."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @property
    def unpacked(self) -> Path:
        """Where members of an archive lie while they are taken in."""
        return self.folder / "unpacked"

    def path(self, file: str) -> Path:
        return self.folder / file

    def keep(self, name: str, data: BinaryIO, limit: int) -> Kept:
        """Write an upload; it is on the disk when this returns. Raises TooLarge beyond `limit` bytes; nothing of it is kept then."""
        job = uuid.uuid4().hex
        path = self.folder / f"{job}{_suffix(name)}"
        digest, size = hashlib.sha256(), 0
        try:
            with path.open("wb") as stream:
                while block := data.read(1 << 20):
                    size += len(block)
                    if size > limit:
                        raise TooLarge(f"{name}: more than {limit:,} bytes, the limit (file_bytes); split the file or raise the limit")
                    digest.update(block)
                    stream.write(block)
                stream.flush()
                os.fsync(stream.fileno())
            # Its name too, or a power cut could leave the job without its upload.
            sync_folder(self.folder)
        except BaseException:
            path.unlink(missing_ok=True)
            raise
        return Kept(job, path.name, digest.hexdigest(), size)

    def has(self, file: str) -> bool:
        return bool(file) and self.path(file).is_file()

    def drop(self, file: str) -> int:
        """Remove an upload; returns the bytes that were freed (0: it was not there)."""
        if not file:
            return 0
        path = self.path(file)
        try:
            size = path.stat().st_size
            path.unlink()
        except (FileNotFoundError, IsADirectoryError):
            return 0
        return size

    def sweep(self, wanted: Iterable[str]) -> int:
        """Remove all but the wanted files: a process died before it had acknowledged them, or behind a job's end. Returns how many went.
        Call it before this process takes an upload in."""
        wanted, gone = set(wanted), 0
        shutil.rmtree(self.unpacked, ignore_errors=True)
        for path in self.folder.iterdir():
            if path.name not in wanted and path.is_file():
                path.unlink(missing_ok=True)
                gone += 1
        return gone


def digest_of_request(collection: str, replace: bool, files: Iterable[tuple[str, str]]) -> str:
    """What tells two upload requests apart: where the files go, how, and each one's name and SHA-256 in their order."""
    return hashlib.sha256(json.dumps([collection, replace, [list(file) for file in files]]).encode()).hexdigest()


def _suffix(name: str) -> str:
    """The kind of file, for the parser's choice: letters and digits only, so that nothing else of a name reaches the disk."""
    suffix = Path(name).suffix.lower()
    return suffix if suffix[1:].isalnum() and len(suffix) <= 10 and suffix.isascii() else ""
