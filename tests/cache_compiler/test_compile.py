"""A page's canonical is the page's own: it does not depend on its batch, and it does depend on its prefix."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from cache_compiler.backbone import Backbone
from cache_compiler.compile import compile_pages, compile_texts
from cache_compiler.prefix import compile_prefix, condition_ids
from cache_compiler.tiny import random_backbone
from cache_compiler.types import Anchor
from renderer.types import PageImage


def far(found: Tensor, judge: Tensor) -> float:
    """Largest difference, in units of the judge's spread."""
    return float((found - judge).abs().max() / judge.std())


@pytest.mark.parametrize("condition", ["template", "free", "dummy-4"])
def test_pages_of_unequal_grids_in_one_batch_equal_one_by_one(either: Backbone, images: list[PageImage], condition: str) -> None:
    prefix = compile_prefix(either, condition_ids(either, condition))
    together = compile_pages(either, images, prefix)
    for image, batched in zip(images, together, strict=True):
        (alone,) = compile_pages(either, [image], prefix)
        assert batched.key == alone.key == image.key
        assert (batched.rows, batched.columns) == (alone.rows, alone.columns) == image.cells
        assert (
            batched.rotary.shape == batched.plain.shape == (either.layers, either.rotary_shape[0], image.tokens + 2, either.rotary_shape[1])
        )
        for layer in range(either.layers):
            assert far(batched.rotary[layer], alone.rotary[layer]) < 1e-4
            assert far(batched.plain[layer], alone.plain[layer]) < 1e-4


def test_a_canonical_is_the_same_whatever_stands_beside_it(backbone: Backbone, images: list[PageImage]) -> None:
    prefix = compile_prefix(backbone, condition_ids(backbone, "template"))
    one, two, three = images
    batches = [[one, two], [two, one], [one, three, two], [one, one]]
    found = [compile_pages(backbone, batch, prefix)[batch.index(one)] for batch in batches]
    assert all(far(other.rotary, found[0].rotary) < 1e-4 for other in found)
    assert all(far(other.plain, found[0].plain) < 1e-4 for other in found)


def test_the_same_batch_compiles_to_the_same_bits(backbone: Backbone, images: list[PageImage]) -> None:
    prefix = compile_prefix(backbone, condition_ids(backbone, "template"))
    for first, second in zip(*(compile_pages(backbone, images, prefix) for _ in range(2)), strict=True):
        assert torch.equal(first.rotary, second.rotary)
        assert torch.equal(first.plain, second.plain)


def test_each_condition_gives_another_cache_of_the_same_shape(backbone: Backbone, images: list[PageImage]) -> None:
    conditions = ["template", "free", "dummy-4"]
    compiled = [compile_pages(backbone, images[:1], compile_prefix(backbone, condition_ids(backbone, word)))[0] for word in conditions]
    for index, page in enumerate(compiled):
        other = compiled[index - 1]
        assert page.rotary.shape == other.rotary.shape
        assert page.plain.shape == other.plain.shape
        # Layer 0 hangs on the token alone; from layer 1 on the page has seen its prefix.
        assert far(page.rotary[0], other.rotary[0]) < 1e-4
        assert far(page.rotary[1], other.rotary[1]) > 1e-2
        assert far(page.plain[1:], other.plain[1:]) > 1e-2


def test_a_canonical_is_what_the_model_itself_has_behind_the_prefix(either: Backbone, images: list[PageImage]) -> None:
    """One native forward over [template, page], the template's rows cut: equation 1 of QV-PIC."""
    prefix = compile_prefix(either, either.template.prefix)
    anchor = Anchor(prefix.length, *images[0].cells)
    ids = torch.tensor([[*prefix.ids, *either.template.page_ids(images[0].tokens)]])
    positions = torch.cat([torch.arange(prefix.length).expand(3, -1), anchor.positions()], dim=1)[:, None]
    cache = either.empty_cache(ids.shape[1])
    either.forward(ids, positions, cache, pixels=either.pixels([images[0].image]))
    (page,) = compile_pages(either, images[:1], prefix)
    table = either.table(anchor.positions()[:, None])
    assert far(either.rotate(page.rotary, table), cache.rotary_slab[:, 0, :, prefix.length :]) < 1e-4
    assert far(page.plain, cache.plain_slab[:, 0, :, prefix.length :]) < 1e-4


