"""A home goes in; what nobody needs goes, and is listed: pages that no document owns, files of cut deletions and of writers that died, uploads
without a job, jobs that ended long ago, requests of before yesterday; and, when asked for, stores of models that no collection was made for.
"""

from __future__ import annotations

import json
import shutil
import time
from dataclasses import dataclass
from pathlib import Path

from cache_compiler.errors import IdentityMismatch
from cache_compiler.files import UNFINISHED, is_abandoned
from cache_compiler.identity import Identity
from retrieval.index import stem
from retrieval.jobs import FINAL, KEEPING

from .checks import is_old
from .remove import finish_removals, orphans, take_orphans
from .shelf import Shelf

# Seconds for which an ended job is remembered.
REMEMBERED = 30 * 24 * 3600.0


@dataclass(frozen=True)
class Collected:
    """Files (relative to the home) that went, or would, their bytes, and how many rows of ended jobs and of remembered requests."""

    files: tuple[str, ...] = ()
    bytes: int = 0
    jobs: int = 0
    requests: int = 0
    dry: bool = False


def gc(shelf: Shelf, stale: bool = False, dry: bool = False, remembered: float = REMEMBERED) -> Collected:
    """Collect. `dry`: say what would go, and touch nothing. `stale`: also stores whose identity no collection has; a question could never read
    them, but a collection that is made for that model again could. `remembered`: seconds for which an ended job is kept.

    Files that are not an hour old are left to whoever is writing them. Raises HomeBusy.
    """
    before = time.time() - remembered
    if dry:
        unneeded = sorted(_of_pages(shelf) | _strays(shelf, stale))
        size = sum(_size(path) for path in unneeded)
        files = tuple(str(path.relative_to(shelf.home.root)) for path in unneeded)
        ended = sum(row.updated < before for row in shelf.catalogue.jobs(states=FINAL))
        return Collected(files, size, ended, shelf.catalogue.expired(), dry=True)
    # Half-written files go with the pages that they lie beside, too.
    seen = {path: _size(path) for path in _strays(shelf, stale)}
    cut, lost = finish_removals(shelf), take_orphans(shelf, _old_orphans(shelf))
    # What went, not what was looked at: it may be needed again by now, or have gone by itself.
    went = dict.fromkeys((*cut.files, *lost.files), 0)
    forgotten = shelf.catalogue.forget_finished(before)
    with shelf.home.writing():
        # Looked for again, and files of pages not at all: a document that came meanwhile may have taken up what nobody needed before.
        for path in _strays(shelf, stale):
            seen[path] = _remove(path)
        for patches in shelf.home.patch_files():
            patches.sweep()
        for spool in forgotten.spools:
            # The strays may have had it already.
            if (shelf.home.spool / spool).is_file():
                seen[shelf.home.spool / spool] = _remove(shelf.home.spool / spool)
    left = {str(path.relative_to(shelf.home.root)): size for path, size in seen.items() if not path.exists()}
    went = left | went  # what a cut deletion took is counted with it already
    shelf.catalogue.rewrite()
    shelf.catalogue.empty_log()
    return Collected(tuple(sorted(went)), cut.bytes + lost.bytes + sum(went.values()), len(forgotten.jobs), forgotten.uploads)


def _of_pages(shelf: Shelf) -> set[Path]:
    """Files of pages that no document owns, or that a deletion has noted."""
    keys = [*shelf.catalogue.pending().images, *_old_orphans(shelf)]
    return {path for key in keys for path in shelf.home.derived_files(key)}


def _strays(shelf: Shelf, stale: bool) -> set[Path]:
    """All else that nobody needs: half-written files, uploads, indexes; and folders of stale stores."""
    home = shelf.home
    found = {path for path in home.root.rglob(f"*{UNFINISHED}") if is_abandoned(path)}
    waiting = {row.spool for row in shelf.catalogue.jobs(states=KEEPING)}
    found |= {path for path in home.spool.iterdir() if path.is_file() and path.name not in waiting and is_old(path)}
    known = {stem(row.name) for row in shelf.catalogue.collections()}
    found |= {path for path in home.index_folder.glob("*") if path.name.lstrip(".").partition(".")[0] not in known}
    return found | (_stale(shelf) if stale else set())


def _stale(shelf: Shelf) -> set[Path]:
    """Stores of identities that no collection has. One that this version cannot read is left, and so are all where a collection's cannot be."""
    used = [_fingerprint(row.identity) for row in shelf.catalogue.collections()]
    if "" in used:
        return set()
    found = set()
    for path in shelf.home.store_root.glob("*"):
        try:
            own = _fingerprint(json.loads((path / "identity.json").read_text(encoding="utf-8")))
        except (OSError, ValueError):
            continue
        if own == path.name and own not in used:
            found.add(path)
    return found


def _old_orphans(shelf: Shelf) -> list[str]:
    """Of pages that no document owns, those that nobody is taking in now."""
    return [key for key in orphans(shelf) if all(is_old(path) for path in shelf.home.derived_files(key))]


def _fingerprint(identity: object) -> str:
    try:
        return Identity.from_mapping(identity).fingerprint[:16]  # type: ignore[arg-type]
    except (IdentityMismatch, TypeError):
        return ""


def _remove(path: Path) -> int:
    size = _size(path)
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
    return size


def _size(path: Path) -> int:
    try:
        return sum(file.stat().st_size for file in path.rglob("*") if file.is_file()) if path.is_dir() else path.stat().st_size
    except FileNotFoundError:
        return 0
