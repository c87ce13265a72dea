"""Two processes hold the same weights at every step, and what they learn is the mean of what each drew."""

import multiprocessing
import os
from pathlib import Path

import pytest
import torch

from eval.training.team import Team


def _member(rank: int, folder: str) -> None:
    torch.manual_seed(rank)
    team = Team(rank, 2, f"{folder}/store")
    layer = torch.nn.Linear(2, 1)
    team.align({"layer": layer})
    # The second member's batch never touches the bias.
    loss = layer.weight.sum() * (rank + 1) + (layer.bias.sum() * 6 if rank == 0 else 0.0)
    loss.backward()
    team.mean(layer.parameters())
    stop, seconds = team.agree(rank == 1, 10.0 + rank)
    torch.save([layer.weight.detach(), layer.weight.grad, layer.bias.grad, stop, seconds], f"{folder}/{rank}")
    team.part()


@pytest.fixture(scope="module")
def members(tmp_path_factory):
    folder = tmp_path_factory.mktemp("team")
    # Spawned, not forked: torch's threads do not survive a fork.
    several = [multiprocessing.get_context("spawn").Process(target=_member, args=(rank, str(folder))) for rank in (0, 1)]
    for one in several:
        one.start()
    for one in several:
        one.join()
    return [torch.load(Path(folder) / str(rank), weights_only=True) for rank in (0, 1)]


def test_all_begin_with_the_first_members_weights(members):
    assert torch.equal(members[0][0], members[1][0])


def test_each_gradient_is_the_mean_of_all_and_none_counts_as_zero(members):
    for _, weight, bias, _, _ in members:
        assert torch.allclose(weight, torch.full((1, 2), 1.5))
        assert torch.allclose(bias, torch.tensor([3.0]))


def test_one_wish_to_stop_is_everybodys_and_the_clock_is_the_firsts(members):
    for *_, stop, seconds in members:
        assert stop
        assert seconds == 10.0


def test_alone_nothing_is_started_and_nothing_changes():
    team = Team.gather(1, "see", ["see"])
    assert team.leads
    assert team.agree(False, 3.0) == (False, 3.0)
    assert "QUIRE_TRAINING_RANK" not in os.environ
    team.part()
