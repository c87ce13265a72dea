"""Documents in many orders: the prefix cache is served what its orders share and no more, and really prefills the rest."""

import pytest
import torch

from cache_compiler.prefill import full_prefill, prefill_encoded
from eval.arms import Bench
from eval.bench.pages import bench_for, filled_pages
from eval.bench.permutator import _behind, orders, permute, shared_pages
from eval.bench.summary import permuted
from eval.errors import EvalError


@pytest.fixture(scope="module")
def bench() -> Bench:
    return bench_for("reader")


def test_orders_are_distinct_and_drawn_again_alike() -> None:
    drawn = orders(5, 10)
    assert len(set(drawn)) == 10
    assert all(sorted(order) == [0, 1, 2, 3, 4] for order in drawn)
    assert drawn == orders(5, 10)
    assert len(orders(2, 10)) == 2


def test_a_prefix_is_shared_up_to_the_first_page_that_stands_elsewhere() -> None:
    assert shared_pages([0, 1, 2], []) == 0
    assert shared_pages([0, 1, 2], [[1, 0, 2]]) == 0
    assert shared_pages([0, 1, 2], [[1, 0, 2], [0, 1, 3]]) == 2
    assert shared_pages([0, 1], [[0, 1, 2]]) == 2


def test_what_is_prefilled_behind_a_served_prefix_is_full_prefill(bench: Bench) -> None:
    images = filled_pages(bench, 3, 72)
    whole = full_prefill(bench.backbone, images, 64)
    for served in (0, 1, 3):
        head = prefill_encoded(bench.backbone, bench.backbone.encode(images[:served]), whole.length + 64)
        grown = _behind(bench, head, images[served:])
        assert (grown.length, grown.next_position) == (whole.length, whole.next_position)
        assert grown.cache.rows == whole.length
        assert torch.allclose(grown.cache.plain_slab[..., : whole.length, :], whole.cache.plain_slab[..., : whole.length, :], atol=1e-3)


def test_page_caches_prefill_no_page_and_full_prefill_all_of_them(bench: Bench) -> None:
    found = permute(bench, 2, 1, 2, 36, 20, lambda _: None)
    assert [one.way for one in found.asked] == ["caches", "prefix", "full"] * 2
    rows = found.asked[0].rows
    # Two documents in two orders share nothing in front.
    assert [one.prefilled for one in found.asked] == [0, rows, rows] * 2
    told = permuted(found)
    assert {row["way"]: row["served"] for row in told["ways"]} == {"caches": 1.0, "prefix": 0.0, "full": 0.0}
    assert [row["ratio_to_full"]["p50"] for row in told["ways"] if row["way"] == "full"] == [1.0]


def test_more_pages_than_are_kept_are_refused(bench: Bench) -> None:
    with pytest.raises(EvalError, match="at most 256"):
        permute(bench, 257, 1, 1, 36, 20, lambda _: None)
