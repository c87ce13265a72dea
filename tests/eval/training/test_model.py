"""The network has the embedded reader's shape, and its eye's two halves make the whole tower."""

import json

import torch

from cache_compiler.load import READER
from eval.training.model import SIZES, Eye, configuration, network, positions


def test_the_default_size_is_the_embedded_readers():
    card = json.loads((READER / "config.json").read_text(encoding="utf-8"))
    ours = json.loads(configuration(SIZES["reader"], colour=True).to_json_string())
    for part in ("text_config", "vision_config"):
        known = {key: value for key, value in card[part].items() if key in ours[part]}
        assert {key: ours[part][key] for key in known} == known
    assert ours["image_token_id"] == card["image_token_id"]


def test_the_same_seed_gives_the_same_network(tiny):
    one, two, other = (network(tiny, seed).lm_head.weight for seed in (1, 1, 2))
    assert torch.equal(one, two)
    assert not torch.equal(one, other)


def test_looking_and_merging_is_the_whole_tower(tiny):
    net = network(tiny, 0).eval()
    eye = Eye(net)
    patches = torch.rand(4 * 6 + 2 * 8, 64) * 2 - 1
    with torch.no_grad():
        features, tokens = eye.look(patches, [(4, 6), (2, 8)])
        assert torch.equal(eye.merge(features), tokens)
    assert features.shape == (40, tiny.eye)
    assert tokens.shape == (10, tiny.hidden)


def test_an_image_moves_the_next_position_by_its_longer_side():
    found = positions([2, 1, (2, 3), 1, 2])
    assert found[0].tolist() == [0, 1, 2, *[3] * 6, 6, 7, 8]
    assert found[1].tolist() == [0, 1, 2, 3, 3, 3, 4, 4, 4, 6, 7, 8]
    assert found[2].tolist() == [0, 1, 2, 3, 4, 5, 3, 4, 5, 6, 7, 8]


def test_positions_are_the_models_own(tiny):
    net = network(tiny, 0)
    ids = torch.tensor([[2, 3, 4, 20, 6, *[7] * 6, 8, 30, 31]])
    theirs, _ = net.model.get_rope_index(ids, (ids == 7).int(), image_grid_thw=torch.tensor([[1, 4, 6]]))
    assert torch.equal(positions([4, 1, (2, 3), 1, 2]), theirs[:, 0])
