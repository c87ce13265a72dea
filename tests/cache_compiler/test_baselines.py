"""The methods beside the patch: their ends are blind reuse and full prefill, and each works on what it says."""

import itertools

import pytest
import torch

from cache_compiler import baselines
from cache_compiler.assemble import assemble
from cache_compiler.backbone import Backbone
from cache_compiler.isolate import isolate
from cache_compiler.prefill import full_prefill
from cache_compiler.prefix import Prefix
from cache_compiler.recompute import copied
from cache_compiler.types import Assembly, Canonical, Encoded
from renderer.types import PageImage

from .test_recompute import far, rows


@pytest.fixture(scope="module")
def encoded(backbone: Backbone, images: list[PageImage]) -> list[Encoded]:
    return backbone.encode(images)


@pytest.fixture(scope="module")
def judge(backbone: Backbone, images: list[PageImage]) -> Assembly:
    return full_prefill(backbone, images)


@pytest.fixture
def blind(backbone: Backbone, prefix: Prefix, pages: list[Canonical]) -> Assembly:
    return assemble(backbone, prefix, pages)


def changed(one: Assembly, other: Assembly) -> list[int]:
    return (rows(one) != rows(other)).any(dim=(0, 1, 2, 4)).nonzero().flatten().tolist()


def test_epic_takes_the_first_rows_of_every_page_but_the_first(backbone: Backbone, blind: Assembly, encoded: list[Encoded]) -> None:
    _, two, three = blind.segments
    wanted = [two.first, two.first + 1, three.first, three.first + 1]
    assert baselines.epic_rows(blind, 2) == wanted
    # An opening mark that is a page's first row has its layer 0 unchanged, and the deeper ones not.
    assert changed(baselines.epic(backbone, blind, encoded, 2), blind) == wanted


def test_vlcache_takes_rows_evenly_and_never_one_of_another_page(blind: Assembly) -> None:
    _, two, three = blind.segments
    found = baselines.vlcache_rows(blind, 4)
    assert len(found) == len(set(found)) == 8
    assert all(two.first <= row < two.last for row in found[:4])
    gaps = {b - a for a, b in itertools.pairwise(found[4:])}
    assert max(gaps) - min(gaps) <= 1
    assert baselines.vlcache_rows(blind, 999) == list(range(two.first, three.last))


def test_the_oracle_takes_the_rows_whose_delta_is_largest(blind: Assembly, judge: Assembly) -> None:
    begin = blind.segments[0].last
    size = (rows(judge, begin) - rows(blind, begin)).square().sum(dim=(0, 1, 2, 4))
    chosen = baselines.deviating_rows(blind, judge, 3, range(3))
    others = [i for i in range(len(size)) if i + begin not in chosen]
    assert min(size[row - begin] for row in chosen) >= max(size[others])


def test_cacheblend_looks_at_layer_1_and_at_nothing_deeper(blind: Assembly, judge: Assembly, backbone: Backbone) -> None:
    before = baselines.deviating_rows(blind, judge, 5, [1])
    other = copied(backbone, judge)
    other.cache.rotary_slab[2, :, :, blind.segments[1].first] += 100.0
    assert baselines.deviating_rows(blind, other, 5, [1]) == before
    assert blind.segments[1].first in baselines.deviating_rows(blind, other, 5, range(backbone.layers))


@pytest.mark.parametrize("name", ["cacheblend", "oracle_tokens"])
def test_with_all_rows_a_token_method_is_a_full_prefill(
    name: str, backbone: Backbone, blind: Assembly, encoded: list[Encoded], judge: Assembly
) -> None:
    method = getattr(baselines, name)
    assert far(method(backbone, blind, encoded, judge, blind.length), judge) < 1e-4
    assert changed(method(backbone, blind, encoded, judge, 0), blind) == []


def test_deep_goes_from_full_prefill_to_blind_reuse_as_its_first_layer_rises(
    backbone: Backbone, blind: Assembly, encoded: list[Encoded], judge: Assembly
) -> None:
    assert far(baselines.deep(backbone, blind, encoded, 0), judge) < 1e-4
    assert changed(baselines.deep(backbone, blind, encoded, backbone.layers), blind) == []
    half = baselines.deep(backbone, blind, encoded, 1)
    assert torch.equal(rows(half)[:, 0], rows(blind)[:, 0])
    assert torch.equal(rows(half)[:, 1:], rows(isolate(backbone, blind, encoded, [1, 2]))[:, 1:])


def test_shallow_goes_from_blind_reuse_to_full_prefill_as_its_last_layer_rises(
    backbone: Backbone, blind: Assembly, judge: Assembly
) -> None:
    assert changed(baselines.shallow(backbone, blind, judge, 0), blind) == []
    assert far(baselines.shallow(backbone, blind, judge, backbone.layers), judge) == 0
    half = baselines.shallow(backbone, blind, judge, 2)
    assert torch.equal(rows(half)[:, :2], rows(judge)[:, :2])
    assert torch.equal(rows(half)[:, 2:], rows(blind)[:, 2:])


def test_layers_are_injected_one_by_one(backbone: Backbone, blind: Assembly, judge: Assembly) -> None:
    made = baselines.injected(backbone, blind, judge, [1])
    assert torch.equal(rows(made)[:, 1], rows(judge)[:, 1])
    assert torch.equal(rows(made)[:, [0, 2]], rows(blind)[:, [0, 2]])


def test_a_sink_of_no_tokens_is_the_page_computed_alone_at_its_own_place(
    backbone: Backbone, blind: Assembly, encoded: list[Encoded]
) -> None:
    begin = blind.segments[0].last
    assert far(baselines.sink(backbone, blind, encoded, 0), isolate(backbone, blind, encoded), begin) < 1e-4
    assert far(baselines.sink(backbone, blind, encoded, 4), isolate(backbone, blind, encoded), begin) > 1e-3


def test_a_sink_longer_than_what_stands_before_the_page_is_cut(backbone: Backbone, blind: Assembly, encoded: list[Encoded]) -> None:
    gap = blind.segments[1].anchor.start - blind.segments[0].first
    one, other = (baselines.sink(backbone, blind, encoded, count) for count in (gap, gap + 50))
    second = blind.segments[1]
    assert torch.equal(rows(one, second.first, second.last), rows(other, second.first, second.last))


def test_shadow_k_at_full_rank_is_blind_reuse_and_keeps_the_values_at_any(
    backbone: Backbone, blind: Assembly, pages: list[Canonical]
) -> None:
    whole = baselines.shadow_k(backbone, blind, pages, 999)
    assert far(whole, blind) < 1e-4
    low = baselines.shadow_k(backbone, blind, pages, 1)
    assert torch.equal(rows(low)[1], rows(blind)[1])
    assert not torch.allclose(rows(low)[0], rows(blind)[0], atol=1e-2)
