"""What an answer says of a patch: how it fits the pages that stand before its page now."""

import pytest
import torch

from app.house import House
from app.patched import patch_of, use_of
from cache_compiler.patch import Factors, Kind, Patch, PatchKey


def patch(given: tuple[str, ...], kind: Kind = "exact", left: tuple[str, ...] = ()) -> Patch:
    factors = Factors(torch.zeros(1, 4, 1), torch.zeros(1, 1, 4))
    return Patch(PatchKey("c@72", given, kind, 1, left=left), factors, factors)


@pytest.mark.parametrize(
    ("held", "before", "match", "missing"),
    [
        (patch(("a", "b")), ("a", "b"), "exact", ()),
        (patch(("b",)), ("a", "b"), "subset", ("a",)),
        (patch(("a", "b")), ("b", "a"), "kept", ()),
        (patch(("a", "b")), ("b",), "kept", ()),
        (patch(("a", "b"), "orbit"), ("b", "a"), "orbit", ()),
        (patch(("a", "b"), "orbit"), ("b", "x", "a"), "subset", ("x",)),
        (patch(("a", "b"), left=("a",)), ("b",), "exact", ()),
    ],
)
def test_the_match_is_with_the_pages_before_it_now(held: Patch, before: tuple[str, ...], match: str, missing: tuple[str, ...]) -> None:
    used = use_of(held, before, "ram")
    assert used is not None
    assert (used.match, used.missing, used.bytes, used.rank, used.tier) == (match, missing, held.bytes, 1, "ram")


def test_a_page_without_a_patch_uses_none() -> None:
    assert use_of(None, ("a",), "ram") is None


def test_no_patch_is_looked_for_where_the_policy_is_off_or_nothing_stands_before(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[str] = []
    monkeypatch.setattr("app.patched.look_up", lambda store, page, before, missing: (looked.append(page), ()))
    monkeypatch.setattr(house, "settings", house.settings.model_copy(update={"patch_policy": "off"}))
    patch_of(house, "c@72", ("a@72",))
    monkeypatch.setattr(house, "settings", house.settings.model_copy(update={"patch_policy": "adjacent"}))
    patch_of(house, "c@72", ())
    assert looked == []
    patch_of(house, "c@72", ("a@72",))
    assert looked == ["c@72"]
