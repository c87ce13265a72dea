"""Token recompute: all rows are a full prefill, no rows are blind reuse, and nothing else is touched."""

from dataclasses import replace

import pytest
import torch
from torch import Tensor

from cache_compiler.assemble import assemble
from cache_compiler.backbone import Backbone
from cache_compiler.compile import compile_pages
from cache_compiler.prefill import full_prefill
from cache_compiler.prefix import Prefix, compile_prefix
from cache_compiler.recompute import _picked, copied, mask_of, recompute
from cache_compiler.types import Assembly, Canonical, Encoded
from renderer.types import PageImage


def rows(context: Assembly, first: int = 0, last: int | None = None) -> Tensor:
    """Keys and values of some rows, all layers, as one tensor."""
    last = context.length if last is None else last
    return torch.stack([slab[:, 0, :, first:last] for slab in (context.cache.rotary_slab, context.cache.plain_slab)])


def far(one: Assembly, other: Assembly, first: int = 0, last: int | None = None) -> float:
    judge = rows(other, first, last)
    return float((rows(one, first, last) - judge).abs().max() / judge.std())


@pytest.fixture(scope="module")
def encoded(backbone: Backbone, images: list[PageImage]) -> list[Encoded]:
    return backbone.encode(images)


@pytest.fixture
def blind(backbone: Backbone, prefix: Prefix, pages: list[Canonical]) -> Assembly:
    return assemble(backbone, prefix, pages, room=8)


def behind(context: Assembly) -> range:
    return range(context.segments[0].last, context.length)


def test_all_rows_behind_the_first_page_are_a_full_prefill(either: Backbone, images: list[PageImage]) -> None:
    prefix = compile_prefix(either, either.template.prefix)
    blind = assemble(either, prefix, compile_pages(either, images, prefix))
    judge = full_prefill(either, images)
    made = recompute(either, blind, either.encode(images), behind(blind))
    assert far(made, judge) < 1e-4
    assert far(blind, judge) > 1e-2


def test_no_rows_are_blind_reuse(backbone: Backbone, blind: Assembly, encoded: list[Encoded]) -> None:
    assert torch.equal(rows(recompute(backbone, blind, encoded, [])), rows(blind))


def test_only_the_chosen_rows_change_and_the_given_context_does_not(backbone: Backbone, blind: Assembly, encoded: list[Encoded]) -> None:
    before = rows(blind).clone()
    begin = blind.segments[1].first
    made = recompute(backbone, blind, encoded, [begin + 4, begin + 1])
    changed = (rows(made) != before).any(dim=(0, 1, 2, 4)).nonzero().flatten().tolist()
    assert changed == [begin + 1, begin + 4]
    assert torch.equal(rows(blind), before)
    assert made.cache.rows == made.length
    assert torch.equal(rows(made, 0, begin), before[:, :, :, :begin])


def test_in_place_the_given_context_is_written_and_comes_out_as_the_copy_would(
    backbone: Backbone, blind: Assembly, encoded: list[Encoded]
) -> None:
    rows = list(range(blind.segments[1].first, blind.segments[1].first + 3))
    copy = recompute(backbone, blind, encoded, rows)
    own = copied(backbone, blind)
    assert recompute(backbone, own, encoded, rows, in_place=True) is own
    assert torch.equal(own.cache.rotary_slab[:, :, :, : own.length], copy.cache.rotary_slab[:, :, :, : copy.length])


def test_the_last_row_of_a_run_sees_the_fresh_rows_before_it(backbone: Backbone, blind: Assembly, encoded: list[Encoded]) -> None:
    """Chosen alone, it attends to reused rows; chosen with them, to fresh ones."""
    last = blind.length - 1
    alone = recompute(backbone, blind, encoded, [last])
    together = recompute(backbone, blind, encoded, behind(blind))
    assert float((rows(alone, last) - rows(together, last)).abs().max()) > 1e-3


def test_layer_0_of_a_row_is_the_same_in_any_context(backbone: Backbone, blind: Assembly, encoded: list[Encoded]) -> None:
    made = recompute(backbone, blind, encoded, behind(blind))
    assert torch.allclose(rows(made)[:, 0], rows(blind)[:, 0], atol=1e-5)


def test_features_of_deeper_layers_travel_with_the_rows_they_belong_to(encoded: list[Encoded]) -> None:
    deep = [replace(page, deep=(torch.arange(int(page.visual.sum()))[:, None] + 100 * number,)) for number, page in enumerate(encoded)]
    first = encoded[0].length
    # The opening mark, the first visual row and the last one of page 0, then the second visual row of page 1.
    picked = _picked(deep, torch.tensor([0, 1, first - 2, first + 2]))
    assert picked.visual.tolist() == [False, True, True, True]
    assert picked.deep[0].flatten().tolist() == [0, first - 3, 101]


def test_rows_of_the_prefix_and_rows_beyond_the_end_are_refused(backbone: Backbone, blind: Assembly, encoded: list[Encoded]) -> None:
    for row in (0, blind.length):
        with pytest.raises(ValueError, match="prefix is not recomputed"):
            recompute(backbone, blind, encoded, [row])


def test_pages_of_another_context_are_refused(backbone: Backbone, blind: Assembly, encoded: list[Encoded]) -> None:
    with pytest.raises(ValueError, match="the context holds the pages"):
        recompute(backbone, blind, encoded[::-1], [blind.length - 1])


def test_a_copy_has_tensors_of_its_own_and_the_same_room(backbone: Backbone, blind: Assembly) -> None:
    made = copied(backbone, blind, 5)
    assert made.cache.rows == 5
    assert made.cache.rotary_slab.shape == blind.cache.rotary_slab.shape
    made.cache.rotary_slab.zero_()
    assert float(blind.cache.rotary_slab[:, 0, :, :5].abs().max()) > 0


def test_a_mask_is_bool_for_sdpa_and_additive_for_eager(either: Backbone) -> None:
    mask = mask_of(either, torch.tensor([[True, False]]))
    if either.config._attn_implementation == "sdpa":
        assert mask.tolist() == [[[[True, False]]]]
    else:
        assert mask[0, 0, 0, 0] == 0
        assert mask[0, 0, 0, 1] < -1e30
