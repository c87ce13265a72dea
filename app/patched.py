"""Image keys in context order go in; the stored patch of each comes out, with what an answer says of it (`PatchUse`)."""

from __future__ import annotations

from collections.abc import Sequence

from cache_compiler.choice import Choice, patch_for
from cache_compiler.patch import Patch

from .stock import Stock
from .types import PatchUse, Tier


def patch_of(house: Stock, page: str, before: Sequence[str]) -> Choice | None:
    """The best stored patch of a page for those before it; none is looked for where `patch_policy` is off, or nothing stands before it."""
    if not before or house.settings.patch_policy == "off":
        return None
    return patch_for(house.store.patches, page, before, house.settings.patch_missing)


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
