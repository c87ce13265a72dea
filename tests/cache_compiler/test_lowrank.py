"""Truncation by either path, its error against torch's own SVD, and what a rank means."""

import pytest
import torch

from cache_compiler.lowrank import effective_rank, gram, leading, spectrum, truncate


def falling(layers: int, n: int, width: int, seed: int = 0) -> torch.Tensor:
    """Random matrices whose singular values fall as 1/i."""
    generator = torch.Generator().manual_seed(seed)
    u, _, v = torch.linalg.svd(torch.randn(layers, n, width, generator=generator, dtype=torch.float64), full_matrices=False)
    s = 1.0 / torch.arange(1, min(n, width) + 1)
    return (u * s) @ v


def least(matrices: torch.Tensor, m: int) -> torch.Tensor:
    """The least error any rank-m approximation has (Eckart and Young)."""
    return torch.linalg.svdvals(matrices)[:, m:].square().sum(-1).sqrt()


def error(matrices: torch.Tensor, left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
    return (left.double() @ right.double() - matrices).flatten(1).norm(dim=1)


@pytest.mark.parametrize("shape", [(60, 24), (24, 60), (32, 32)])
@pytest.mark.parametrize("m", [1, 8, 20])
def test_the_gram_path_reaches_the_least_possible_error(shape, m):
    matrices = falling(3, *shape)
    left, right = truncate(matrices, m)
    assert left.shape == (3, shape[0], m)
    assert right.shape == (3, m, shape[1])
    torch.testing.assert_close(error(matrices, left, right), least(matrices, m), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("shape", [(60, 24), (24, 60)])
def test_full_rank_gives_the_matrix_back_and_rank_zero_nothing(shape):
    matrices = falling(2, *shape)
    left, right = truncate(matrices, 999)
    assert left.shape[2] == 24
    torch.testing.assert_close(left @ right, matrices, rtol=0, atol=1e-9)
    left, right = truncate(matrices, 0)
    assert float((left @ right).abs().sum()) == 0.0


def test_the_randomised_path_comes_close_and_is_the_same_twice():
    matrices = falling(2, 300, 128).float()
    state = torch.random.get_rng_state()
    first, second = (truncate(matrices, 16, "randomised", seed=5) for _ in range(2))
    assert torch.equal(torch.random.get_rng_state(), state)  # nobody else's numbers were drawn
    assert torch.equal(first[0], second[0])
    assert torch.equal(first[1], second[1])
    assert not torch.equal(first[0], truncate(matrices, 16, "randomised", seed=6)[0])
    assert float((error(matrices.double(), *first) / least(matrices.double(), 16)).max()) < 1.02


def test_a_basis_of_added_grams_is_the_basis_of_the_stacked_rows():
    one, two = falling(2, 40, 16, seed=1), falling(2, 25, 16, seed=2)
    pooled = leading(gram(one) + gram(two), 5)
    stacked = leading(gram(torch.cat([one, two], dim=1)), 5)
    torch.testing.assert_close(pooled.mT @ pooled, stacked.mT @ stacked)
    torch.testing.assert_close(pooled @ pooled.mT, torch.eye(5, dtype=torch.float64).expand(2, 5, 5))


def test_the_effective_rank_counts_the_components_that_hold_ninety_per_cent_of_the_energy():
    diagonal = torch.diag_embed(torch.tensor([[3.0, 1.0, 0.0, 0.0], [1.0, 1.0, 1.0, 1.0], [0.0, 0.0, 0.0, 0.0]]))
    assert effective_rank(diagonal) == [1, 4, 0]
    assert effective_rank(diagonal, 0.5) == [1, 2, 0]
    torch.testing.assert_close(spectrum(diagonal)[0], torch.tensor([3.0, 1.0, 0.0, 0.0], dtype=torch.float64))
    assert effective_rank(torch.empty(0, 3, 4)) == []


def test_factors_come_in_the_type_of_the_matrix():
    left, right = truncate(falling(1, 12, 8).to(torch.bfloat16), 4)
    assert left.dtype == right.dtype == torch.bfloat16
