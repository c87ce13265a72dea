"""The cache store: canonicals go in by key and come out again with the tier they came from. One folder for one identity.

    <root>/<identity>/identity.json            what made these caches
    <root>/<identity>/manifest.json            written last, by `seal`: how many, how large, and a digest of the keys
    <root>/<identity>/caches/ab/<page>@<dpi>.safetensors
    <root>/<identity>/patches/...              what pages take from pages before them: patch_store.py

A file is whole or absent (write, flush, rename). Its header carries a checksum over everything else in it; a file that
does not match is `CorruptCache`, by key, so that the page can be compiled again.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from .errors import CacheMiss, CorruptCache, IdentityMismatch
from .files import write_atomic
from .formats import bring_up
from .identity import Identity
from .keys import image_key, is_image_key
from .patch_store import PatchStore
from .ram import RamLayer
from .sealed import BrokenSeal, seal, unseal
from .types import Canonical, Fetched

# Of `ram_bytes`, one part in so many is for patches: at Kamera's rank 32 a patch is about a tenth of its page, and a page has several.
_PATCHES = 4


class CacheStore:
    """Canonical caches of one identity on disk, with the most recently used ones in memory. Many readers, writers in any number:
    files are content-addressed, so two writers of one key write the same page."""

    def __init__(self, root: Path, identity: Identity, ram_bytes: int = 0) -> None:
        """Open or create the folder of `identity` under `root`.

        A store of an earlier format is brought up; `before` are the identities it may have had.

        Raises:
            StoreTooNew: there is one of a newer format; it is not touched.
            IdentityMismatch: the folder holds caches of something else (a copied or edited store).
        """
        self.before = bring_up(root, identity)
        self.identity = identity
        self.folder = root / identity.fingerprint[:16]
        self.ram = RamLayer[Canonical](ram_bytes - ram_bytes // _PATCHES)
        path = self.folder / "identity.json"
        if not path.exists():
            write_atomic(path, _json(identity.as_mapping()))
        try:
            identity.require_match(Identity.from_mapping(json.loads(path.read_text(encoding="utf-8"))), str(self.folder))
        except (ValueError, TypeError) as error:
            raise IdentityMismatch(f"{path}: cannot be read ({error}); ingest into a new collection", field="store") from error
        self.patches = PatchStore(self.folder / "patches", identity, ram_bytes // _PATCHES)

    def path(self, key: str) -> Path:
        """Where the cache of `<page key>@<dpi>` is kept. A key that is not of that form never becomes a path."""
        return self.folder / "caches" / image_key(key)[:2] / f"{key}.safetensors"

    def has(self, key: str) -> bool:
        return self.path(key).exists()

    def put(self, canonical: Canonical) -> None:
        """Write one canonical; it is on the disk when this returns. A key that is there already is left as it is."""
        path = self.path(canonical.key)
        if not path.exists():
            write_atomic(path, _encode(canonical))

    def get(self, key: str) -> Fetched:
        """Fetch a canonical, checked when it is read from disk.

        Raises:
            CacheMiss: it was never compiled, or was deleted.
            CorruptCache: its bytes are not those that were written.
        """
        path = self.path(key)
        try:
            size = path.stat().st_size
        except FileNotFoundError as error:
            self.ram.drop(key)  # another process deleted it: memory is asked only for what is still there
            raise CacheMiss(f"{key}: no cache in the store; `quire repair` compiles it again", key=key) from error
        kept = self.ram.get(key)
        if kept is not None:
            return Fetched(kept, "ram", 0)
        canonical = self.ram.keep(key, _decode(path, key), _copied)
        if not path.exists():
            self.ram.drop(key)  # deleted while it was read: this request may end on it, memory must not keep it
        return Fetched(canonical, "disk", size)

    def remove(self, key: str) -> int:
        """Delete a cache from disk and memory; returns the bytes that were freed (0: it was not there)."""
        path = self.path(key)
        try:
            size = path.stat().st_size
            path.unlink()
        except FileNotFoundError:
            size = 0
        # Behind the file: a `get` that read it before it went may have kept it in memory meanwhile.
        self.ram.drop(key)
        return size

    def keys(self) -> Iterator[str]:
        """All keys on disk, sorted. A file that the store did not write is not a key."""
        for path in sorted((self.folder / "caches").glob("??/*.safetensors")):
            key = path.name.removesuffix(".safetensors")
            if is_image_key(key) and path == self.path(key):
                yield key

    def seal(self) -> None:
        """Write the manifest: the last act of a run, the sign that everything before it is there."""
        digest, count, size = hashlib.sha256(), 0, 0
        for key in self.keys():
            try:
                taken = self.path(key).stat().st_size
            except FileNotFoundError:
                continue  # removed since it was listed
            digest.update(key.encode())
            count, size = count + 1, size + taken
        facts = {"identity": self.identity.fingerprint, "caches": count, "bytes": size, "keys": digest.hexdigest()}
        write_atomic(self.folder / "manifest.json", _json(facts))


def _encode(canonical: Canonical) -> bytes:
    facts = {"key": canonical.key, "rows": canonical.rows, "columns": canonical.columns}
    return seal(facts, {"rotary": canonical.rotary, "plain": canonical.plain})


def _decode(path: Path, key: str) -> Canonical:
    try:
        facts, tensors = unseal(path)
        if facts["key"] != key:
            raise BrokenSeal(f"it holds {facts['key']}")
        return Canonical(key=key, rotary=tensors["rotary"], plain=tensors["plain"], rows=facts["rows"], columns=facts["columns"])
    except FileNotFoundError as error:
        raise CacheMiss(f"{key}: deleted while it was read; ingest its document again", key=key) from error
    except (BrokenSeal, KeyError) as error:
        raise CorruptCache(f"{key}: {path.name}: {error}; `quire repair` compiles it again", key=key) from error


def _copied(canonical: Canonical) -> Canonical:
    return replace(canonical, rotary=canonical.rotary.clone(), plain=canonical.plain.clone())


def _json(value: object) -> bytes:
    return json.dumps(value, sort_keys=True, indent=1).encode() + b"\n"
