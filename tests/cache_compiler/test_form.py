"""Patches of every kind against what they stand for: exact, orbit, removal, deep, pooled; and ranks at and beyond the page's."""

import itertools

import pytest
import torch

from cache_compiler import form
from cache_compiler.assemble import assemble
from cache_compiler.backbone import Backbone
from cache_compiler.condition import condition
from cache_compiler.errors import RankTooHigh
from cache_compiler.patch import Patch
from cache_compiler.prefill import full_prefill
from cache_compiler.prefix import Prefix, compile_prefix, condition_ids
from cache_compiler.probe import probe
from cache_compiler.types import Assembly, Canonical, Encoded
from renderer.types import PageImage

CLOSE = 1e-4  # of the logits' spread


@pytest.fixture(scope="module")
def encoded(backbone: Backbone, images: list[PageImage]) -> list[Encoded]:
    return backbone.encode(images)


def logits(backbone: Backbone, context: Assembly) -> torch.Tensor:
    ids = backbone.question_ids("Who is the owner of Brobo tower?")
    return probe(backbone, context, ids, keep=len(ids))


def far(found: torch.Tensor, judge: torch.Tensor) -> float:
    return float((found - judge).abs().max() / judge.std())


def patches(backbone: Backbone, prefix: Prefix, encoded: list[Encoded], pages: list[Canonical], rank: int | None) -> list[Patch | None]:
    """For each page the patch given those before it."""
    made: list[Patch | None] = [None]
    for at in range(1, len(pages)):
        delta = form.exact_deficit(backbone, prefix, encoded[:at], encoded[at], pages[at])
        most = min(pages[at].length, pages[at].rotary.shape[1] * pages[at].rotary.shape[3])
        made.append(form.cut(delta, [page.key for page in pages[:at]], pages[at], rank if rank is None else min(rank, most)))
    return made


def test_full_rank_is_the_full_causal_forward_and_rank_zero_blind_reuse(backbone, images, prefix, pages, encoded) -> None:
    judge = logits(backbone, full_prefill(backbone, images))
    blind = logits(backbone, assemble(backbone, prefix, pages))
    whole = logits(backbone, assemble(backbone, prefix, pages, patches=patches(backbone, prefix, encoded, pages, None)))
    none = logits(backbone, assemble(backbone, prefix, pages, patches=patches(backbone, prefix, encoded, pages, 0)))
    assert far(whole, judge) < CLOSE
    assert far(none, blind) < CLOSE
    assert far(blind, judge) > 100 * CLOSE


def test_more_rank_comes_closer(backbone, images, prefix, pages, encoded) -> None:
    judge = logits(backbone, full_prefill(backbone, images))
    distances = [
        float((logits(backbone, assemble(backbone, prefix, pages, patches=patches(backbone, prefix, encoded, pages, rank))) - judge).norm())
        for rank in (0, 4, 8, 12)
    ]
    assert distances == sorted(distances, reverse=True)
    assert distances[-1] < 0.5 * distances[0]


def test_a_patch_formed_at_one_offset_serves_at_another_unchanged(backbone, images, encoded) -> None:
    """Without a prefix nothing stays behind when a block moves: Delta must be the same wherever it is formed."""
    bare = compile_prefix(backbone, condition_ids(backbone, "free"))
    here = condition(backbone, bare, encoded[:2])[1]
    moved = Prefix((0,) * 777, bare.rotary[:, :, :0], bare.plain[:, :, :0])
    # Positions 777 on, behind no rows at all.
    cache = backbone.empty_cache(encoded[0].length + encoded[1].length)
    first = encoded[0].at(moved.length)
    second = encoded[1].at(first.end)
    positions = torch.cat([first.positions(backbone.axes), second.positions(backbone.axes)], dim=1)[:, None]
    with backbone.capture() as taken:
        backbone.forward_encoded(encoded[:2], positions, cache, keep=0)
    there = torch.stack([layer[0] for layer in taken])[:, :, encoded[0].length :]
    torch.testing.assert_close(there, here.rotary, rtol=0, atol=5e-3)
    assert float(here.rotary.abs().max()) > 1


