"""Random models are of the real class, are the same for a seed, and are sharp enough to notice a wrong position."""

import pytest
import torch
from torch import Tensor
from transformers import Glm4vForConditionalGeneration

from cache_compiler.backbone import Backbone
from cache_compiler.families import FAMILIES
from cache_compiler.tiny import random_backbone


def logits(backbone: Backbone, moved: int = 0) -> Tensor:
    """Logits of four tokens behind four others; `moved` shifts the last four."""
    ids, positions = torch.arange(20, 28)[None], torch.arange(8)
    positions = torch.where(positions < 4, positions, positions + moved).expand(backbone.axes, 1, -1)
    return backbone.forward(ids, positions, backbone.empty_cache(8), keep=4)[0]


@pytest.mark.parametrize(("size", "cell"), [("tiny", 16), ("partial", 28)])
def test_a_random_model_is_of_the_real_class(size: str, cell: int) -> None:
    backbone = random_backbone(size)  # type: ignore[arg-type]
    assert type(backbone.model) is Glm4vForConditionalGeneration
    assert backbone.cell == cell
    assert backbone.directory is None
    assert backbone.max_positions == 65536
    assert backbone.template.prefix


def test_a_seed_gives_the_same_model_and_another_seed_another() -> None:
    first, second, other = random_backbone("tiny"), random_backbone("tiny"), random_backbone("tiny", seed=1)
    assert torch.equal(logits(first), logits(second))
    assert not torch.allclose(logits(first), logits(other), atol=1e-1)


def test_making_a_model_leaves_the_callers_random_numbers_alone() -> None:
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    random_backbone("tiny")
    assert torch.equal(torch.rand(3), expected)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_position_wrong_by_one_shows_in_every_family(family: str) -> None:
    backbone = random_backbone("tiny", family=family)
    assert type(backbone.model).__name__ == FAMILIES[family].model
    right, wrong = logits(backbone), logits(backbone, moved=1)
    assert float((right - wrong).abs().max() / right.std()) > 0.1


@pytest.mark.parametrize("size", ["tiny", "partial"])
def test_a_position_wrong_by_one_changes_the_logits_by_a_tenth_of_their_spread(size: str) -> None:
    """A model that is too blunt for that would let every test of exactness pass."""
    backbone = random_backbone(size)  # type: ignore[arg-type]
    right, wrong = logits(backbone), logits(backbone, moved=1)
    assert float((right - wrong).abs().max() / right.std()) > 0.1


def test_sdpa_and_eager_attention_are_the_same_model() -> None:
    sdpa, eager = logits(random_backbone("tiny", attention="sdpa")), logits(random_backbone("tiny", attention="eager"))
    assert torch.allclose(sdpa, eager, atol=1e-4)
