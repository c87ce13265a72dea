"""The patch store: patches go in by key and come out again with the tier they came from. One folder for one identity.

A file is whole or absent. Its header carries the whole key, the identity's fingerprint and a checksum over everything in the file; a pooled
patch's file holds its coefficients alone. Where files are, and what goes when a page goes: patch_files.py.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from torch import Tensor

from .errors import CacheMiss, CorruptPatch, IdentityMismatch, PatchError
from .identity import Identity
from .patch import Basis, Factors, Patch, PatchKey
from .patch_files import Listing, PatchFiles, facts_for, says
from .ram import RamLayer
from .sealed import BrokenSeal, Facts, seal, unseal
from .types import Tier

_CURE = "`quire patch form` makes it again"
# The tensors of a patch's file, of which a pooled one has the coefficients alone, and of a basis's.
_NAMES, _CHANNELS = ("rotary_left", "plain_left", "rotary_right", "plain_right"), ("rotary", "plain")
# Pages whose list of patches is remembered.
_LISTINGS = 4096
# A folder that changed less than this before it was read may change again within the same tick of its clock, unseen.
_SETTLED = 2_000_000_000  # nanoseconds


@dataclass(frozen=True)
class FetchedPatch:
    """A patch as the store handed it out: from which tier, and how many bytes were read from disk for it."""

    patch: Patch
    tier: Tier
    bytes_read: int


@dataclass(frozen=True)
class _Parts:
    """The tensors of one file."""

    tensors: dict[str, Tensor]

    @property
    def bytes(self) -> int:
        return sum(tensor.numel() * tensor.element_size() for tensor in self.tensors.values())

    def copied(self) -> _Parts:
        return _Parts({name: tensor.clone() for name, tensor in self.tensors.items()})


class PatchStore:
    """Patches of one identity on disk, with the most recently used ones in memory. Any number of readers take no lock; whoever puts or
    removes holds the home's writer lock. A patch that another process removed is never handed out from memory."""

    def __init__(self, folder: Path, identity: Identity, ram_bytes: int = 0) -> None:
        self.folder, self.identity = folder, identity
        self.files = PatchFiles(folder)
        self.ram = RamLayer[_Parts](ram_bytes)
        self._listings: OrderedDict[str, tuple[int, int, Listing]] = OrderedDict()
        self._lock = threading.Lock()

    # -- what there is -----------------------------------------------------------------------------------------------

    def path(self, key: PatchKey) -> Path:
        """Where a patch is kept. Raises CacheMiss for a key whose page is no image key: it never becomes a path."""
        return self.files.path(key.page, key.digest)

    def has(self, key: PatchKey) -> bool:
        return self.path(key).exists()

    def listing(self, page: str) -> Listing:
        """A page image's patches, from their headers; remembered until the page's folder changes."""
        try:
            changed = self.files.page_folder(page).stat().st_mtime_ns
        except FileNotFoundError:
            return Listing()
        with self._lock:
            known = self._listings.get(page)
            if known is not None and known[0] == changed and known[1] - changed > _SETTLED:
                self._listings.move_to_end(page)
                return known[2]
        read = time.time_ns()
        found = self.files.listing(page)
        with self._lock:
            self._listings[page] = (changed, read, found)
            while len(self._listings) > _LISTINGS:
                self._listings.popitem(last=False)
        return found

    def of_page(self, page: str) -> list[PatchKey]:
        """Keys of a page image's patches, by their headers alone."""
        return list(self.listing(page).keys)

    def keys(self) -> Iterator[PatchKey]:
        """All patches on disk, by page."""
        for page in self.files.pages():
            yield from self.files.listing(page).keys

    # -- in and out --------------------------------------------------------------------------------------------------

    def put(self, patch: Patch) -> None:
        """Write a patch; it is on the disk when this returns. One that is there already is left as it is.

        Raises:
            PatchError: it stands over a basis that is not in the store.
            CacheMiss: one of its pages is no image key.
        """
        key = patch.key
        if self.has(key):
            return
        tensors = {"rotary_left": patch.rotary.left, "plain_left": patch.plain.left}
        if key.basis is None:
            tensors |= {"rotary_right": patch.rotary.right, "plain_right": patch.plain.right}
        elif not self.files.basis_path(key.basis).exists():
            raise PatchError(
                f"{key.page}: the patch stands over basis {key.basis}, which is not in the store; put the basis first", key=key.page
            )
        self.files.write(key, seal({"patch": facts_for(key), "identity": self.identity.fingerprint}, tensors))
        with self._lock:
            self._listings.pop(key.page, None)

    def get(self, key: PatchKey) -> FetchedPatch:
        """Fetch a patch, checked when it is read from disk.

        Raises:
            CacheMiss: it was never formed, or was deleted; so was its basis.
            CorruptPatch: its bytes, or its basis's, are not those that were written.
            IdentityMismatch: it was formed by another model.
        """
        said = f"{key.page}: patch {key.digest} ({key})"
        parts, read = self._fetch(self.path(key), said, key.page, _NAMES if key.basis is None else _NAMES[:2], key)
        right = parts.tensors
        if key.basis is not None:
            over, more = self._fetch(self.files.basis_path(key.basis), f"{said}: its basis {key.basis}", key.page, _CHANNELS)
            left = parts.tensors["rotary_left"]
            right = {f"{name}_right": over.tensors[name].to(left.dtype) for name in ("rotary", "plain")}
            read += more
        patch = Patch(key, *(Factors(parts.tensors[f"{name}_left"], right[f"{name}_right"]) for name in ("rotary", "plain")))
        return FetchedPatch(patch, "disk" if read else "ram", read)

    def sound(self, key: PatchKey) -> bool:
        """Whether a patch, and the basis it stands over, can be read from disk and are this identity's."""
        for name in [_name(self.path(key)), *([f"bases/{key.basis}"] if key.basis else [])]:
            self.ram.drop(name)  # the copy in memory was sound when it was read
        try:
            self.get(key)
        except (CacheMiss, CorruptPatch, IdentityMismatch):
            return False
        return True

    def put_basis(self, basis: Basis, pages: Iterable[str]) -> None:
        """Write a basis with the page images it was pooled over: it says something of all of them, and goes when one of them goes."""
        pages = sorted(set(pages))
        if not self.files.basis_path(basis.digest).exists():
            facts = {"basis": basis.digest, "first_layer": basis.first_layer, "pages": pages, "identity": self.identity.fingerprint}
            self.files.write_basis(basis.digest, pages, seal(facts, {"rotary": basis.rotary, "plain": basis.plain}))

    def get_basis(self, name: str) -> tuple[Basis, tuple[str, ...]]:
        """A basis by its digest, in fp32, and the page images it was pooled over. Raises as `get` does."""
        facts, tensors = self._unseal(self.files.basis_path(name), f"basis {name}", "")
        return Basis(int(facts["first_layer"]), tensors["rotary"], tensors["plain"]), tuple(facts["pages"])

    # -- out for good ------------------------------------------------------------------------------------------------

    def remove(self, key: PatchKey) -> int:
        """Delete a patch from disk and memory; returns the bytes that were freed (0: it was not there)."""
        return self._forget(self.files.remove_patch(key.page, key.digest))

    def remove_named(self, page: str, name: str) -> int:
        """The same by its digest: a damaged file cannot say its key."""
        return self._forget(self.files.remove_patch(page, name))

    def remove_basis(self, name: str) -> int:
        """Delete a basis and every patch that stands over it."""
        return self._forget(self.files.remove_basis(name))

    def remove_pages(self, pages: Iterable[str]) -> list[tuple[Path, int]]:
        """Delete everything that knows something of these page images, as their own or as what was given; each file with its bytes."""
        gone = self.files.remove_pages(pages)
        self._forget(gone)
        return gone

    def _forget(self, gone: list[tuple[Path, int]]) -> int:
        # Behind the files: a `get` that read one before it went may have kept it in memory meanwhile.
        for path, _ in gone:
            self.ram.drop(_name(path))
            with self._lock:
                self._listings.pop(path.parent.name, None)
        return sum(size for _, size in gone)

    # -- reading -----------------------------------------------------------------------------------------------------

    def _fetch(self, path: Path, said: str, page: str, names: Sequence[str], key: PatchKey | None = None) -> tuple[_Parts, int]:
        """The tensors of a file, which must be of these names, and the bytes read for them."""
        try:
            size = path.stat().st_size
        except FileNotFoundError as error:
            self.ram.drop(_name(path))
            raise CacheMiss(f"{said} is not in the store; {_CURE}", key=page) from error
        kept = self.ram.get(_name(path))
        if kept is not None:
            return kept, 0
        facts, tensors = self._unseal(path, said, page)
        if tensors.keys() != set(names) or (key is not None and not says(facts, key)):
            raise CorruptPatch(f"{said}: {path.name} holds another patch; {_CURE}", key=page)
        parts = self.ram.keep(_name(path), _Parts(tensors), _Parts.copied)
        if not path.exists():
            self.ram.drop(_name(path))  # deleted while it was read: this request may end on it, memory must not keep it
        return parts, size

    def _unseal(self, path: Path, said: str, page: str) -> tuple[Facts, dict[str, Tensor]]:
        try:
            facts, tensors = unseal(path)
        except FileNotFoundError as error:
            raise CacheMiss(f"{said} is not in the store; {_CURE}", key=page) from error
        except BrokenSeal as error:
            raise CorruptPatch(f"{said}: {path.name}: {error}; {_CURE}", key=page) from error
        found = str(facts.get("identity", ""))
        if found != self.identity.fingerprint:
            raise IdentityMismatch(
                f"{said}: formed by another model ({found[:12]}… in the file, {self.identity.fingerprint[:12]}… loaded); "
                "delete the file, `quire patch form` makes the loaded model's",
                field="identity",
                stored=found,
                loaded=self.identity.fingerprint,
            )
        return facts, tensors


def _name(path: Path) -> str:
    """`<page>/<digest>` or `bases/<digest>`: the file's name in memory."""
    return f"{path.parent.name}/{path.stem}"
