"""Files, folders and zips go in; the files in them come out one by one, each with the name it gets, or with the error that keeps it out.

A folder's files are named by their path within it, in sorted order; hidden ones are left out. A zip's members follow one another as files of
their own. What may not be looked into, or leads out of its folder, is told: a folder that was named is not taken in by halves in silence.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from .archive import is_archive, unpack
from .errors import BadName, Cancelled, IngestError
from .names import document_name
from .types import Limits


@dataclass(frozen=True)
class Found:
    """A file: where its bytes lie, what it is called, and where it came from. `named`: by a person, not met in a folder or a zip;
    `unpacked`: from a zip, into the folder for that, and whoever took it may remove it."""

    path: Path
    name: str
    source: str
    named: bool = False
    unpacked: bool = False
    error: IngestError | OSError | None = None


def gather(paths: Sequence[Path], limits: Limits, folder: Path, cancelled: Callable[[], bool] = lambda: False) -> Iterator[Found]:
    """`folder`: where a zip's members are written, each when it is asked for. Raises Cancelled while a zip is being unpacked."""
    for path in paths:
        found = _within(path) if _is_folder(path) else [Found(path, path.name, os.path.realpath(path), named=True)]
        for file in found:
            yield from _opened(file, limits, folder, cancelled) if file.error is None else [file]


def _within(root: Path) -> list[Found]:
    """The files of a folder and the folders below it."""
    home = os.path.realpath(root)
    found: list[Found] = []

    def add(path: Path, error: IngestError | OSError | None = None) -> None:
        name = path.relative_to(root).as_posix() if path != root else root.name
        found.append(Found(path, name, os.path.realpath(path), error=error))

    def unreadable(error: OSError) -> None:
        add(Path(error.filename), error)

    for here, folders, files in os.walk(root, onerror=unreadable):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in [*folders, *files]:
            path = Path(here, name)
            if name.startswith("."):
                continue
            # A path that is too long to be looked at is no link; opening it, or looking into it, fails as a line.
            if os.path.islink(path) and not _is_in(os.path.realpath(path), home):
                told = path.relative_to(root).as_posix()
                add(path, BadName(f"{told}: a link that leads out of the folder is not followed: name what it leads to"))
            elif name in files:
                # A link is opened where it led when it was looked at. A folder's link within the folder leads to files that are met anyway.
                add(path)
    return sorted(found, key=lambda file: file.path.parts)


def _is_in(path: str, home: str) -> bool:
    return path == home or path.startswith(home.rstrip(os.sep) + os.sep)


def _opened(file: Found, limits: Limits, folder: Path, cancelled: Callable[[], bool]) -> Iterator[Found]:
    """The file itself, or a zip's members."""
    try:
        if not is_archive(Path(file.source), file.name):
            yield file if file.named else Found(Path(file.source), file.name, file.source)
            return
        for member in unpack(Path(file.source), document_name(file.name), limits, folder, cancelled):
            source = f"{file.source}!/{member.name}"
            if member.path is None:
                yield Found(file.path, member.name, source, error=member.error or IngestError(f"{member.name}: it could not be unpacked"))
            else:
                yield Found(member.path, member.name, source, unpacked=True)
    except Cancelled:
        raise
    except (IngestError, OSError) as error:
        yield Found(file.path, file.name, file.source, file.named, error=error)


def _is_folder(path: Path) -> bool:
    """Not where nobody may look, or the name is too long: opening it then fails, as a line of the report."""
    try:
        return path.is_dir()
    except OSError:
        return False
