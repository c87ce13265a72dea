"""A collection's ids and vectors go in; the nearest chunk ids with their cosines come out. On disk: a FAISS file and its side file."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from pathlib import Path
from typing import Any

import faiss
import numpy as np

from .catalogue import Catalogue
from .errors import RetrievalError
from .types import CollectionRow
from .vectors import Ids, Vectors, digest

# Raise it with every change of what is written; older files are then built again.
FORMAT = 1
# How often an index is built whose collection changes under it.
_TRIES = 3


class VectorIndex:
    """An exact inner-product index (FAISS IndexFlatIP) whose ids are the catalogue's chunk ids.

    It never changes once made: a newer one takes its place, so a search that is under way ends on the old one.
    """

    def __init__(self, ids: Ids, vectors: Vectors) -> None:
        """From ids int64 [n] and unit vectors float32 [n, dimension]."""
        flat: faiss.Index = faiss.IndexIDMap2(faiss.IndexFlatIP(int(vectors.shape[1])))
        if len(ids):
            flat.add_with_ids(np.ascontiguousarray(vectors), np.ascontiguousarray(ids))
        self._faiss = flat

    @property
    def count(self) -> int:
        return int(self._faiss.ntotal)

    @property
    def dimension(self) -> int:
        return int(self._faiss.d)

    def search(self, vector: Vectors, k: int) -> list[tuple[int, float]]:
        """The `k` nearest (chunk id, cosine) by falling cosine, equal ones by id; fewer where there are fewer."""
        if vector.shape != (self.dimension,):
            raise RetrievalError(f"the question's vector has the shape {vector.shape}, the index holds {self.dimension} numbers a chunk")
        if k < 1:
            raise RetrievalError(f"top_k={k}: ask for at least one chunk")
        if not self.count:
            return []
        scores, ids = self._faiss.search(np.ascontiguousarray(vector[None], dtype=np.float32), min(k, self.count))
        found = [(int(chunk), float(score)) for chunk, score in zip(ids[0], scores[0], strict=True) if chunk >= 0]
        return sorted(found, key=lambda hit: (-hit[1], hit[0]))

    @classmethod
    def open_or_build(cls, folder: Path, catalogue: Catalogue, collection: str) -> VectorIndex:
        """The index of the collection as the catalogue has it now.

        The file in `folder` is used when its side file names the same embedder and the same digest of ids and vectors, and its bytes
        are whole; otherwise it is written anew from the catalogue, which is the truth. Raises UnknownCollection, and RetrievalError
        where the folder cannot be written.
        """
        for _ in range(_TRIES):
            row, generation = catalogue.collection(collection), catalogue.generation(collection)
            ids, vectors = catalogue.vectors(collection)
            facts = _facts(row, ids, vectors)
            try:
                stored = _load(folder, stem(collection), facts)
                if stored is not None:
                    return stored
                index = cls(ids, vectors)
                index._save(folder, stem(collection), facts)
            except OSError as reason:
                if isinstance(reason, FileNotFoundError) and folder.is_dir():
                    continue  # a deletion took the half-written file away: what it held is of before
                raise RetrievalError(
                    f"the vector index cannot be kept in {folder}: {reason}; free space or give another folder"
                ) from reason
            if catalogue.generation(collection) == generation:
                return index
            # Something was deleted meanwhile: its vectors must not stay in a file that was written behind the deletion.
            remove_index(folder, collection)
        # It changes faster than its file is written, as while many files are taken in: this one serves now, and none is kept.
        return cls(ids, vectors)

    def _save(self, folder: Path, name: str, facts: dict[str, object]) -> None:
        content = faiss.serialize_index(self._faiss).tobytes()
        side = {**facts, "sha256": hashlib.sha256(content).hexdigest()}
        folder.mkdir(parents=True, exist_ok=True)
        _replace(folder / f"{name}.faiss", content)
        # Last: until it names these bytes, the file beside it counts as damaged and is built again.
        _replace(folder / f"{name}.json", json.dumps(side, sort_keys=True, indent=1).encode())


def remove_index(folder: Path, collection: str) -> list[tuple[Path, int]]:
    """Remove the files of a collection's index, and half-written ones; returns them with their bytes. It is built again when it is needed."""
    gone = []
    for path in sorted({*folder.glob(f"{stem(collection)}.*"), *folder.glob(f".{stem(collection)}.*")}):
        try:
            size = path.stat().st_size
            path.unlink()
        except FileNotFoundError:
            continue
        gone.append((path, size))
    return gone


def check_index(folder: Path, catalogue: Catalogue, collection: str) -> str:
    """What is wrong with a collection's index files: "" where they are not there, are whole, or only lack what came since. Reads alone."""
    row = catalogue.collection(collection)
    try:
        side = json.loads((folder / f"{stem(collection)}.json").read_bytes())
        content = (folder / f"{stem(collection)}.faiss").read_bytes()
    except FileNotFoundError:
        return ""
    except ValueError as error:
        return f"its side file cannot be read ({error})"
    if not isinstance(side, dict) or side.get("sha256") != hashlib.sha256(content).hexdigest():
        return "its bytes are not those that were written"
    ids, vectors = catalogue.vectors(collection)
    if {**_facts(row, ids, vectors), "sha256": side["sha256"]} == side:
        return ""
    index: Any = faiss.deserialize_index(np.frombuffer(content, dtype=np.uint8))
    strangers = set(faiss.vector_to_array(index.id_map).tolist()) - set(ids.tolist())
    return f"it has vectors of {len(strangers)} chunks that are not there" if strangers else ""


def stem(collection: str) -> str:
    """The file name's stem for a collection: a hash, for a name like `../x` or `CON` must never become a path."""
    return hashlib.sha256(collection.encode()).hexdigest()[:32]


def _facts(row: CollectionRow, ids: Ids, vectors: Vectors) -> dict[str, object]:
    facts = {"embedder": row.embedder, "dimension": row.dimension, "count": len(ids), "digest": digest(ids, vectors), "format": FORMAT}
    return {"collection": row.name, **facts}


def _load(folder: Path, name: str, facts: dict[str, object]) -> VectorIndex | None:
    """The stored index, or None where it is missing, of other content, or damaged: the caller then builds it again."""
    try:
        side = json.loads((folder / f"{name}.json").read_bytes())
        content = (folder / f"{name}.faiss").read_bytes()
    except (FileNotFoundError, ValueError):
        return None
    # The checksum comes before FAISS sees the bytes: its reader trusts the lengths it finds.
    if side != {**facts, "sha256": hashlib.sha256(content).hexdigest()}:
        return None
    index = VectorIndex.__new__(VectorIndex)
    index._faiss = faiss.deserialize_index(np.frombuffer(content, dtype=np.uint8))
    return index


def _replace(path: Path, content: bytes) -> None:
    """Write to a name of its own, flush to the disk, then rename: a reader sees the old file or the new one, never half of one."""
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
