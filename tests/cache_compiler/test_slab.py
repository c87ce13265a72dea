"""The slab is the library's dynamic cache without its copies."""

import pytest
import torch
from torch import Tensor
from transformers.cache_utils import DynamicCache

from cache_compiler.backbone import Backbone
from cache_compiler.errors import CacheError
from cache_compiler.slab import SlabCache


def steps(backbone: Backbone, cache: object, count: int = 10) -> list[Tensor]:
    """Logits of a question of five tokens and of `count` greedy tokens behind it."""
    ids, position, seen = torch.tensor([[311, 284, 367, 292, 81]]), 0, []
    for _ in range(count + 1):
        positions = torch.arange(position, position + ids.shape[1]).expand(3, 1, -1)
        logits = backbone.forward(ids, positions, cache)[:, -1]  # type: ignore[arg-type]
        seen.append(logits)
        position, ids = position + ids.shape[1], logits.argmax(-1)[:, None]
    return seen


def make(capacity: int, layers: int = 2, batch: int = 1) -> SlabCache:
    return SlabCache(layers, batch, (2, 4), (2, 4), capacity, torch.float32, torch.device("cpu"))


def rows(count: int, seed: int = 0, batch: int = 1) -> Tensor:
    return torch.randn(batch, 2, count, 4, generator=torch.Generator().manual_seed(seed))


def test_ten_decoded_tokens_have_bit_for_bit_the_logits_of_a_dynamic_cache(either: Backbone) -> None:
    stock = steps(either, DynamicCache())
    assert torch.stack(stock).std() > 0.1
    for slab in (either.empty_cache(32), either.empty_cache(3)):  # with room, and outgrown on the way
        assert all(torch.equal(ours, theirs) for ours, theirs in zip(steps(either, slab), stock, strict=True))
        assert slab.get_seq_length() == 15


def test_decoding_with_room_never_moves_the_past(backbone: Backbone) -> None:
    cache = backbone.empty_cache(32)
    steps(backbone, cache, 0)
    past = [(layer.keys.data_ptr(), layer.values.data_ptr(), layer.keys.clone()) for layer in cache.layers]
    for step in range(5):
        backbone.forward(torch.tensor([[100 + step]]), torch.full((3, 1, 1), 5 + step), cache)
    assert cache.rows == 10
    for layer, (keys, values, before) in zip(cache.layers, past, strict=True):
        assert (layer.keys.data_ptr(), layer.values.data_ptr()) == (keys, values)
        assert torch.equal(layer.keys[:, :, :5], before)
    assert cache.rotary_slab[0].data_ptr() == cache.layers[0].keys.data_ptr()


def test_growth_keeps_every_row_that_was_written() -> None:
    cache = make(2)
    written = rows(7)
    for i in range(7):
        keys, values = cache.update(written[:, :, i : i + 1], -written[:, :, i : i + 1], 1)
    assert torch.equal(keys, written)
    assert torch.equal(values, -written)
    assert cache.layers[1].rows == 7
    assert cache.layers[0].rows == 0


def test_reserved_rows_are_seen_by_every_layer() -> None:
    cache = make(9)
    cache.reserve(2)
    keys, values = cache.reserve(3)
    assert keys.shape == values.shape == (2, 1, 2, 3, 4)
    keys.copy_(torch.stack([rows(3, 1), rows(3, 2)]))
    values.fill_(5.0)
    for index, layer in enumerate(cache.layers):
        assert layer.rows == cache.rows == 5
        assert torch.equal(layer.keys[:, :, 2:], rows(3, index + 1))
        assert bool((layer.values[:, :, 2:] == 5).all())


def test_rows_are_not_reserved_where_no_layer_would_see_them() -> None:
    cache = make(4)
    with pytest.raises(CacheError, match="slab of 4"):
        cache.reserve(5)
    assert cache.rows == 0
    for index in range(2):
        cache.update(rows(5), rows(5), index)
    with pytest.raises(CacheError, match="slab of 4"):
        cache.reserve(1)


def test_a_truncated_context_answers_another_question_as_if_it_were_the_first(either: Backbone) -> None:
    context, first, second = torch.tensor([[20, 21, 22, 23]]), torch.tensor([[30, 31]]), torch.tensor([[40, 41, 42]])

    def ask(cache: SlabCache, question: Tensor) -> Tensor:
        return either.forward(question, torch.arange(4, 4 + question.shape[1]).expand(3, 1, -1), cache)

    fresh, used = either.empty_cache(16), either.empty_cache(16)
    for cache in (fresh, used):
        either.forward(context, torch.arange(4).expand(3, 1, -1), cache)
    ask(used, first)
    used.truncate(4)
    assert used.get_seq_length() == 4
    assert torch.equal(ask(used, second), ask(fresh, second))


def test_crop_drops_the_last_rows_and_refuses_a_positive_number_as_the_library_does() -> None:
    slab, stock = make(8, layers=1), DynamicCache()
    for cache in (slab, stock):
        cache.update(rows(6), rows(6, 1), 0)
        cache.crop(-2)
    assert torch.equal(slab.layers[0].keys, stock.layers[0].keys)
    assert slab.rows == 4
    with pytest.raises(ValueError, match="negative"):
        slab.crop(3)
    slab.crop(-9)
    assert slab.rows == 0


def test_rows_reordered_for_a_beam_stay_reordered_when_more_are_appended() -> None:
    slab, stock = make(8, layers=1, batch=2), DynamicCache()
    for cache in (slab, stock):
        cache.update(rows(3, 0, 2), rows(3, 1, 2), 0)
        cache.reorder_cache(torch.tensor([1, 1]))
        cache.batch_repeat_interleave(2)
        cache.batch_select_indices(torch.tensor([0, 3, 1]))
        keys, values = cache.update(rows(1, 2, 3), rows(1, 3, 3), 0)
        cache.checked = (keys, values)
    assert all(torch.equal(ours, theirs) for ours, theirs in zip(slab.checked, stock.checked, strict=True))


def test_a_reset_slab_is_empty_and_can_be_filled_again() -> None:
    cache = make(4)
    cache.reserve(4)
    cache.reset()
    assert cache.rows == 0
    keys, _ = cache.update(rows(2), rows(2), 0)
    assert torch.equal(keys, rows(2))
