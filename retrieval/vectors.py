"""Raw vectors go in; unit vectors, their stored bytes and their digest come out. Everything is float32, little-endian."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .errors import RetrievalError

Vectors = NDArray[np.float32]
Ids = NDArray[np.int64]


def unit_rows(raw: ArrayLike, texts: Sequence[str]) -> Vectors:
    """Scale each row of `raw` [n, d] to length 1, so that an inner product is a cosine.

    Raises RetrievalError naming the text whose row holds NaN or infinity, or is zero: it would be found by every question or by none.
    """
    wide = np.asarray(raw, dtype=np.float64)
    if wide.ndim != 2 or len(wide) != len(texts):
        raise RetrievalError(f"the embedder gave vectors of shape {wide.shape} for {len(texts)} texts: one row a text is needed")
    lengths = np.linalg.norm(wide, axis=1)
    for row in np.flatnonzero(~np.isfinite(lengths) | (lengths == 0.0)).tolist():
        what = "a zero vector" if lengths[row] == 0.0 else "a vector with NaN or infinity"
        raise RetrievalError(
            f"the embedder gave {what} for text {row} of {len(texts)}, {_shown(texts[row])}: check the embedder's weights and its precision"
        )
    return (wide / lengths[:, None]).astype(np.float32)


def check_rows(vectors: Vectors, count: int, dimension: int) -> Vectors:
    """Return `vectors` as C-ordered float32 [count, dimension]; raise RetrievalError where shape, finiteness or unit length is wrong."""
    rows = np.ascontiguousarray(vectors, dtype="<f4")
    if rows.shape != (count, dimension):
        raise RetrievalError(f"vectors have the shape {rows.shape}, not ({count}, {dimension}): one a chunk, of the collection's size")
    off = np.flatnonzero(~(np.abs(np.linalg.norm(rows, axis=1) - 1.0) < 1e-3))
    if len(off):
        raise RetrievalError(f"vector {off[0]} of {count} is not of unit length: its inner product with a question would not be a cosine")
    return rows


def digest(ids: Ids, vectors: Vectors) -> str:
    """SHA-256 (hex) of the shape, the ids and the vectors: equal for equal content on every machine."""
    sha = hashlib.sha256(f"{vectors.shape[0]}x{vectors.shape[1]};".encode())
    sha.update(np.ascontiguousarray(ids, dtype="<i8").tobytes())
    sha.update(np.ascontiguousarray(vectors, dtype="<f4").tobytes())
    return sha.hexdigest()


def _shown(text: str) -> str:
    return repr(text if len(text) <= 80 else text[:77] + "...")
