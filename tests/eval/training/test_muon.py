"""Muon's step is orthogonal whatever the gradient's scale, and it descends."""

import pytest
import torch

from eval.training.muon import Muon, _makers, orthogonal


@pytest.mark.parametrize("shape", [(8, 8), (16, 4), (4, 16)])
def test_all_singular_values_come_near_one(shape):
    torch.manual_seed(0)
    values = torch.linalg.svdvals(orthogonal(torch.randn(shape) * 1e-3))
    assert values.min() > 0.3
    assert values.max() < 1.3


def test_singular_vectors_stay():
    torch.manual_seed(0)
    matrix = torch.randn(6, 6)
    u, _, v = torch.linalg.svd(matrix)
    core = u.T @ orthogonal(matrix) @ v.T
    assert (core - torch.diag(core.diagonal())).abs().max() < 1e-4


def test_a_quadratic_is_descended():
    torch.manual_seed(0)
    goal, weight = torch.randn(6, 4), torch.nn.Parameter(torch.zeros(6, 4))
    muon = Muon([weight], lr=0.05, weight_decay=0.0)
    first = (weight - goal).square().sum()
    for _ in range(60):
        muon.zero_grad()
        loss = (weight - goal).square().sum()
        loss.backward()
        muon.step()
    assert loss < first / 10


def test_a_parameter_without_a_gradient_is_left_alone():
    weight = torch.nn.Parameter(torch.ones(2, 2))
    Muon([weight], lr=1.0).step()
    assert torch.equal(weight, torch.ones(2, 2))


class Pair:
    """Two members' team in one process: what the first has made is kept, and the second is given both."""

    def __init__(self, rank, made):
        self.rank, self.size, self.made = rank, 2, made

    def add(self, flat):
        self.made.append(flat.clone())
        flat.copy_(sum(self.made))


def test_two_members_make_the_step_that_one_would_make():
    torch.manual_seed(0)
    shapes = [(6, 4), (4, 4), (8, 2), (2, 2)]
    gradients = [torch.randn(shape) for shape in shapes]

    def stepped(team=None):
        weights = [torch.nn.Parameter(torch.zeros(shape)) for shape in shapes]
        for weight, gradient in zip(weights, gradients, strict=True):
            weight.grad = gradient.clone()
        muon = Muon(weights, lr=0.1)
        muon.team = team or muon.team
        muon.step()
        return weights

    made: list[torch.Tensor] = []
    stepped(Pair(0, made))
    together = stepped(Pair(1, made))
    assert all(torch.equal(one, two) for one, two in zip(stepped(), together, strict=True))
    assert all(part.count_nonzero() < part.numel() for part in made)


def test_members_have_about_as_much_to_do():
    makers = _makers([(8, 8), (8, 8), (4, 4), (4, 4), (4, 4), (4, 4)], 2)
    assert sorted(makers[:2]) == sorted(makers[2:4]) == [0, 1]