def test_another_page_has_another_cache(backbone: Backbone, noise: Callable[..., PageImage]) -> None:
    prefix = compile_prefix(backbone, backbone.template.prefix)
    first, second = compile_pages(backbone, [noise(1, 3, 5), noise(2, 3, 5)], prefix)
    assert far(first.plain, second.plain) > 1e-1


def test_compiling_leaves_the_prefix_as_it_was(backbone: Backbone, images: list[PageImage]) -> None:
    prefix = compile_prefix(backbone, backbone.template.prefix)
    keys, values = prefix.rotary.clone(), prefix.plain.clone()
    compile_pages(backbone, images, prefix)
    assert torch.equal(prefix.rotary, keys)
    assert torch.equal(prefix.plain, values)


def test_a_canonical_holds_no_more_memory_than_its_own_rows(backbone: Backbone, images: list[PageImage]) -> None:
    """Or a page kept in memory would keep its whole batch there."""
    for page in compile_pages(backbone, images, compile_prefix(backbone, backbone.template.prefix)):
        for tensor in (page.rotary, page.plain):
            assert tensor.untyped_storage().nbytes() == tensor.numel() * tensor.element_size()


def test_no_images_is_no_work(backbone: Backbone) -> None:
    assert compile_pages(backbone, [], compile_prefix(backbone, ())) == []


# -- text pages -------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module", params=["llama", "deepseek_v3", "glm4v"])
def reads_text(request: pytest.FixtureRequest) -> Backbone:
    """A model with one axis, one with latent attention, and one that could read images too."""
    return random_backbone("tiny", family=request.param)


TEXTS = [(f"{number:032x}", list(range(30 * number + 20, 30 * number + 20 + length))) for number, length in enumerate((7, 19, 12))]


def test_text_pages_of_unequal_lengths_in_one_batch_equal_one_by_one(reads_text: Backbone) -> None:
    prefix = compile_prefix(reads_text, reads_text.template.prefix)
    for (key, ids), batched in zip(TEXTS, compile_texts(reads_text, TEXTS, prefix), strict=True):
        (alone,) = compile_texts(reads_text, [(key, ids)], prefix)
        assert (batched.key, batched.rows, batched.columns, batched.length) == (key, 0, 0, len(ids))
        assert batched.at(9) == Anchor(9, 0, 0, len(ids))
        for found, judge, shape in [
            (batched.rotary, alone.rotary, reads_text.rotary_shape),
            (batched.plain, alone.plain, reads_text.plain_shape),
        ]:
            assert found.shape == (reads_text.layers, shape[0], len(ids), shape[1])
            assert far(found, judge) < 1e-4


def test_a_text_page_is_what_the_model_itself_has_behind_the_prefix(reads_text: Backbone) -> None:
    prefix = compile_prefix(reads_text, reads_text.template.prefix)
    ids, axes = TEXTS[1][1], reads_text.axes
    cache = reads_text.empty_cache(prefix.length + len(ids))
    where = torch.arange(prefix.length + len(ids)).expand(axes, 1, -1)
    reads_text.forward(torch.tensor([[*prefix.ids, *ids]]), where, cache)
    page = compile_texts(reads_text, TEXTS, prefix)[1]
    rotated = reads_text.rotate(page.rotary, reads_text.table(page.at(prefix.length).positions(axes)[:, None]))
    assert far(rotated, cache.rotary_slab[:, 0, :, prefix.length :]) < 1e-4
    assert far(page.plain, cache.plain_slab[:, 0, :, prefix.length :]) < 1e-4


def test_no_texts_is_no_work_and_a_page_without_tokens_is_refused(reads_text: Backbone) -> None:
    prefix = compile_prefix(reads_text, ())
    assert compile_texts(reads_text, [], prefix) == []
    with pytest.raises(ValueError, match="empty: a page without tokens"):
        compile_texts(reads_text, [TEXTS[0], ("empty", [])], prefix)
