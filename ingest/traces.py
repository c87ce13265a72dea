"""Words and keys go in; the files that have any of their bytes come out: whether a deletion left something is not argued but looked up."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

_PIECE = 1 << 20
# Shorter ones are found in any file by chance.
SHORTEST = 6


def needles(texts: Iterable[str] = (), keys: Iterable[str] = ()) -> dict[str, bytes]:
    """What to look for, by what it is called: a text as UTF-8, as UTF-16 and as JSON escapes it; a key as it stands in names and headers.

    Raises ValueError for one of fewer than six bytes.
    """
    found: dict[str, bytes] = {}
    for number, text in enumerate(texts, 1):
        # By number: the report of a trace must not be the next trace.
        for coding, data in {"": text.encode(), " (UTF-16)": text.encode("utf-16-le"), " (JSON)": json.dumps(text)[1:-1].encode()}.items():
            if data not in found.values():
                found[f"text {number}{coding}"] = data
    found |= {f"key {key}": key.encode() for key in keys}
    for name, data in found.items():
        if len(data) < SHORTEST:
            raise ValueError(f"{name} has {len(data)} bytes, fewer than {SHORTEST}: it would be found by chance; give a longer one")
    return found


def traces(root: Path, wanted: Mapping[str, bytes]) -> Iterator[tuple[Path, str]]:
    """(file, what) for every file under `root` that has the bytes of something wanted, in it or in its name. A file that goes meanwhile is
    passed over; no link is followed."""
    longest = max(map(len, wanted.values()), default=0)
    for path in sorted(root.rglob("*")):
        named = os.fsencode(path.relative_to(root))
        found = {name for name, data in wanted.items() if data in named}
        if path.is_file() and not path.is_symlink():
            found |= _within(path, wanted, longest)
        for name in sorted(found):
            yield path, name


def _within(path: Path, wanted: Mapping[str, bytes], longest: int) -> set[str]:
    found: set[str] = set()
    kept = b""
    try:
        with path.open("rb") as stream:
            while piece := stream.read(_PIECE):
                piece = kept + piece
                found |= {name for name, data in wanted.items() if data in piece}
                # What lies across two pieces must not be missed.
                kept = piece[-(longest - 1) :] if longest > 1 else b""
    except FileNotFoundError:
        return set()
    return found
