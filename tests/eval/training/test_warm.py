"""A reader that was exported is taken up again as it was; a directory that is none is refused by name."""

from dataclasses import replace

import pytest
import torch

from eval.training.checkpoint import CheckpointError, Header, save
from eval.training.export import export
from eval.training.model import Eye, network
from eval.training.warm import size_of, warm


@pytest.fixture
def directory(tiny, press, tmp_path):
    net = network(tiny, 3)
    save(tmp_path / "answer.safetensors", Header("answer", 1, 0.0, 3, tiny), {"net": net}, ())
    export(tmp_path / "answer.safetensors", press.vocabulary, tmp_path / "model")
    return net, tmp_path / "model"


def test_what_was_exported_comes_back(directory, tiny, press):
    net, path = directory
    again, size, vocabulary = warm(path)
    assert size == tiny == size_of(path)
    for key, value in again.state_dict().items():
        assert torch.allclose(value, net.state_dict()[key], atol=1e-6), key
    text = "The price of Brobo tower is $23,890."
    assert vocabulary.encode(text) == press.vocabulary.encode(text)
    assert vocabulary.prefix == press.vocabulary.prefix


def test_version_1_of_the_embedded_reader_was_smaller_and_can_be_grown_to_its_size(shared):
    from eval.training.model import SIZES

    size = size_of(shared / "reader")
    assert size == replace(SIZES["reader"], layers=4, kv_heads=4, inner=512, rotary=0)
    assert warm(shared / "reader", SIZES["reader"])[1] == SIZES["reader"]


def test_a_directory_without_a_configuration_is_refused_by_name(tmp_path):
    with pytest.raises(CheckpointError, match=r"config\.json is no GLM-4V configuration"):
        warm(tmp_path)


def test_what_is_added_changes_nothing_at_first_and_learns(directory, tiny):
    net, path = directory
    larger, size, _ = warm(path, replace(tiny, layers=3, eye_layers=2, kv_heads=4, inner=192))
    assert (size.layers, size.eye_layers, size.kv_heads, size.inner) == (3, 2, 4, 192)
    ids = torch.tensor([[20, 30, 40]])
    logits = larger.train()(input_ids=ids).logits
    assert torch.allclose(net.eval()(input_ids=ids).logits, logits, atol=1e-5)
    patches = torch.randn(16, 64)
    seen = [Eye(one).look(patches, [(4, 4)])[1] for one in (net, larger)]
    assert torch.allclose(*seen, atol=1e-5)
    (logits.logsumexp(-1).sum() + seen[1].square().sum()).backward()
    parameters = dict(larger.named_parameters())
    # Nothing is gained by a part that no gradient reaches.
    added = parameters["model.language_model.layers.0.mlp.down_proj.weight"].grad[:, 128:]
    silent = parameters["model.language_model.layers.2.post_mlp_layernorm.weight"].grad
    assert added.abs().max() > 0
    assert silent.abs().max() > 0


def test_half_of_a_heads_numbers_can_be_kept_from_turning_and_the_rest_turn_as_they_did(directory, tiny, tmp_path, press):
    net, path = directory
    still, size, _ = warm(path, replace(tiny, rotary=8))
    assert size.turned * 2 == tiny.turned == 16
    before, after = (one.eval().model.language_model for one in (net, still))
    assert torch.equal(after.rotary_emb.inv_freq, before.rotary_emb.inv_freq[::2])
    ids, near = torch.arange(20, 30)[None], torch.zeros(3, 1, 10, dtype=torch.long)
    with torch.no_grad():
        # All at one place nothing is turned against anything; far apart it is.
        alike = [one(input_ids=ids, position_ids=near).last_hidden_state for one in (before, after)]
        apart = [one(input_ids=ids).last_hidden_state for one in (before, after)]
    assert torch.allclose(*alike, atol=1e-5)
    assert not torch.allclose(*apart, atol=1e-3)
    save(tmp_path / "still.safetensors", Header("answer", 1, 0.0, 3, size), {"net": still}, ())
    export(tmp_path / "still.safetensors", press.vocabulary, tmp_path / "exported")
    assert size_of(tmp_path / "exported") == size


def test_another_share_of_turned_numbers_is_refused(directory, tiny):
    with pytest.raises(CheckpointError, match=r"of 16 rotated numbers a head no 4 can be made; only a half of them \(8\)"):
        warm(directory[1], replace(tiny, rotary=4))


def test_another_width_is_refused_by_both_sizes(directory, tiny):
    with pytest.raises(CheckpointError, match=r"of Size\(hidden=64.* no Size\(hidden=128"):
        warm(directory[1], replace(tiny, hidden=128))
