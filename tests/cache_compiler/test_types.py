"""Anchors agree with the model's own position rule; canonicals know their size."""

import dataclasses
from collections.abc import Callable

import pytest
import torch

from cache_compiler.tiny import random_backbone
from cache_compiler.types import Anchor, Canonical, Encoded
from renderer.types import PageImage


def test_an_anchor_of_two_rows_and_three_columns_is_as_worked_by_hand() -> None:
    anchor = Anchor(10, 2, 3)
    assert anchor.length == 8
    assert anchor.end == 15
    assert anchor.positions().tolist() == [
        [10, 11, 11, 11, 11, 11, 11, 14],
        [10, 11, 11, 11, 12, 12, 12, 14],
        [10, 11, 12, 13, 11, 12, 13, 14],
    ]


@pytest.mark.parametrize("axes", [1, 3])
def test_a_run_of_text_takes_as_many_positions_as_rows_the_same_on_all_axes(axes: int) -> None:
    anchor = Anchor(10, 0, 0, 4)
    assert (anchor.length, anchor.end) == (4, 14)
    assert anchor.positions(axes).tolist() == [[10, 11, 12, 13]] * axes
    assert Canonical("x", torch.zeros(2, 1, 4, 8), torch.zeros(2, 1, 4, 6), 0, 0).at(10) == anchor
    page = Encoded("x", (1, 2, 3, 4), torch.zeros(4, 8), torch.zeros(4, dtype=torch.bool), (), 0, 0)
    assert (page.at(10), page.length) == (anchor, 4)


@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (3, 5), (6, 2), (4, 4)])
def test_an_anchor_has_a_position_for_every_row_and_moving_it_moves_all_axes_alike(rows: int, columns: int) -> None:
    near, far = Anchor(0, rows, columns), Anchor(777, rows, columns)
    assert near.positions().shape == (3, near.length)
    assert near.positions().dtype == torch.int64
    assert torch.equal(far.positions(), near.positions() + 777)
    assert int(far.positions().max()) == far.end - 1
    assert int(far.positions().min()) == far.start


@pytest.mark.parametrize("family", ["glm4v", "qwen2_5_vl", "qwen3_vl"])
def test_positions_of_three_pages_are_the_models_own(family: str, noise: Callable[..., PageImage]) -> None:
    backbone = random_backbone("tiny", family=family)
    images = [noise(number, *grid, cell=backbone.cell) for number, grid in enumerate([(3, 5), (6, 2), (4, 4)])]
    prefix, question = list(backbone.template.prefix), backbone.question_ids("Who is the owner of Brobo tower?")
    ids, start, ours = [*prefix], len(prefix), [torch.arange(len(prefix)).expand(3, -1)]
    for image in images:
        anchor = Anchor(start, *image.cells)
        ids += backbone.template.page_ids(image.tokens)
        ours.append(anchor.positions())
        start = anchor.end
    tokens = torch.tensor([[*ids, *question]])
    ours.append(torch.arange(start, start + len(question)).expand(3, -1))
    _, grid = backbone.pixels([image.image for image in images])
    theirs, _ = backbone.model.model.get_rope_index(
        tokens, mm_token_type_ids=(tokens == backbone.template.image).int(), image_grid_thw=grid, attention_mask=torch.ones_like(tokens)
    )
    assert torch.equal(torch.cat(ours, dim=1), theirs[:, 0])


def test_a_canonical_knows_its_rows_its_bytes_and_where_it_would_stand(small: Callable[..., Canonical]) -> None:
    page = small(3, tokens=5)
    assert page.length == 7
    assert page.bytes == 2 * (2 * 1 * 7 * 4) * 4
    assert page.at(9) == Anchor(9, 1, 5)
    assert page.at(9).length == page.length
    assert small(3, dtype=torch.bfloat16, tokens=5).bytes == page.bytes // 2


def test_a_canonical_cannot_be_changed(small: Callable[..., Canonical]) -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        small().key = "another"  # type: ignore[misc]
