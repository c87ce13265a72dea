"""A folder of patch files: which there are, what each knows of, and all that must go when a page goes. It needs no model, and reads no tensor.

    <folder>/ab/<page>@<dpi>/<digest>.safetensors       a patch of that page
    <folder>/bases/<digest>.safetensors                 a basis that many patches share
    <folder>/given/ab/<antecedent>/<page>.<digest>      an empty file: that patch knows something of this antecedent
    <folder>/given/ab/<page>/<digest>.basis             an empty file: that basis was pooled over this page
    <folder>/given/bases/<digest>/<page>.<digest>       an empty file: that patch stands over this basis

The empty files stand there before the file they speak of, and go after it: a crash in between leaves one that speaks of nothing, which
`sweep` removes, never a patch that a deletion would not find. Whoever writes or removes holds the home's writer lock.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from .files import unlink, write_atomic
from .keys import digest, image_key, is_digest, is_image_key
from .patch import PatchKey
from .sealed import BrokenSeal, facts_of

_SUFFIX = ".safetensors"


@dataclass(frozen=True)
class Listing:
    """A page's patches by what their headers say; `damaged` are the digests of files whose header cannot be read, or is another patch's."""

    keys: tuple[PatchKey, ...] = ()
    damaged: tuple[str, ...] = ()


class PatchFiles:
    """The patches of one identity as files. `folder` need not exist."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    # -- where things are --------------------------------------------------------------------------------------------

    def page_folder(self, page: str) -> Path:
        """Where a page image's patches are. Raises CacheMiss on a string that is no image key."""
        return self.folder / image_key(page)[:2] / page

    def path(self, page: str, name: str) -> Path:
        """Where the patch of `page` with that digest is. Raises CacheMiss as `page_folder` does."""
        return self.page_folder(page) / f"{digest(name)}{_SUFFIX}"

    @property
    def bases_folder(self) -> Path:
        return self.folder / "bases"

    def basis_path(self, name: str) -> Path:
        return self.bases_folder / f"{digest(name)}{_SUFFIX}"

    def pages(self) -> list[str]:
        """Every page image that has a patch or that a patch knows of, sorted."""
        found = {path.name for pattern in ("??/*", "given/??/*") for path in self.folder.glob(pattern)}
        return sorted(filter(is_image_key, found))

    def paths(self, page: str) -> list[Path]:
        """The files of a page's own patches, sorted."""
        return sorted(path for path in self.page_folder(page).glob(f"*{_SUFFIX}") if is_digest(path.stem))

    def bases(self) -> list[Path]:
        return sorted(path for path in self.bases_folder.glob(f"*{_SUFFIX}") if is_digest(path.stem))

    def knowing(self, page: str) -> list[Path]:
        """Every file that knows something of a page image: its own patches, those given it, and bases pooled over it with theirs; sorted."""
        found = set(self.paths(page))
        for kind, other, name in self._spoken_of(page):
            if kind == "patch":
                found.add(self.path(other, name))
            else:
                found.add(self.basis_path(name))
                found |= {self.path(*patch) for patch in self._over(name)}
        return sorted(path for path in found if path.exists())

    def listing(self, page: str) -> Listing:
        keys, damaged = [], []
        for path in self.paths(page):
            try:
                keys.append(_said_by(path, page))
            except FileNotFoundError:
                continue  # removed since the folder was read
            except BrokenSeal:
                damaged.append(path.stem)
        return Listing(tuple(keys), tuple(damaged))

    # -- writing -----------------------------------------------------------------------------------------------------

    def write(self, key: PatchKey, data: bytes) -> None:
        for marker in self._markers(key):
            write_atomic(marker, b"")
        write_atomic(self.path(key.page, key.digest), data)

    def write_basis(self, name: str, pages: Iterable[str], data: bytes) -> None:
        for page in sorted(pages):
            write_atomic(self._given(page) / f"{name}.basis", b"")
        write_atomic(self.basis_path(name), data)

    # -- removing: the file first, then what speaks of it ------------------------------------------------------------

    def remove_patch(self, page: str, name: str) -> list[tuple[Path, int]]:
        """Remove one patch; returns it with its bytes, or nothing where it was not there."""
        path = self.path(page, name)
        try:
            markers = self._markers(_said_by(path, page))
        except FileNotFoundError:
            return []
        except BrokenSeal:
            # It cannot say any more what it was given: look for it everywhere.
            markers = list(self.folder.glob(f"given/*/*/{page}.{name}"))
        gone = unlink(path)
        for marker in markers:
            marker.unlink(missing_ok=True)
            _tidy(marker.parent)
        _tidy(path.parent)
        return gone

    def remove_basis(self, name: str) -> list[tuple[Path, int]]:
        """Remove a basis, and before it every patch that stands over it: without it they say nothing."""
        gone = [item for patch in self._over(name) for item in self.remove_patch(*patch)]
        path = self.basis_path(name)
        # Everywhere, for what its header says of its pages is unchecked.
        markers = list(self.folder.glob(f"given/??/*/{name}.basis"))
        gone += unlink(path)
        for marker in markers:
            marker.unlink(missing_ok=True)
            _tidy(marker.parent)
        _tidy(path.parent)
        return gone

    def remove_pages(self, pages: Iterable[str]) -> list[tuple[Path, int]]:
        """Remove everything that knows something of these page images: their own patches, every patch that was given one of them, and
        bases pooled over one of them with all their patches. Returns the files, each with its bytes; again does nothing."""
        gone: list[tuple[Path, int]] = []
        for page in pages:
            for path in self.paths(page):
                gone += self.remove_patch(page, path.stem)
            for kind, other, name in self._spoken_of(page):
                gone += self.remove_patch(other, name) if kind == "patch" else self.remove_basis(name)
            for marker in self._given(page).glob("*"):
                marker.unlink(missing_ok=True)  # spoke of nothing: a crash came between
            _tidy(self._given(page))
        return gone

    def sweep(self) -> int:
        """Remove the empty files that speak of a patch or a basis that is not there; returns how many."""
        gone = 0
        for marker in self.folder.glob("given/*/*/*"):
            if not self.speaks_of_something(marker):
                marker.unlink(missing_ok=True)
                _tidy(marker.parent)
                gone += 1
        return gone

    def speaks_of_something(self, marker: Path) -> bool:
        """Whether the patch or the basis that an empty file speaks of is there."""
        spoken = _read(marker.name)
        return spoken is not None and (self.basis_path(spoken[2]) if spoken[0] == "basis" else self.path(*spoken[1:])).exists()

    # -- what speaks of what -----------------------------------------------------------------------------------------

    def _given(self, page: str) -> Path:
        return self.folder / "given" / image_key(page)[:2] / page

    def _markers(self, key: PatchKey) -> list[Path]:
        name = f"{key.page}.{key.digest}"
        found = [self._given(page) / name for page in sorted(key.pages - {key.page})]
        return [*found, self.folder / "given" / "bases" / digest(key.basis) / name] if key.basis else found

    def _spoken_of(self, page: str) -> Iterator[tuple[str, str, str]]:
        """("patch", its page, its digest) or ("basis", "", its digest) for everything that knows `page` besides its own patches."""
        for marker in sorted(self._given(page).glob("*")):
            spoken = _read(marker.name)
            if spoken is not None:
                yield spoken

    def _over(self, basis: str) -> list[tuple[str, str]]:
        """(page, digest) of every patch over a basis."""
        found = [_read(marker.name) for marker in sorted((self.folder / "given" / "bases" / digest(basis)).glob("*"))]
        return [item[1:] for item in found if item is not None and item[0] == "patch"]


