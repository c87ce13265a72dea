"""Pages are placed by one rotation each; nothing is shared between requests, and nothing of a canonical is written."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from cache_compiler.assemble import assemble
from cache_compiler.backbone import Backbone
from cache_compiler.compile import compile_pages
from cache_compiler.errors import ContextTooLong
from cache_compiler.prefix import Prefix, compile_prefix
from cache_compiler.tiny import random_backbone
from cache_compiler.types import Anchor, Assembly, Canonical
from renderer.types import PageImage

QUESTION = "Who is the owner of Brobo tower?"


def ask(backbone: Backbone, assembly: Assembly) -> Tensor:
    ids = torch.tensor([backbone.question_ids(QUESTION)])
    positions = torch.arange(assembly.next_position, assembly.next_position + ids.shape[1]).expand(3, 1, -1)
    return backbone.forward(ids, positions, assembly.cache, keep=ids.shape[1])  # type: ignore[arg-type]


def test_segments_lie_end_to_end_in_rows_and_in_positions(backbone: Backbone, prefix: Prefix, pages: list[Canonical]) -> None:
    assembly = assemble(backbone, prefix, pages, room=7)
    row, position = prefix.length, prefix.length
    for page, segment in zip(pages, assembly.segments, strict=True):
        assert segment.key == page.key
        assert (segment.first, segment.last) == (row, row + page.length)
        assert segment.anchor == Anchor(position, page.rows, page.columns)
        row, position = segment.last, segment.anchor.end
    assert (assembly.length, assembly.next_position) == (row, position)
    assert assembly.cache.rows == row
    assert assembly.cache.rotary_slab.shape[3] == row + 7
    assert assembly.seconds["place"] > 0


def test_no_pages_is_the_prefix_alone(backbone: Backbone, prefix: Prefix) -> None:
    assembly = assemble(backbone, prefix, [])
    assert (assembly.segments, assembly.length, assembly.next_position) == ((), prefix.length, prefix.length)
    assert torch.equal(assembly.cache.rotary_slab[:, 0], prefix.rotary)
    assert torch.equal(assembly.cache.plain_slab[:, 0], prefix.plain)


def test_layer_0_keys_of_a_moved_page_are_those_of_the_native_forward_at_that_place(either: Backbone, images: list[PageImage]) -> None:
    """Layer 0 hangs on the token and its place alone, so there re-anchoring must be exact, however far the page has moved."""
    prefix = compile_prefix(either, either.template.prefix)
    first, second, third = compile_pages(either, images, prefix)
    assembly = assemble(either, prefix, [third, second, first])
    for segment, image in zip(assembly.segments, reversed(images), strict=True):
        native = either.empty_cache(segment.anchor.length)
        ids = torch.tensor([either.template.page_ids(image.tokens)])
        either.forward(ids, segment.anchor.positions()[:, None], native, pixels=either.pixels([image.image]))
        placed = assembly.cache.layers[0]
        assert torch.allclose(placed.keys[:, :, segment.first : segment.last], native.layers[0].keys, atol=1e-4)
        assert torch.allclose(placed.values[:, :, segment.first : segment.last], native.layers[0].values, atol=1e-4)
        # One place beside it the keys are others: the comparison would notice.
        beside = Anchor(segment.anchor.start + 1, *image.cells).positions()[:, None]
        other = either.empty_cache(segment.anchor.length)
        either.forward(ids, beside, other, pixels=either.pixels([image.image]))
        assert not torch.allclose(placed.keys[:, :, segment.first : segment.last], other.layers[0].keys, atol=1e-1)


def test_a_page_is_rotated_straight_to_its_place_and_its_values_are_not_touched(
    backbone: Backbone, prefix: Prefix, pages: list[Canonical]
) -> None:
    assembly = assemble(backbone, prefix, [pages[1], pages[0]])
    segment = assembly.segments[1]
    rows = slice(segment.first, segment.last)
    table = backbone.table(segment.anchor.positions()[:, None])
    assert torch.equal(assembly.cache.rotary_slab[:, 0, :, rows], backbone.rotate(pages[0].rotary, table))
    assert torch.equal(assembly.cache.plain_slab[:, 0, :, rows], pages[0].plain)


def test_a_question_leaves_canonicals_and_prefix_untouched(backbone: Backbone, prefix: Prefix, pages: list[Canonical]) -> None:
    before = [(page.rotary.clone(), page.plain.clone()) for page in pages]
    keys, values = prefix.rotary.clone(), prefix.plain.clone()
    for room in (0, 64):
        ask(backbone, assemble(backbone, prefix, pages, room=room))
    for page, (rotary, plain) in zip(pages, before, strict=True):
        assert torch.equal(page.rotary, rotary)
        assert torch.equal(page.plain, plain)
    assert torch.equal(prefix.rotary, keys)
    assert torch.equal(prefix.plain, values)


def test_two_assemblies_of_the_same_pages_in_other_orders_do_not_disturb_each_other(
    backbone: Backbone, prefix: Prefix, pages: list[Canonical]
) -> None:
    there = ask(backbone, assemble(backbone, prefix, pages, room=64))
    back = ask(backbone, assemble(backbone, prefix, pages[::-1], room=64))
    first, second = assemble(backbone, prefix, pages, room=64), assemble(backbone, prefix, pages[::-1], room=64)
    assert torch.equal(ask(backbone, second), back)
    assert torch.equal(ask(backbone, first), there)
    assert not torch.allclose(there, back, atol=1e-2)


def test_one_page_may_stand_twice_in_a_context(backbone: Backbone, prefix: Prefix, pages: list[Canonical]) -> None:
    assembly = assemble(backbone, prefix, [pages[0], pages[0]])
    first, second = (assembly.cache.rotary_slab[:, 0, :, s.first : s.last] for s in assembly.segments)
    assert not torch.allclose(first, second, atol=1e-2)


def test_room_to_spare_changes_no_answer(backbone: Backbone, prefix: Prefix, pages: list[Canonical]) -> None:
    """Too little room costs one copy of the past, never a row."""
    roomy, tight = (ask(backbone, assemble(backbone, prefix, pages, room=room)) for room in (64, 0))
    assert torch.equal(roomy, tight)


def test_keys_stored_in_bfloat16_are_rotated_in_float32_and_cast_once(images: list[PageImage]) -> None:
    half = random_backbone("tiny")
    half.model.to(torch.bfloat16)
    prefix = compile_prefix(half, half.template.prefix)
    pages = compile_pages(half, images, prefix)
    assembly = assemble(half, prefix, pages)
    segment = assembly.segments[2]
    placed = assembly.cache.rotary_slab[:, 0, :, segment.first : segment.last]
    table = half.table(segment.anchor.positions()[:, None])
    assert pages[2].rotary.dtype == placed.dtype == torch.bfloat16
    assert torch.equal(placed, half.rotate(pages[2].rotary.float(), table).bfloat16())


def test_pages_that_do_not_fit_the_models_positions_are_refused(noise: Callable[..., PageImage]) -> None:
    short = random_backbone("tiny", positions=32)
    prefix = compile_prefix(short, short.template.prefix)
    (page,) = compile_pages(short, [noise(1, 6, 7)], prefix)  # nine positions each, behind a prefix of four
    assert assemble(short, prefix, [page] * 3).next_position == 31
    with pytest.raises(ContextTooLong, match="4 pages end at position 40, the model has 32"):
        assemble(short, prefix, [page] * 4)


def test_pages_that_would_leave_no_position_for_a_question_are_refused(noise: Callable[..., PageImage]) -> None:
    short = random_backbone("tiny", positions=31)
    prefix = compile_prefix(short, short.template.prefix)
    (page,) = compile_pages(short, [noise(1, 6, 7)], prefix)
    with pytest.raises(ContextTooLong, match="end at position 31, the model has 31"):
        assemble(short, prefix, [page] * 3)
