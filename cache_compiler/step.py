"""The values of a window: what is asked of outside (`Choose`, `Fetch`, `Removal`),
and what an operation says of itself (`Step`)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from .patch import Patch
from .types import Canonical

# (page key, keys of the pages before it in context order) -> the patch to add, or None.
Choose = Callable[[str, tuple[str, ...]], Patch | None]
Fetch = Callable[[str], Canonical]
# (survivor's key, what it is conditioned on, those of them that leave) -> what it has to lose, or None: it is kept as it is.
Removal = Callable[[str, tuple[str, ...], tuple[str, ...]], Patch | None]


@dataclass(frozen=True)
class Step:
    """What an operation did, and what it cost."""

    operation: str
    moved: int  # pages that were relocated
    rows: int  # their rows
    patched: int  # pages that hold a patch which they did not hold before
    placed: int  # pages placed from the canonical, values too
    freed: int  # bytes of page KV
    seconds: float
    dropped: tuple[str, ...] = ()
    # Changed pages that stand behind others and hold no patch: they are read blind.
    bare: tuple[str, ...] = ()
