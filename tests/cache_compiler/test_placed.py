"""Rows in a slab: laid out end to end, moved without being computed again, and never written where another window reads."""

import pytest
import torch

from cache_compiler.assemble import assemble
from cache_compiler.backbone import Backbone
from cache_compiler.errors import ContextTooLong, WindowError
from cache_compiler.placed import Slab, lay_out, row_bytes
from cache_compiler.prefix import Prefix, compile_prefix
from cache_compiler.tiny import random_backbone
from cache_compiler.types import Canonical


def test_pages_are_laid_out_as_an_assembly_lays_them_out(backbone: Backbone, prefix: Prefix, pages: list[Canonical]) -> None:
    placed = lay_out(backbone, prefix.length, [(page, None) for page in pages])
    assert tuple(item.segment for item in placed) == assemble(backbone, prefix, pages).segments
    assert lay_out(backbone, prefix.length, []) == ()


def test_a_layout_that_cannot_be_is_refused_before_anything_is_written(prefix: Prefix, pages: list[Canonical]) -> None:
    small = random_backbone("tiny", positions=prefix.length + 10)
    with pytest.raises(ContextTooLong, match="evict a page"):
        lay_out(small, prefix.length, [(page, None) for page in pages])
    with pytest.raises(WindowError, match="twice"):
        lay_out(small, prefix.length, [(pages[0], None), (pages[0], None)])


def test_values_are_moved_and_not_taken_from_the_canonical_again(backbone: Backbone, prefix: Prefix, pages: list[Canonical]) -> None:
    """A mark in a page's values goes with it; its keys are placed anew from the un-rotated, so a mark in them is gone."""
    old = lay_out(backbone, prefix.length, [(page, None) for page in pages])
    slab, _ = Slab.behind(backbone, prefix).rearranged((), old)
    with torch.inference_mode():
        for tensor in slab.rows(old[2].segment):
            tensor[0, 0, 1, 0] = 99.0
    new = lay_out(backbone, prefix.length, [(page, None) for page in (pages[0], pages[2])])
    after, written = slab.rearranged(old, new)
    rotary, plain = after.rows(new[1].segment)
    assert float(plain[0, 0, 1, 0]) == 99.0
    assert float(rotary[0, 0, 1, 0]) != 99.0
    assert (written.moved, written.rows, written.anew) == (1, pages[2].length, 0)
    assert after is slab


def test_a_page_that_stands_where_it_stood_is_not_counted(backbone: Backbone, prefix: Prefix, pages: list[Canonical]) -> None:
    placed = lay_out(backbone, prefix.length, [(page, None) for page in pages])
    slab, _ = Slab.behind(backbone, prefix).rearranged((), placed)
    _, written = slab.rearranged(placed, placed)
    assert (written.moved, written.rows, written.anew) == (0, 0, 0)


def test_a_slab_with_two_owners_is_copied_and_one_with_room_is_not(backbone: Backbone, pages: list[Canonical]) -> None:
    prefix = compile_prefix(backbone, backbone.template.prefix)
    placed = lay_out(backbone, prefix.length, [(pages[0], None)])
    slab, _ = Slab.behind(backbone, prefix).rearranged((), placed)
    assert slab.roomy(placed) is slab
    larger = slab.roomy(placed, room=1000)
    assert larger is not slab
    assert larger.capacity >= slab.cache.rows + 1000
    slab.owners = 2
    copy = slab.roomy(placed)
    assert copy.cache.rotary_slab.data_ptr() != slab.cache.rotary_slab.data_ptr()
    for mine, other in zip(copy.rows(placed[0].segment), slab.rows(placed[0].segment), strict=True):
        assert torch.equal(mine, other)


def test_a_page_has_as_many_bytes_as_its_rows(backbone: Backbone, pages: list[Canonical]) -> None:
    assert [page.length * row_bytes(backbone) for page in pages] == [page.bytes for page in pages]
