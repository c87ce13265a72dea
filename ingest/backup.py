"""A home goes in, and a folder: a whole, checked copy of the home comes out, made while a server may work on it. And back again.

The catalogue is copied by SQLite itself, as it was at one moment; then every file that this copy speaks of is linked, or copied where it lies on
another disk. No lock is held meanwhile. A file that a deletion takes in between is missed: then the catalogue is copied again, and only what is
new follows; the last time under the writer's lock, which is short by then. The copy is checked before it is called one.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from cache_compiler.files import UNFINISHED, write_atomic
from retrieval.catalogue import Catalogue
from retrieval.jobs import KEEPING

from .errors import BadBackup, HomeNotEmpty
from .findings import Findings
from .home import Home
from .remove import finish_removals, remove_orphans
from .shelf import BareShelf, Shelf, open_shelf
from .verify import verify

# Written last: a folder without it is no backup.
NOTE = "backup.json"
FORMAT = 1
# Copies of the catalogue that are made before the writer's lock is asked for.
_TRIES = 3
# What is not copied: locks, what SQLite keeps beside its file, what is built again, and uploads and pages, which are copied by name.
_NOT = ("lock", "serving", "catalogue.sqlite", "index", "spool", "store", "images", NOTE)


@dataclass(frozen=True)
class Backup:
    """What was copied: when (seconds since 1970), documents, page images, files and bytes; how many of the files are links."""

    at: float
    documents: int
    pages: int
    files: int
    bytes: int
    linked: int
    format: int = FORMAT


def backup(home: Home, target: Path, copy: bool = False) -> Backup:
    """Make a backup of a home in the folder `target`, which is made, or is empty.

    `copy`: copy every file, instead of linking those on the same disk. A link takes no room and no time, and is no help when the disk
    fails: files are never written in place, so it does not change with the home.

    Raises BadBackup: the target is not empty or lies in the home, or the copy did not stand the check (the folder is left for a look).
    """
    target = Path(target).expanduser().resolve()
    if target == home.root or home.root in target.parents:
        raise BadBackup(f"{target} lies in the home itself: give a folder outside of it")
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise BadBackup(f"{target} is there and not empty: give a new folder")
    target.mkdir(parents=True, exist_ok=True)
    taken = _Taken(copy)
    for attempt in range(1, _TRIES + 1):
        with home.writing() if attempt == _TRIES else contextlib.nullcontext():
            missing = _copy_all(home, target, taken)
        if not missing:
            break
    else:
        raise BadBackup(
            f"{missing[0]} is not there although the catalogue speaks of it: `quire verify` tells of more, `quire repair` makes it again"
        )
    with open_shelf(target) as shelf:
        _prune(shelf)
        found, counts = verify(shelf), shelf.catalogue.counts()
    _require_sound(found, target)
    (target / "lock").unlink(missing_ok=True)
    _sync_all(target)
    files, size = taken.count(target)
    note = Backup(time.time(), counts.documents, counts.pages, files, size, taken.linked)
    write_atomic(target / NOTE, json.dumps(asdict(note), indent=1).encode() + b"\n")
    return note


def restore(source: Path, root: Path) -> Backup:
    """Make a home of a backup, in a folder that is not there yet, or empty. Every file is copied and the copy is checked: the backup stays.

    Raises:
        BadBackup: the folder is no whole backup, or what was copied did not stand the check; then nothing is left of it.
        HomeNotEmpty: something is in the new home already.
    """
    source, root = Path(source).expanduser().resolve(), Path(root).expanduser().resolve()
    try:
        told = json.loads((source / NOTE).read_text(encoding="utf-8"))
        # First of all: a newer note may have fields that this version does not know.
        if int(told["format"]) > FORMAT:
            raise BadBackup(
                f"{source} is a backup of format {told['format']}, this version reads up to {FORMAT}: use a newer version of Quire"
            )
        note = Backup(**told)
    except FileNotFoundError as error:
        raise BadBackup(f"{source}: there is no {NOTE}, so it is no backup, or one that was not finished; give another one") from error
    except (ValueError, TypeError, KeyError) as error:
        raise BadBackup(f"{source / NOTE}: cannot be read ({error}); give another backup") from error
    if root.exists() and (not root.is_dir() or any(root.iterdir())):
        raise HomeNotEmpty(f"{root} is not empty: restore into a new folder, then use that as the home")
    made = not root.exists()
    try:
        shutil.copytree(source, root, dirs_exist_ok=True, ignore=lambda folder, names: [NOTE] if Path(folder) == source else [])
        _sync_all(root)
        with open_shelf(root) as shelf:
            _require_sound(verify(shelf), source)
    except BaseException:
        _clear(root, made)
        raise
    return note


class _Taken:
    """Puts files into the copy: linked or copied, each once."""

    def __init__(self, copy: bool) -> None:
        self.copy, self.linked = copy, 0

    def put(self, path: Path, target: Path) -> None:
        """Raises FileNotFoundError where it is gone. One that is there already is the same: files are never written in place."""
        if target.exists():
            return
        target.parent.mkdir(parents=True, exist_ok=True)
        if not self.copy:
            try:
                os.link(path, target)
            except FileNotFoundError:
                raise
            except OSError:
                self.copy = True  # another disk, or one without links
            else:
                self.linked += 1
                return
        half = target.with_name(f"{target.name}.0.{os.getpid()}{UNFINISHED}")
        shutil.copyfile(path, half)
        half.replace(target)

    def count(self, target: Path) -> tuple[int, int]:
        sizes = [path.stat().st_size for path in target.rglob("*") if path.is_file()]
        return len(sizes), sum(sizes)


def _copy_all(home: Home, target: Path, taken: _Taken) -> list[str]:
    """Copy the catalogue as it is now, and every file that it speaks of; returns those that are not there and must be."""
    source = Catalogue(home.catalogue_path)
    try:
        source.copy_to(target / "catalogue.sqlite")
    finally:
        source.close()
    copied = Catalogue(target / "catalogue.sqlite")
    try:
        shelf, missing = BareShelf(home, copied), []
        for path, needed in _wanted(shelf):
            try:
                taken.put(path, target / path.relative_to(home.root))
            except FileNotFoundError:
                if needed:
                    missing.append(str(path.relative_to(home.root)))
    finally:
        copied.close()
    return missing


def _wanted(shelf: Shelf) -> Iterator[tuple[Path, bool]]:
    """(file, whether it must be there): images, and uploads that a job waits for. A cache or a patch may have been evicted."""
    home = shelf.home
    # First, for an upload goes with its job's end, and no lock keeps it.
    for row in shelf.catalogue.jobs(states=KEEPING):
        if row.spool:
            yield home.spool / row.spool, row.state != "failed"
    for page in shelf.catalogue.all_pages():
        for dpi in page.rows:
            key = f"{page.key}@{dpi}"
            image = home.images_root / key[:2] / f"{key}.png"
            yield image, True
            yield from ((path, False) for path in home.derived_files(key) if path != image)
    yield from ((path, False) for files in home.patch_files() for path in files.folder.glob("given/*/*/*"))
    for path in [*home.store_root.glob("*/*"), *(path for path in home.root.iterdir() if not path.name.startswith(_NOT))]:
        if path.is_file() and path.name != "manifest.json" and not path.name.endswith(UNFINISHED):
            yield path, False


def _prune(shelf: Shelf) -> None:
    """Leave out what the copied catalogue does not speak of: it came, or went, while files were linked."""
    finish_removals(shelf)
    remove_orphans(shelf)
    waiting = {row.spool for row in shelf.catalogue.jobs(states=KEEPING)}
    for path in shelf.home.spool.iterdir():
        if path.is_file() and path.name not in waiting:
            path.unlink()


def _require_sound(found: Findings, where: Path) -> None:
    if not found.clean:
        first = found.findings[0]
        raise BadBackup(f"{where}: {len(found.findings)} findings, the first: {first.where}: {first.says}; `quire verify` tells of all")


def _sync_all(root: Path) -> None:
    """Copied is what is on the disk, not what is on its way there."""
    for path in root.rglob("*"):
        if path.is_file() or path.is_dir():
            handle = os.open(path, os.O_RDONLY)
            try:
                os.fsync(handle)
            finally:
                os.close(handle)


def _clear(root: Path, made: bool) -> None:
    if made:
        shutil.rmtree(root, ignore_errors=True)
        return
    for path in root.iterdir() if root.is_dir() else ():
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)
