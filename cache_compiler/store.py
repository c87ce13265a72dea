"""The cache store: canonicals go in by key and come out again with the tier they came from. One folder for one identity.

    <root>/<identity>/identity.json            what made these caches
    <root>/<identity>/manifest.json            written last, by `seal`: how many, how large, and a digest of the keys
    <root>/<identity>/caches/ab/<page>@<dpi>.safetensors

A file is whole or absent (write, flush, rename). Its header carries a checksum over everything else in it; a file that
does not match is `CorruptCache`, by key, so that the page can be compiled again.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from pathlib import Path

import torch
import xxhash
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from .errors import CacheMiss, CorruptCache, IdentityMismatch
from .files import write_atomic
from .identity import Identity
from .ram import RamLayer
from .types import Canonical, Fetched

_KEY = re.compile(r"[0-9a-f]{8,64}@[0-9]{2,3}")
_TENSORS = ("plain", "rotary")


class CacheStore:
    """Canonical caches of one identity on disk, with the most recently used ones in memory. Many readers, writers in any number:
    files are content-addressed, so two writers of one key write the same page."""

    def __init__(self, root: Path, identity: Identity, ram_bytes: int = 0) -> None:
        """Open or create the folder of `identity` under `root`.

        Raises:
            IdentityMismatch: the folder holds caches of something else (a copied or edited store).
        """
        self.identity = identity
        self.folder = root / identity.fingerprint[:16]
        self.ram = RamLayer(ram_bytes)
        path = self.folder / "identity.json"
        if not path.exists():
            write_atomic(path, _json(identity.as_mapping()))
        try:
            identity.require_match(Identity.from_mapping(json.loads(path.read_text(encoding="utf-8"))), str(self.folder))
        except (ValueError, TypeError) as error:
            raise IdentityMismatch(f"{path}: cannot be read ({error}); ingest into a new collection", field="store") from error

    def path(self, key: str) -> Path:
        """Where the cache of `<page key>@<dpi>` is kept. A key that is not of that form never becomes a path."""
        if not _KEY.fullmatch(key):
            raise CacheMiss(f"{key!r} is not a page image's key", key=key)
        return self.folder / "caches" / key[:2] / f"{key}.safetensors"

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
        kept = self.ram.get(key)
        if kept is not None:
            return Fetched(kept, "ram", 0)
        path = self.path(key)
        try:
            size = path.stat().st_size
        except FileNotFoundError as error:
            raise CacheMiss(f"{key}: no cache in the store; `quire repair` compiles it again", key=key) from error
        canonical = self.ram.keep(_decode(path, key))
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
            if _KEY.fullmatch(key) and path == self.path(key):
                yield key

    def seal(self) -> None:
        """Write the manifest: the last act of a run, the sign that everything before it is there."""
        digest, count, size = hashlib.sha256(), 0, 0
        for key in self.keys():
            digest.update(key.encode())
            count, size = count + 1, size + self.path(key).stat().st_size
        facts = {"identity": self.identity.fingerprint, "caches": count, "bytes": size, "keys": digest.hexdigest()}
        write_atomic(self.folder / "manifest.json", _json(facts))


def _encode(canonical: Canonical) -> bytes:
    tensors = {"rotary": canonical.rotary.detach().cpu().contiguous(), "plain": canonical.plain.detach().cpu().contiguous()}
    facts = {"key": canonical.key, "rows": canonical.rows, "columns": canonical.columns}
    # One metadata entry: safetensors does not promise an order for several, and equal caches must be equal bytes.
    header = json.dumps({**facts, "checksum": _checksum(facts, tensors)}, sort_keys=True)
    return save(tensors, metadata={"quire": header})


def _decode(path: Path, key: str) -> Canonical:
    try:
        with safe_open(path, framework="pt") as file:  # memory-mapped
            header = json.loads((file.metadata() or {})["quire"])
            tensors = {name: file.get_tensor(name) for name in _TENSORS}
        facts = {name: header[name] for name in ("key", "rows", "columns")}
        found = _checksum(facts, tensors)
        if header["checksum"] != found or header["key"] != key:
            raise CorruptCache(
                f"{key}: {path.name}: checksum {found} where {header['checksum']} was written; `quire repair` compiles it again", key=key
            )
        return Canonical(key=key, rotary=tensors["rotary"], plain=tensors["plain"], rows=facts["rows"], columns=facts["columns"])
    except FileNotFoundError as error:
        raise CacheMiss(f"{key}: deleted while it was read; ingest its document again", key=key) from error
    except (SafetensorError, ValueError, KeyError, TypeError, OSError) as error:
        raise CorruptCache(f"{key}: {path.name} cannot be read ({error}); `quire repair` compiles it again", key=key) from error


def _checksum(facts: dict[str, object], tensors: dict[str, Tensor]) -> str:
    """XXH3-128 over the facts and every tensor's name, shape, type and bytes: it guards against decay, not against malice."""
    digest = xxhash.xxh3_128(json.dumps(facts, sort_keys=True).encode())
    for name in _TENSORS:
        tensor = tensors[name]
        digest.update(f"{name} {tuple(tensor.shape)} {tensor.dtype}".encode())
        digest.update(tensor.flatten().view(torch.uint8).numpy().data)
    return digest.hexdigest()


def _json(value: object) -> bytes:
    return json.dumps(value, sort_keys=True, indent=1).encode() + b"\n"
