"""A page can stand anywhere because rotation hangs on its place alone; a formula for a kernel says all of what the model does."""

import pytest
import torch

from cache_compiler.backbone import Backbone
from cache_compiler.card import Card
from cache_compiler.errors import UnsupportedFamily
from cache_compiler.tiny import random_backbone
from cache_compiler.types import Anchor


@pytest.mark.parametrize("kind", ["dynamic", "longrope"])
def test_a_rotation_that_depends_on_the_requests_length_is_refused(kind: str) -> None:
    made = random_backbone("tiny")
    made.config.rope_parameters["rope_type"] = kind
    with pytest.raises(UnsupportedFamily, match=kind):
        Backbone(made.model, made.tokenizer, made.image_processor, made.family, "changed", Card(), None)


def reference(keys: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor, in_pairs: bool, out_pairs: bool) -> torch.Tensor:
    """Keys [..., n, d] turned by the formula that a fused kernel uses."""
    width = 2 * cos.shape[1]
    turned, passed = keys[..., :width], keys[..., width:]
    x, y = (turned[..., 0::2], turned[..., 1::2]) if in_pairs else turned.chunk(2, -1)
    x, y = x * cos - y * sin, y * cos + x * sin
    return torch.cat([torch.stack([x, y], -1).flatten(-2) if out_pairs else torch.cat([x, y], -1), passed], -1)


def test_a_pair_table_and_the_layout_say_all_of_the_rotation(every: Backbone) -> None:
    check_pair_table(every)


def test_a_pair_table_leaves_out_what_is_not_rotated() -> None:
    made = random_backbone("partial")
    assert made.pair_table(torch.zeros(3, 5, dtype=torch.long))[0].shape == (5, 4)
    check_pair_table(made)


def check_pair_table(made: Backbone) -> None:
    positions = (Anchor(700, 3, 5) if made.axes == 3 else Anchor(700, 0, 0, 17)).positions(made.axes)
    keys = torch.randn(
        made.layers, made.rotary_shape[0], positions.shape[1], made.rotary_shape[1], generator=torch.Generator().manual_seed(0)
    )
    cos, sin = made.pair_table(positions)
    rotated = made.rotate(keys, made.table(positions[:, None]))
    assert cos.dtype == sin.dtype == torch.float32
    assert torch.allclose(reference(keys, cos, sin, *made.layout), rotated, atol=1e-6, rtol=0)
    for wrong in [(not made.layout[0], made.layout[1]), (made.layout[0], not made.layout[1])]:
        assert not torch.allclose(reference(keys, cos, sin, *wrong), rotated, atol=1e-2)


def test_rotation_depends_on_the_distance_alone() -> None:
    """What equation 2 of QV-PIC rests on: a query and a key moved together give the same score."""
    backbone = random_backbone("partial")
    query, key = torch.randn(2, 1, 1, 1, backbone.rotary_shape[1], generator=torch.Generator().manual_seed(0)).unbind(0)

    def score(where: int, distance: int) -> float:
        at = torch.full((3, 1, 1), where)
        return float((backbone.rotate(query, backbone.table(at + distance)) * backbone.rotate(key, backbone.table(at))).sum())

    assert score(700, 9) == pytest.approx(score(3, 9), abs=1e-3)
    assert score(3, 10) != pytest.approx(score(3, 9), abs=1e-2)
