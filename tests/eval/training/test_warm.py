"""A reader that was exported is taken up again as it was; a directory that is none is refused by name."""

import pytest
import torch

from eval.training.checkpoint import CheckpointError, Header, save
from eval.training.export import export
from eval.training.model import network
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


def test_the_packaged_reader_is_of_the_default_size(shared):
    from eval.training.model import SIZES

    assert size_of(shared / "reader") == SIZES["reader"]


def test_a_directory_without_a_configuration_is_refused_by_name(tmp_path):
    with pytest.raises(CheckpointError, match=r"config\.json is no GLM-4V configuration"):
        warm(tmp_path)
