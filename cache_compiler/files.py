"""Bytes and a path go in; a file that is either whole or absent comes out, whatever stops the process."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import socket
import threading
import time
from pathlib import Path

from .errors import StoreUnwritable

# A name that no key has: what a crash leaves behind can be told from what was meant.
UNFINISHED = ".unfinished"

# Names of what threads of this process are writing. Its number alone says nothing: in a container every process has the number of the one before,
# and so have those of two containers over one home. So the machine's name stands before it.
_WRITING: set[str] = set()
_MACHINE = hashlib.sha256(socket.gethostname().encode()).hexdigest()[:8] + "m"
_NAMED = re.compile(r"[0-9a-f]{8}m")
# Seconds that a file which another machine began is left alone: what that one does cannot be asked. One file takes a few.
YOUNG = 600.0


def write_atomic(path: Path, data: bytes) -> None:
    """Write to a name of this thread's own beside `path`, flush to the disk, rename. Raises StoreUnwritable naming the folder."""
    temporary = unfinished(path)
    _WRITING.add(temporary.name)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with temporary.open("wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        temporary.replace(path)
        sync_folder(path.parent)
    except OSError as error:
        # Where nothing can be written, nothing can be removed either: the first error is the one to tell.
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise StoreUnwritable(f"{path.parent}: {error.strerror or error}; free some space or give another home") from error
    finally:
        _WRITING.discard(temporary.name)


def unfinished(path: Path) -> Path:
    """The name under which this thread writes what shall be `path`."""
    return path.with_name(f"{path.name}.{threading.get_ident()}.{_MACHINE}.{os.getpid()}{UNFINISHED}")


def sweep(folder: Path) -> int:
    """Remove what writers that died have left under `folder`; a file whose writer is alive is left to it. Returns how many went."""
    gone = 0
    for path in folder.rglob(f"*{UNFINISHED}"):
        if is_abandoned(path):
            path.unlink(missing_ok=True)
            gone += 1
    return gone


def is_abandoned(path: Path) -> bool:
    """Whether an unfinished file's writer is gone: another process, or a thread of this one that is not writing it now. Of another machine's,
    or another container's, it is believed when the file is not young any more."""
    before, _, writer = path.name.removesuffix(UNFINISHED).rpartition(".")
    machine = before.rpartition(".")[2]
    if path.name in _WRITING:
        return False
    if _NAMED.fullmatch(machine) and machine != _MACHINE:
        try:
            return time.time() - path.stat().st_mtime > YOUNG
        except FileNotFoundError:
            return False  # finished, or given up, since it was seen
    return not writer.isdigit() or not _alive(int(writer))


def _alive(process: int) -> bool:
    if process == os.getpid():
        return False  # left by one that had the same number
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def sync_folder(folder: Path) -> None:
    """The rename itself must reach the disk, or a power cut could undo what was acknowledged."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def unlink(path: Path) -> list[tuple[Path, int]]:
    """Remove the file; it and its bytes, or nothing where it was gone already."""
    try:
        size = path.stat().st_size
        path.unlink()
    except FileNotFoundError:
        return []
    return [(path, size)]
