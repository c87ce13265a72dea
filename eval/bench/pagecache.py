"""Files go in; the operating system's page cache is rid of them, or the reason why it is not comes out.

`posix_fadvise(DONTNEED)` needs no rights beyond reading the file, but it is advice: a file in a memory file system stays, and so may a
mapped one. What is left in memory afterwards is therefore counted, by `mincore`, and a cold figure is given only where nothing is.
"""

from __future__ import annotations

import ctypes
import mmap
import os
from collections.abc import Iterable
from pathlib import Path


def drop(paths: Iterable[Path]) -> str | None:
    """Drop the files' pages from memory. None: all are gone. Else one sentence that says what kept them."""
    if not hasattr(os, "posix_fadvise"):
        return "this system has no posix_fadvise"
    for path in paths:
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)  # a page that is not yet on the disk cannot be dropped
            os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)
        except OSError as error:
            return f"{path.parent}: posix_fadvise was refused ({error.strerror})"
        finally:
            os.close(handle)
        try:
            left = resident(path)
        except OSError as error:
            return f"whether the page cache was dropped cannot be seen here ({error.strerror or error})"
        if left:
            return f"{path.parent}: the page cache kept {left:,} bytes of a file; set TMPDIR to a folder on a disk"
    return None


def resident(path: Path) -> int:
    """Bytes of the file that are in the page cache, whole pages. Raises OSError where the system does not say."""
    size = path.stat().st_size
    if not size:
        return 0
    pages = -(-size // mmap.PAGESIZE)
    # A private writable mapping: ctypes asks for a writable buffer, and nothing is written.
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY) as mapped:
        library = ctypes.CDLL(None, use_errno=True)
        if not hasattr(library, "mincore"):
            raise OSError("no mincore")
        present = (ctypes.c_ubyte * pages)()
        window = (ctypes.c_char * size).from_buffer(mapped)
        try:
            failed = library.mincore(ctypes.c_void_p(ctypes.addressof(window)), ctypes.c_size_t(size), present)
            number = ctypes.get_errno()
        finally:
            del window  # or the mapping could not be closed
    if failed:
        raise OSError(number, os.strerror(number))
    return sum(byte & 1 for byte in present) * mmap.PAGESIZE
