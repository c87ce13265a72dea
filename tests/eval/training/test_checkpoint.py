"""A checkpoint brings back modules and optimisers exactly, and says plainly when it cannot."""

from dataclasses import replace

import pytest
import torch

from eval.training.checkpoint import CheckpointError, Header, load, read_header, save
from eval.training.muon import Muon


def trained(size, seed):
    torch.manual_seed(seed)
    module = torch.nn.Linear(4, 3)
    optimisers = [torch.optim.AdamW([module.bias], lr=0.1), Muon([module.weight], lr=0.1)]
    for _ in range(2):
        module(torch.randn(5, 4)).square().sum().backward()
        for optimiser in optimisers:
            optimiser.step()
    return module, optimisers, Header("see", 2, 1.5, seed, size)


def test_modules_and_optimisers_go_on_as_if_nothing_had_happened(tiny, tmp_path):
    module, optimisers, header = trained(tiny, 1)
    save(tmp_path / "a.safetensors", header, {"net": module}, optimisers)
    other, others, _ = trained(tiny, 2)
    assert load(tmp_path / "a.safetensors", {"net": other}, others) == header
    for net, steppers in ((module, optimisers), (other, others)):
        for stepper in steppers:
            stepper.zero_grad()
        net(torch.ones(1, 4)).square().sum().backward()
        for stepper in steppers:
            stepper.step()
    assert torch.equal(module.weight, other.weight)
    assert torch.equal(module.bias, other.bias)


def test_only_the_whole_file_is_left(tiny, tmp_path):
    module, optimisers, header = trained(tiny, 1)
    save(tmp_path / "a.safetensors", header, {"net": module}, optimisers)
    save(tmp_path / "a.safetensors", replace(header, step=3), {"net": module}, optimisers)
    assert [path.name for path in tmp_path.iterdir()] == ["a.safetensors"]
    assert read_header(tmp_path / "a.safetensors").step == 3


def test_a_missing_or_damaged_file_is_named(tmp_path):
    with pytest.raises(CheckpointError, match=r"see\.safetensors is not there"):
        read_header(tmp_path / "see.safetensors")
    (tmp_path / "see.safetensors").write_bytes(b"\x00" * 40)
    with pytest.raises(CheckpointError, match="is no checkpoint"):
        read_header(tmp_path / "see.safetensors")


def test_another_networks_tensors_are_refused(tiny, tmp_path):
    module, optimisers, header = trained(tiny, 1)
    save(tmp_path / "a.safetensors", header, {"net": module}, optimisers)
    with pytest.raises(CheckpointError, match="net does not fit"):
        load(tmp_path / "a.safetensors", {"net": torch.nn.Linear(5, 3)})
