"""The memory layer stays within its bytes, and forgets the least recently used first."""

import threading
from collections.abc import Callable
from dataclasses import replace

import pytest
import torch

from cache_compiler.ram import RamLayer
from cache_compiler.types import Canonical

Small = Callable[..., Canonical]


def copied(page: Canonical) -> Canonical:
    return replace(page, rotary=page.rotary.clone(), plain=page.plain.clone())


def keep(layer: RamLayer[Canonical], page: Canonical) -> Canonical:
    return layer.keep(page.key, page, copied)


def test_what_is_kept_comes_out_again_as_a_copy_of_its_own(small: Small) -> None:
    layer, page = RamLayer[Canonical](10_000), small(1)
    kept = keep(layer, page)
    assert layer.get(page.key) is kept
    assert kept.rotary.data_ptr() != page.rotary.data_ptr()
    assert torch.equal(kept.rotary, page.rotary)
    assert torch.equal(kept.plain, page.plain)
    assert layer.get("unknown") is None


def test_the_least_recently_used_goes_first(small: Small) -> None:
    one, two, three, four = (small(number) for number in range(1, 5))
    layer = RamLayer[Canonical](3 * one.bytes)
    for page in (one, two, three):
        keep(layer, page)
    layer.get(one.key)
    keep(layer, four)
    assert layer.get(two.key) is None
    assert all(layer.get(page.key) is not None for page in (one, three, four))


@pytest.mark.parametrize("pages", [1, 3, 7])
def test_the_bytes_kept_never_pass_the_limit(pages: int, small: Small) -> None:
    layer = RamLayer[Canonical](pages * small(1).bytes + 5)
    for number in [1, 2, 3, 2, 1, 4, 5, 6, 7, 8, 2]:
        keep(layer, small(number, tokens=2 + number % 3))
        kept = [page for number in range(1, 9) if (page := layer.get(small(number).key)) is not None]
        assert layer.bytes == sum(page.bytes for page in kept) <= layer.limit


def test_a_page_kept_twice_counts_once(small: Small) -> None:
    layer, page = RamLayer[Canonical](10_000), small(1)
    keep(layer, page)
    keep(layer, page)
    assert layer.bytes == page.bytes


@pytest.mark.parametrize("limit", [0, 100])
def test_a_page_larger_than_the_layer_passes_through_and_drives_nothing_out(limit: int, small: Small) -> None:
    layer, page = RamLayer[Canonical](limit), small(1)
    assert keep(layer, page) is page
    assert layer.get(page.key) is None
    assert layer.bytes == 0
    roomy = RamLayer[Canonical](small(1).bytes)
    keep(roomy, small(1))
    keep(roomy, small(2, tokens=50))
    assert roomy.get(small(1).key) is not None


def test_a_dropped_page_is_gone_and_frees_its_bytes(small: Small) -> None:
    layer, page = RamLayer[Canonical](10_000), small(1)
    keep(layer, page)
    layer.drop(page.key)
    layer.drop(page.key)
    assert layer.get(page.key) is None
    assert layer.bytes == 0


def test_threads_at_once_leave_the_count_of_bytes_true(small: Small) -> None:
    layer = RamLayer[Canonical](3 * small(1).bytes)

    def work(seed: int) -> None:
        for step in range(100):
            number = (seed * 7 + step * 3) % 6
            keep(layer, small(number))
            layer.get(small((number + 1) % 6).key)
            if step % 5 == 0:
                layer.drop(small((number + 2) % 6).key)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    kept = [page for number in range(6) if (page := layer.get(small(number).key)) is not None]
    assert layer.bytes == sum(page.bytes for page in kept) <= layer.limit


def test_what_is_no_longer_there_is_let_go_of_though_nobody_asks(small: Small) -> None:
    layer, (first, second) = RamLayer[Canonical](1_000_000), (small(1), small(2))
    for page in (first, second):
        keep(layer, page)
    assert layer.keep_only(lambda key: key == second.key) == 1
    assert layer.get(first.key) is None
    assert layer.get(second.key) is not None
    assert layer.bytes == second.bytes
    assert [layer.drop(second.key), layer.drop(second.key)] == [True, False]
    assert layer.bytes == 0
