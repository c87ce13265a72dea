"""Who stays keeps what it absorbed; a removal patch is asked for only where there is something to lose, and is noted."""

import pytest
import torch

from cache_compiler.patch import Factors, Kind, Patch, PatchKey
from cache_compiler.placed import Placed
from cache_compiler.survivors import entries_of, serves, without
from cache_compiler.types import Anchor, Canonical, Segment


def patch(page: str, given: tuple[str, ...], kind: Kind = "exact", left: tuple[str, ...] = ()) -> Patch:
    factors = Factors(torch.zeros(1, 4, 1), torch.zeros(1, 1, 4))
    return Patch(PatchKey(page, given, kind, 1, left=left), factors, factors)


def placed(key: str, held: Patch | None = None) -> Placed:
    tensor = torch.zeros(2, 1, 4, 4)
    return Placed(Canonical(key, tensor, tensor, 1, 2), held, Segment(key, 0, 4, Anchor(0, 1, 2)))


def test_a_survivor_keeps_its_patch_as_it_is_without_a_removal() -> None:
    window = [placed("a"), placed("b", patch("b", ("a",))), placed("c", patch("c", ("a", "b")))]
    assert without(window, ["a"], None) == entries_of(window[1:])
    assert without(window, ["a"], lambda key, given, left: None) == entries_of(window[1:])


def test_a_removal_is_asked_for_those_that_knew_the_page_and_is_stacked_and_noted() -> None:
    window = [placed("a"), placed("b"), placed("c", patch("c", ("a", "b"))), placed("d", patch("d", ("b",)))]
    asked: list[tuple[str, tuple[str, ...], tuple[str, ...]]] = []

    def removal(key: str, given: tuple[str, ...], left: tuple[str, ...]) -> Patch:
        asked.append((key, given, left))
        return patch(key, given, "removal", left)

    kept = without(window, ["a"], removal)
    assert asked == [("c", ("a", "b"), ("a",))]
    held = kept[1][1]
    assert held is not None
    assert held.rotary.left.shape[2] == 2  # both patches side by side
    assert placed("c", held).given == ("b",)
    assert kept[2] == (window[3].page, window[3].patch)


@pytest.mark.parametrize(
    ("kind", "given", "left", "before", "yes"),
    [
        ("exact", ("a", "b"), (), ("a", "b"), True),
        ("exact", ("a", "b"), (), ("b", "a"), False),
        ("exact", ("a", "b"), (), ("a",), False),
        ("exact", ("a", "b"), ("a",), ("b",), True),
        ("exact", ("a", "b"), ("a",), ("a", "b"), False),
        ("orbit", ("a", "b"), (), ("b", "a"), True),
        ("orbit", ("a", "b"), (), ("b", "a", "c"), False),
        ("removal", ("a", "b"), (), ("a", "b"), False),
    ],
)
def test_a_patch_serves_the_pages_it_was_formed_behind(
    kind: Kind, given: tuple[str, ...], left: tuple[str, ...], before: tuple[str, ...], yes: bool
) -> None:
    assert serves(patch("c", given, kind, left), before) is yes


def test_no_patch_serves_nothing() -> None:
    assert not serves(None, ())