def test_an_orbit_is_the_mean_over_all_orders_whatever_order_it_is_given_in(backbone, prefix, pages, encoded) -> None:
    given, page, canonical = encoded[:2], encoded[2], pages[2]
    one = form.orbit_deficit(backbone, prefix, given, page, canonical)
    other = form.orbit_deficit(backbone, prefix, given[::-1], page, canonical)
    torch.testing.assert_close(one.rotary, other.rotary)
    by_hand = [form.exact_deficit(backbone, prefix, order, page, canonical) for order in itertools.permutations(given)]
    torch.testing.assert_close(one.plain, (by_hand[0].plain + by_hand[1].plain) / 2)
    keys = [item.key for item in given]
    assert form.cut(one, keys, canonical, 4, kind="orbit").key == form.cut(other, keys[::-1], canonical, 4, kind="orbit").key
    assert form.cut(one, keys, canonical, 4).key != form.cut(one, keys[::-1], canonical, 4).key


def test_orders_are_all_of_them_up_to_four_pages_and_the_same_twenty_four_above() -> None:
    assert [len(form.orderings("abcdef"[:k])) for k in (1, 2, 3, 4, 5, 6)] == [1, 2, 6, 24, 24, 24]
    assert form.orderings("abcde") == form.orderings("edcba")
    assert len(set(form.orderings("abcdef"))) == 24
    assert form.orderings("abcde") != form.orderings("abcdf")


def test_a_removal_takes_a_survivor_to_where_it_would_have_been_without_those_that_left(backbone, prefix, pages, encoded) -> None:
    gone = form.removal_deficit(backbone, prefix, encoded[:2], [pages[0].key], encoded[2], pages[2])
    before = form.exact_deficit(backbone, prefix, encoded[:2], encoded[2], pages[2])
    after = form.exact_deficit(backbone, prefix, [encoded[1]], encoded[2], pages[2])
    torch.testing.assert_close((before + gone).rotary, after.rotary, rtol=0, atol=1e-5)


def test_a_deep_patch_leaves_the_shallow_layers_as_they_were(backbone, prefix, pages, encoded) -> None:
    assert [form.deepest(28), form.deepest(27), form.deepest(4), form.deepest(28, 3), form.deepest(2, 9)] == [14, 13, 2, 25, 1]
    delta = form.exact_deficit(backbone, prefix, encoded[:1], encoded[1], pages[1])
    first = form.deepest(backbone.layers, 1)
    whole, deep = (form.cut(delta, [pages[0].key], pages[1], 8, first_layer=layer) for layer in (1, first))
    plain, patched = (
        assemble(backbone, prefix, pages[:2], patches=[None, p]).cache.rotary_slab[:, 0, :, -pages[1].length :] for p in (None, deep)
    )
    assert torch.equal(plain[:first], patched[:first])
    assert not torch.equal(plain[first:], patched[first:])
    assert deep.bytes < whole.bytes


def test_a_pooled_patch_over_the_pages_own_basis_is_its_truncation_and_stores_coefficients_alone(backbone, prefix, pages, encoded) -> None:
    delta = form.exact_deficit(backbone, prefix, encoded[:1], encoded[1], pages[1])
    given = [pages[0].key]
    basis = form.pool([delta], 6)
    pooled, own = form.cut_pooled(delta, given, pages[1], basis), form.cut(delta, given, pages[1], 6)
    torch.testing.assert_close(pooled.rotary.product(2), own.rotary.product(2), rtol=0, atol=1e-4)
    assert pooled.bytes == sum(factors.left.numel() * 4 for factors in (pooled.rotary, pooled.plain)) < own.bytes
    assert pooled.key.basis == basis.digest
    assert pooled.key.digest != own.key.digest


def test_a_rank_above_the_pages_is_an_error_that_says_what_it_can_have(backbone, prefix, pages, encoded) -> None:
    delta = form.exact_deficit(backbone, prefix, encoded[:1], encoded[1], pages[1])
    most = form.cut(delta, [pages[0].key], pages[1], None).key.rank
    assert most == pages[1].length  # 14 rows, fewer than the 32 columns
    with pytest.raises(RankTooHigh, match=f"above {most}"):
        form.cut(delta, [pages[0].key], pages[1], most + 1)


def test_the_randomised_path_gives_the_same_patch_twice(backbone, prefix, pages, encoded) -> None:
    delta = form.exact_deficit(backbone, prefix, encoded[:1], encoded[1], pages[1])
    one, two = (form.cut(delta, [pages[0].key], pages[1], 4, method="randomised") for _ in range(2))
    assert torch.equal(one.rotary.left, two.rotary.left)
    assert torch.equal(one.plain.right, two.plain.right)
