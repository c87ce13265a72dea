"""Placed pages and those that leave go in; the pages that stay come out, each with the patch that it keeps.

A survivor has absorbed what stood before it, and keeps that: on most models its influence is small beside what stays (Kamera,
section 5, keep-as-is). Where it is not, a removal patch takes it out again.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from .errors import WindowError, WindowTooSmall
from .patch import Patch, stacked
from .placed import Placed
from .step import Removal
from .types import Canonical

Entry = tuple[Canonical, Patch | None]


def entries_of(placed: Sequence[Placed]) -> list[Entry]:
    return [(item.page, item.patch) for item in placed]


def require_admissible(page: Canonical, pages: Sequence[Canonical], beside: Sequence[Canonical], budget: int) -> None:
    """Raises WindowError when the page is one of `pages`, WindowTooSmall when it does not fit beside those of them that stay."""
    if any(one.key == page.key for one in pages):
        raise WindowError(f"{page.key} stands in the window already: leave it where it is, or evict it first")
    others = sum(one.bytes for one in beside)
    if others + page.bytes > budget:
        cure = f", of which {len(beside)} pages take {others:,}: slide, or evict first" if others else ": raise the budget"
        raise WindowTooSmall(f"{page.key} has {page.bytes:,} bytes, the window's budget is {budget:,}{cure}")


def outgoing(pages: Sequence[Canonical], page: Canonical, budget: int, positions: int) -> int:
    """How many pages must leave, from the left, until `page` fits beside the others into `budget` bytes and `positions` positions."""
    gone = 0
    # Positions are added up from 0: how many a page takes does not hang on where it stands.
    while gone < len(pages) and (
        sum(one.bytes for one in (*pages[gone:], page)) > budget or sum(one.at(0).end for one in (*pages[gone:], page)) >= positions
    ):
        gone += 1
    return gone


def without(placed: Sequence[Placed], gone: Sequence[str], removal: Removal | None) -> list[Entry]:
    """The pages that stay. A page whose patch knows nothing of those that leave has nothing to lose. Raises PatchMismatch."""
    kept: list[Entry] = []
    for item in placed:
        if item.page.key in gone:
            continue
        patch, left = item.patch, tuple(key for key in item.given if key in gone)
        if patch is not None and left and removal is not None and (more := removal(item.page.key, item.given, left)) is not None:
            patch = stacked(patch, more)
            # Noted, or a recall would take it for the patch of all its antecedents.
            patch = replace(patch, key=replace(patch.key, left=(*patch.key.left, *left)))
        kept.append((item.page, patch))
    return kept


def serves(patch: Patch | None, before: Sequence[str]) -> bool:
    """Whether a patch was formed for exactly these pages: in this order, or (an orbit) in every order."""
    if patch is None:
        return False
    given = [key for key in patch.key.given if key not in patch.key.left]
    return given == list(before) if patch.key.kind == "exact" else patch.key.kind == "orbit" and set(given) == set(before)


def knows(patch: Patch | None, keys: Collection[str]) -> bool:
    """Whether a patch holds anything of these pages."""
    return patch is not None and not patch.key.pages.isdisjoint(keys)