def facts_for(key: PatchKey) -> dict[str, Any]:
    """A key as its file's header has it."""
    return asdict(key)


def key_of(facts: dict[str, Any]) -> PatchKey:
    """The key in a file's header. Raises BrokenSeal where there is none."""
    try:
        said = dict(facts["patch"])
        return PatchKey(**{**said, "given": tuple(said["given"]), "left": tuple(said["left"])})
    except (KeyError, TypeError, ValueError) as error:
        raise BrokenSeal("the header names no patch") from error


def says(facts: dict[str, Any], key: PatchKey) -> bool:
    """Whether a file's header is that of this very patch."""
    try:
        return key_of(facts) == key
    except BrokenSeal:
        return False


def _said_by(path: Path, page: str) -> PatchKey:
    """The key that a patch file's header gives, if it is the one that the file is named for: one flipped byte makes it another's, or no
    key at all, and what a deletion must find would be looked for where it is not.

    Raises FileNotFoundError and BrokenSeal.
    """
    key = key_of(facts_of(path))
    if (key.page, key.digest) != (page, path.stem):
        raise BrokenSeal("the header is another patch's")
    return key


def _read(name: str) -> tuple[str, str, str] | None:
    """An empty file's name -> what it speaks of; None for a file that is not ours."""
    first, _, last = name.rpartition(".")
    if last == "basis" and is_digest(first):
        return "basis", "", first
    return ("patch", first, last) if is_image_key(first) and is_digest(last) else None


def _tidy(folder: Path) -> None:
    """Remove an emptied folder: its name is a page's."""
    with contextlib.suppress(OSError):
        folder.rmdir()
