"""A page in its rows: with and without a patch, against the sum written out; and only its own rows."""

import pytest
import torch

from cache_compiler import form
from cache_compiler.backbone import Backbone
from cache_compiler.condition import condition, deficit
from cache_compiler.errors import PatchMismatch
from cache_compiler.place import place
from cache_compiler.types import Canonical


@pytest.fixture(scope="module")
def delta(backbone, prefix, images, pages):
    return deficit(condition(backbone, prefix, backbone.encode(images[:2]))[1], pages[1])


def placed(backbone: Backbone, page: Canonical, start: int, patch=None, spare: int = 3) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """(keys, values) of the page's rows, and whether the rows around them are as they were."""
    cache = backbone.empty_cache(page.length + 2 * spare)
    rotary, plain = cache.reserve(page.length + 2 * spare)
    rotary.fill_(7.0)
    plain.fill_(7.0)
    rows = slice(spare, spare + page.length)
    place(backbone, page, page.at(start), rotary[:, 0, :, rows], plain[:, 0, :, rows], patch)
    around = torch.cat([rotary[:, 0, :, :spare], rotary[:, 0, :, -spare:], plain[:, 0, :, :spare], plain[:, 0, :, -spare:]])
    return rotary[:, 0, :, rows], plain[:, 0, :, rows], bool((around == 7.0).all())


def test_a_patch_is_added_before_the_one_rotation(backbone, pages, delta) -> None:
    patch = form.cut(delta, [pages[0].key], pages[1], None)
    keys, values, untouched = placed(backbone, pages[1], 50, patch)
    table = backbone.table(pages[1].at(50).positions(backbone.axes)[:, None])
    torch.testing.assert_close(keys, backbone.rotate(pages[1].rotary + delta.rotary, table), rtol=0, atol=1e-4)
    torch.testing.assert_close(values, pages[1].plain + delta.plain, rtol=0, atol=1e-4)
    assert untouched


def test_without_a_patch_values_are_copied_and_keys_rotated_bit_for_bit(backbone, pages) -> None:
    keys, values, untouched = placed(backbone, pages[1], 50)
    table = backbone.table(pages[1].at(50).positions(backbone.axes)[:, None])
    assert torch.equal(values, pages[1].plain)
    assert torch.equal(keys, backbone.rotate(pages[1].rotary, table))
    assert untouched


def test_the_canonical_is_only_read(backbone, pages, delta) -> None:
    before = pages[1].rotary.clone(), pages[1].plain.clone()
    placed(backbone, pages[1], 9, form.cut(delta, [pages[0].key], pages[1], 4))
    assert torch.equal(pages[1].rotary, before[0])
    assert torch.equal(pages[1].plain, before[1])


def test_a_patch_of_another_page_or_shape_is_refused_before_a_row_is_written(backbone, pages, delta) -> None:
    patch = form.cut(delta, [pages[0].key], pages[1], 4)
    with pytest.raises(PatchMismatch, match=pages[2].key):
        placed(backbone, pages[2], 9, patch)
    shorter = Canonical(pages[1].key, pages[1].rotary[:, :, :-1], pages[1].plain[:, :, :-1], 1, pages[1].length - 3)
    with pytest.raises(PatchMismatch, match="rows"):
        placed(backbone, shorter, 9, patch)
    shallower = Canonical(pages[1].key, pages[1].rotary[:-1], pages[1].plain[:-1], pages[1].rows, pages[1].columns)
    with pytest.raises(PatchMismatch, match="layers"):
        placed(backbone, shallower, 9, patch)
