"""A backbone goes in; the digest of its weights comes out, from a memo where the very same files were hashed before.

Every start needs the digest, and to hash 20 GB takes a large part of a minute. A memo is believed only while every file has the
size, the times, the inode and the device that it had when it was read. The time of the last change (ctime) is among them: unlike
the other one (mtime), no program can set it back.
"""

from __future__ import annotations

import hashlib
import json
import time
from pathlib import Path

import torch

from .backbone import Backbone
from .errors import ModelNotFound
from .files import write_atomic

# A file changed less than this before it was read is not noted: on a coarse clock, one more change could carry the same time.
SETTLED_NS = 2_000_000_000

# name, size, mtime, ctime, inode, device
Stamp = tuple[str, int, int, int, int, int]


def weights_digest(backbone: Backbone, memo: Path | None = None) -> str:
    """SHA-256 (hex) over the names and bytes of the directory's safetensors files, or over the parameters of a model made in memory.

    `memo` is a file of ours in which digests are noted, each with what its files looked like; None: the files are always read.
    Raises ModelNotFound where the directory has no such file, StoreUnwritable where the memo cannot be written.
    """
    if backbone.directory is None:
        return _parameters_digest(backbone)
    files = sorted(backbone.directory.glob("*.safetensors"))
    if not files:
        raise ModelNotFound(f"{backbone.directory}: no .safetensors file; pickled weights are not read")
    begun, before = time.time_ns(), _stamps(files)
    notes = _read(memo)
    place = str(backbone.directory.resolve())
    if (known := notes.get(place)) is not None and known[0] == before:
        return known[1]
    digest = _files_digest(files)
    settled = all(max(changed) < begun - SETTLED_NS for _, _, *changed, _, _ in before)
    # Looked at again: a file that was changed while it was read has a digest of neither state.
    if memo is not None and settled and _stamps(files) == before:
        write_atomic(memo, json.dumps({**notes, place: (before, digest)}, sort_keys=True, indent=1).encode() + b"\n")
    return digest


def _parameters_digest(backbone: Backbone) -> str:
    digest = hashlib.sha256()
    for name, tensor in sorted(backbone.model.state_dict().items()):
        digest.update(name.encode())
        digest.update(tensor.detach().cpu().contiguous().flatten().view(dtype=torch.uint8).numpy())
    return digest.hexdigest()


def _files_digest(files: list[Path]) -> str:
    digest = hashlib.sha256()
    for path in files:
        digest.update(path.name.encode())
        with path.open("rb") as stream:
            while block := stream.read(1 << 22):
                digest.update(block)
    return digest.hexdigest()


def _stamps(files: list[Path]) -> list[Stamp]:
    """What a file looks like from outside; of a link, what it points to."""
    looks = [(path.name, path.stat()) for path in files]
    return [(name, look.st_size, look.st_mtime_ns, look.st_ctime_ns, look.st_ino, look.st_dev) for name, look in looks]


def _read(memo: Path | None) -> dict[str, tuple[list[Stamp], str]]:
    """The notes by model directory; none where there is no memo, or it cannot be read: then the files are."""
    if memo is None:
        return {}
    try:
        found = json.loads(memo.read_text(encoding="utf-8"))
        return {place: ([(n, *map(int, rest)) for n, *rest in stamps], str(digest)) for place, (stamps, digest) in found.items()}
    except (OSError, ValueError, TypeError, AttributeError):
        return {}
