"""Pages attended to in one call give what they give one by one, gradients included."""

import pytest
import torch

from eval.training.model import Eye, network
from eval.training.packed import install


@pytest.mark.parametrize("grids", [[(4, 4), (2, 6), (6, 8)], [(4, 4), (4, 4)]], ids=["padded", "alike"])
def test_one_call_for_all_pages_changes_nothing(tiny, grids):
    torch.manual_seed(0)
    patches = torch.randn(sum(rows * columns for rows, columns in grids), 64)
    one_by_one, at_once = network(tiny, 0), network(tiny, 0)
    install(at_once.model.visual)
    found = []
    for net in (one_by_one, at_once):
        features, tokens = Eye(net).look(patches, grids)
        tokens.square().sum().backward()
        found.append((features, tokens, net.model.visual.blocks[0].attn.qkv.weight.grad))
    for a, b in zip(*found, strict=True):
        assert torch.allclose(a, b, atol=1e-5)
