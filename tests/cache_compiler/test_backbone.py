"""The one place that calls a model: positions are explicit, captures keep to their thread, and half a model is no model."""

import dataclasses
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from PIL import Image
from transformers import GenerationConfig
from transformers.cache_utils import DynamicCache

from cache_compiler.backbone import Backbone
from cache_compiler.card import Card
from cache_compiler.errors import ContextTooLong, UnsupportedFamily
from cache_compiler.tiny import random_backbone
from cache_compiler.types import Anchor, Encoded
from renderer.types import PageImage

Change = Callable[[Path], object]


def test_layers_that_see_a_sliding_window_alone_are_refused() -> None:
    made = random_backbone("tiny", family="qwen2_5_vl")
    made.config.layer_types[1] = "sliding_attention"
    with pytest.raises(UnsupportedFamily, match="sliding window"):
        Backbone(made.model, made.tokenizer, made.image_processor, made.family, "changed", Card(), None)


# -- facts and inputs -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("ends", "expected"), [(5, {5}), ([1, 4], {1, 4}), (None, {1})])
def test_stop_ids_are_the_models_own_and_else_the_tokenizers(
    ends: int | list[int] | None, expected: set[int], backbone: Backbone, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backbone.model, "generation_config", GenerationConfig(eos_token_id=ends))
    assert backbone.stop_ids == expected


def test_pages_become_four_patches_a_cell_and_are_never_resampled(backbone: Backbone, images: list[PageImage]) -> None:
    values, grid = backbone.pixels([image.image for image in images])
    assert values.shape == (4 * sum(image.tokens for image in images), 3 * 2 * 8 * 8)
    assert grid.tolist() == [[1, 2 * rows, 2 * columns] for rows, columns in (image.cells for image in images)]
    with pytest.raises(ValueError, match="reshape"):
        backbone.pixels([Image.new("RGB", (17, 32))])


def test_a_position_the_model_does_not_have_is_refused_before_the_forward() -> None:
    short = random_backbone("tiny", positions=16)
    cache = short.empty_cache(8)
    short.forward(torch.tensor([[20, 21]]), torch.tensor([14, 15]).expand(3, 1, -1), cache)
    with pytest.raises(ContextTooLong, match="position 16 of 16"):
        short.forward(torch.tensor([[20]]), torch.full((3, 1, 1), 16), cache)
    assert cache.rows == 2


def test_forward_gives_as_many_logits_as_are_kept_and_leaves_no_state_behind(backbone: Backbone) -> None:
    ids, positions = torch.tensor([[20, 21, 22, 23]]), torch.arange(4).expand(3, 1, -1)
    all_of_them = backbone.forward(ids, positions, backbone.empty_cache(4), keep=4)
    backbone.forward(ids, positions + 100, backbone.empty_cache(4))
    last = backbone.forward(ids, positions, backbone.empty_cache(4))
    assert all_of_them.shape == (1, 4, len(backbone.tokenizer))
    assert last.shape == (1, 1, len(backbone.tokenizer))
    assert torch.allclose(last, all_of_them[:, -1:], atol=1e-5)
    assert not last.requires_grad


# -- encoded pages ---------------------------------------------------------------------------------------------------


def laid(backbone: Backbone, pages: list[Encoded]) -> torch.Tensor:
    """Positions [axes, 1, n] of pages end to end."""
    positions, start = [], 0
    for page in pages:
        positions.append(page.at(start).positions(backbone.axes))
        start = page.at(start).end
    return torch.cat(positions, dim=1)[:, None]


def test_a_forward_over_encoded_pages_is_the_forward_over_their_pixels(
    every: Backbone, three: list[Encoded], noise: Callable[..., PageImage]
) -> None:
    """Logits, cache and captured keys, whatever the vision encoder hands to the language model's layers."""
    pages = [every.encode_text("prefix", every.template.prefix), *three, every.encode_text("question", every.question_ids("Who?"))]
    ids, where = [token for page in pages for token in page.ids], laid(every, pages)
    images = [noise(number, page.rows, page.columns, cell=every.cell).image for number, page in enumerate(three)] if three[0].rows else []
    stock, ours = every.empty_cache(len(ids)), every.empty_cache(len(ids))
    with every.capture() as before:
        judge = every.forward(torch.tensor([ids]), where, stock, pixels=every.pixels(images) if images else None, keep=3)
    with every.capture() as taken:
        found = every.forward_encoded(pages, where, ours, keep=3)
    assert found.shape == judge.shape == (1, 3, len(every.tokenizer))
    assert float((found - judge).abs().max() / judge.std()) < 1e-5
    for left, right in [(ours.rotary_slab, stock.rotary_slab), (ours.plain_slab, stock.plain_slab), *zip(taken, before, strict=True)]:
        assert float((left - right).abs().max() / right.std()) < 1e-5


def test_a_page_is_encoded_alike_alone_and_among_others(backbone: Backbone, images: list[PageImage]) -> None:
    for image, page in zip(images, backbone.encode(images), strict=True):
        (alone,) = backbone.encode([image])
        assert (alone.key, alone.ids, alone.rows, alone.columns) == (page.key, page.ids, page.rows, page.columns)
        assert torch.allclose(alone.embeds, page.embeds, atol=1e-5)
        assert page.at(5) == Anchor(5, *image.cells)
        assert (page.visual.tolist(), page.length) == ([False, *[True] * image.tokens, False], image.tokens + 2)


