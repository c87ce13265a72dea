"""Image keys in context order go in; the stored patch of each comes out, with what an answer says of it (`PatchUse`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cache_compiler.choice import Choice, look_up
from cache_compiler.patch import Patch

from .stock import Stock
from .types import PatchUse, Tier


@dataclass(frozen=True)
class Chosen:
    """The patch of a page for those before it, if there is one, and what an answer should say of those that were passed over."""

    choice: Choice | None = None
    note: str = ""

    @property
    def patch(self) -> Patch | None:
        return self.choice.patch if self.choice else None


def patch_of(house: Stock, page: str, before: Sequence[str]) -> Chosen:
    """The best stored patch of a page for those before it; none is looked for where `patch_policy` is off, or nothing stands before it."""
    if not before or house.settings.patch_policy == "off":
        return Chosen()
    choice, damaged = look_up(house.store.patches, page, before, house.settings.patch_missing)
    if not damaged:
        return Chosen(choice)
    told = "a patch of it is damaged and was" if len(damaged) == 1 else f"{len(damaged)} patches of it are damaged and were"
    return Chosen(choice, f"{told} passed over; `quire repair` puts that right")


def use_of(patch: Patch | None, before: Sequence[str], tier: Tier) -> PatchUse | None:
    """What the patch is to a page that stands behind `before` now."""
    if patch is None:
        return None
    key = patch.key
    given = tuple(page for page in key.given if page not in key.left)
    missing = tuple(page for page in before if page not in given)
    # A page that stayed keeps what it absorbed, whoever has left or come since.
    fits = set(given) <= set(before) and (key.kind != "exact" or given == tuple(page for page in before if page in given))
    match = "kept" if not fits or key.kind == "removal" else "subset" if missing else key.kind
    return PatchUse(key.kind, key.rank, match, given, missing, patch.bytes, tier)
