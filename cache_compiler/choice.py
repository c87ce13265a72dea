"""A page and the pages that stand in front of it go in; the stored patch that serves it best comes out, or None: then it is placed bare.

    exact     formed for these very pages in this order
    orbit     formed for this very set, over all orders (Kamera, section 5)
    subset    knows some of the pages in front and no others, and lacks at most `missing` of them

A patch that was given a page which does *not* stand in front is never taken: conditioned on other content it does harm (Kamera, Appendix D:
eta -3.5). One that lacks pages decays with each: 0.93, 0.71, 0.39, 0.08 for 0 to 3 of them, and harms a DeepStack model from 2 on.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from .errors import CacheMiss, CorruptPatch, IdentityMismatch
from .patch import Patch, PatchKey
from .patch_store import PatchStore
from .types import Tier

Match = Literal["exact", "orbit", "subset"]
log = logging.getLogger("quire.patches")


@dataclass(frozen=True)
class Choice:
    """The patch, how it fits, and the pages in front that it does not know of, in order. `damaged` names better ones that could not be used."""

    patch: Patch
    match: Match
    missing: tuple[str, ...]
    tier: Tier
    bytes_read: int
    damaged: tuple[str, ...] = ()


def patch_for(store: PatchStore, page: str, antecedents: Sequence[str], missing: int = 1) -> Choice | None:
    """The best stored patch for `page` behind `antecedents` (image keys, in context order). A page at another DPI is another page.

    An answer does not fail for a patch: one that vanishes meanwhile was not there, and a damaged one, or another model's, is passed over
    for the next best; that is logged with its cure and named in `damaged`. Raises nothing.
    """
    return look_up(store, page, antecedents, missing)[0]


def look_up(store: PatchStore, page: str, antecedents: Sequence[str], missing: int = 1) -> tuple[Choice | None, tuple[str, ...]]:
    """As `patch_for`, with the damaged ones that were passed over though none was left to take."""
    if not antecedents:
        return None, ()  # the leading page: its canonical is exact
    listing = store.listing(page)
    damaged = [f"{page}/{name}" for name in listing.damaged]
    for name in damaged:
        log.warning("patch %s cannot be read: `quire repair` puts it right; it is passed over", name)
    for key, lacking in _candidates(listing.keys, antecedents, missing):
        try:
            found = store.get(key)
        except CacheMiss:
            continue
        except (CorruptPatch, IdentityMismatch) as error:
            log.warning("a patch is passed over: %s", error)
            damaged.append(f"{page}/{key.digest}")
            continue
        match: Match = "subset" if lacking else "exact" if key.kind == "exact" else "orbit"
        return Choice(found.patch, match, lacking, found.tier, found.bytes_read, tuple(damaged)), tuple(damaged)
    return None, tuple(damaged)


def choose(store: PatchStore, pages: Sequence[str], missing: int = 1) -> list[Choice | None]:
    """For each page of a context its best patch, given those before it."""
    return [patch_for(store, page, pages[:number], missing) for number, page in enumerate(pages)]


def _candidates(keys: Sequence[PatchKey], antecedents: Sequence[str], missing: int) -> list[tuple[PatchKey, tuple[str, ...]]]:
    """Patches that may serve, best first: fewest pages lacking, exact before orbit, higher rank, all layers before the deep ones alone,
    a basis of its own before a shared one (Kamera, section 4 and Appendix D)."""
    fitting = []
    for key in keys:
        lacking = _lacking(key, antecedents)
        if lacking is not None and len(lacking) <= missing:
            fitting.append((key, lacking))
    return sorted(
        fitting,
        key=lambda item: (
            len(item[1]),
            item[0].kind != "exact",
            -item[0].rank,
            item[0].first_layer,
            item[0].basis is not None,
            item[0].digest,
        ),
    )


def _lacking(key: PatchKey, antecedents: Sequence[str]) -> tuple[str, ...] | None:
    """The pages in front that a patch does not know of; None where it knows another page, or these in another order."""
    if key.kind not in ("exact", "orbit") or not key.given:
        return None
    wanted = Counter(key.given)
    if key.kind == "exact":
        # From the back: of a page that stands twice, the one that is nearer is the one that was meant.
        rest, lacking = list(key.given), []
        for page in reversed(antecedents):
            if rest and rest[-1] == page:
                rest.pop()
            else:
                lacking.append(page)
        return None if rest else tuple(reversed(lacking))
    lacking = []
    for page in reversed(antecedents):
        if wanted[page]:
            wanted[page] -= 1
        else:
            lacking.append(page)
    return None if +wanted else tuple(reversed(lacking))