def test_what_qwen3_adds_behind_its_first_layers_travels_with_the_page(noise: Callable[..., PageImage]) -> None:
    made = random_backbone("tiny", family="qwen3_vl")
    (page,) = made.encode([noise(1, 3, 4, cell=32)])
    assert [tuple(layer.shape) for layer in page.deep] == [(12, 64)] * 2
    whole, bare = (
        made.forward_encoded([one], laid(made, [one]), made.empty_cache(one.length)) for one in (page, dataclasses.replace(page, deep=()))
    )
    assert float((whole - bare).abs().max() / whole.std()) > 1e-2


def test_a_model_that_reads_text_alone_says_so_where_it_is_shown_an_image(images: list[PageImage]) -> None:
    made = random_backbone("tiny", family="llama")
    for look in (lambda: made.cell, lambda: made.encode(images), lambda: made.pixels([images[0].image])):
        with pytest.raises(UnsupportedFamily, match="reads text alone"):
            look()


def test_no_logits_are_computed_where_none_are_wanted(backbone: Backbone) -> None:
    page = backbone.encode_text("x", [20, 21, 22])
    cache = backbone.empty_cache(3)
    none = backbone.forward_encoded([page], page.at(0).positions(backbone.axes)[:, None], cache, keep=0)
    assert none.shape == (1, 0, len(backbone.tokenizer))
    assert cache.rows == 3
    with pytest.raises(ContextTooLong):
        backbone.forward_encoded([page], page.at(backbone.max_positions - 2).positions(backbone.axes)[:, None], cache)


def test_nothing_encoded_is_no_work(backbone: Backbone) -> None:
    assert backbone.encode([]) == []


# -- capture and rotation -------------------------------------------------------------------------------------------


def forward(backbone: Backbone, first: int, tokens: int = 4) -> None:
    ids = torch.arange(first, first + tokens)[None]
    backbone.forward(ids, torch.arange(tokens).expand(3, 1, -1), backbone.empty_cache(tokens))


def test_captured_keys_rotated_are_what_the_library_caches_whichever_slot_it_is_in(every: Backbone) -> None:
    """By the library's own cache, not by ours."""
    positions, stock = torch.tensor([[5, 6, 9]]).expand(every.axes, 1, -1), DynamicCache()
    with every.capture() as taken:
        every.forward(torch.tensor([[20, 21, 22]]), positions, stock)  # type: ignore[arg-type]
    for keys, layer in zip(taken, stock.layers, strict=True):
        rotated, plain = (layer.values, layer.keys) if every.family.latent else (layer.keys, layer.values)
        assert torch.equal(every.rotate(keys, every.table(positions)), rotated)
        assert (rotated.shape[1], rotated.shape[3]) == every.rotary_shape
        assert (plain.shape[1], plain.shape[3]) == every.plain_shape


def test_captured_keys_rotated_are_the_keys_in_the_models_cache(either: Backbone) -> None:
    positions = torch.tensor([[5, 6, 9], [5, 8, 9], [5, 7, 9]])[:, None]
    cache = either.empty_cache(3)
    with either.capture() as taken:
        either.forward(torch.tensor([[20, 21, 22]]), positions, cache)
    table = either.table(positions)
    assert len(taken) == either.layers
    for keys, layer in zip(taken, cache.layers, strict=True):
        assert keys.shape == (1, either.rotary_shape[0], 3, either.rotary_shape[1])
        assert torch.equal(either.rotate(keys, table), layer.keys)
        assert not torch.equal(keys, layer.keys)


def test_a_capture_does_not_see_another_threads_forward(backbone: Backbone) -> None:
    with backbone.capture() as alone:
        forward(backbone, 20)
    with backbone.capture() as taken:
        forward(backbone, 20)
        other = threading.Thread(target=forward, args=(backbone, 300, 6))
        other.start()
        other.join()
    assert all(torch.equal(ours, theirs) for ours, theirs in zip(taken, alone, strict=True))


def test_two_threads_that_capture_at_once_each_get_their_own_keys(backbone: Backbone) -> None:
    barrier = threading.Barrier(2)
    seen: dict[int, list[torch.Tensor]] = {}

    def work(first: int) -> None:
        with backbone.capture() as taken:
            barrier.wait(timeout=30)
            for _ in range(5):
                forward(backbone, first)
            barrier.wait(timeout=30)
        seen[first] = taken

    threads = [threading.Thread(target=work, args=(first,)) for first in (20, 300)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for first in (20, 300):
        with backbone.capture() as alone:
            forward(backbone, first)
        assert all(torch.equal(ours, theirs) for ours, theirs in zip(seen[first], alone, strict=True))
    assert not torch.equal(seen[20][0], seen[300][0])


def test_a_capture_leaves_no_hook_behind_even_when_the_forward_fails(backbone: Backbone) -> None:
    def hooks() -> int:
        return sum(len(module._forward_hooks) for module in backbone.model.modules())

    before = hooks()
    with pytest.raises(ContextTooLong), backbone.capture():
        backbone.forward(torch.tensor([[20]]), torch.full((3, 1, 1), backbone.max_positions), backbone.empty_cache(1))
    assert hooks() == before


def test_a_table_has_one_row_a_position_and_position_zero_rotates_nothing(backbone: Backbone) -> None:
    cos, sin = backbone.table(torch.zeros(3, 1, 5, dtype=torch.long))
    assert cos.shape == sin.shape == (1, 5, backbone.rotary_shape[1])
    assert cos.dtype == torch.float32
    keys = torch.randn(backbone.layers, backbone.rotary_shape[0], 5, backbone.rotary_shape[1])
    assert torch.equal(backbone.rotate(keys, (cos, sin)), keys)
