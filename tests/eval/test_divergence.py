"""The measures: what they are of known distributions, and that an interval knows which items belong together."""

import math

import pytest
import torch

from cache_compiler.condition import Deficit
from cache_compiler.types import Canonical
from eval.divergence import bootstrap, break_even, eta, eta_median, flip_recover, kl, mean, ranks90, relative_norm


def test_kl_is_that_of_the_two_distributions_and_has_a_direction() -> None:
    p, q = torch.tensor([[0.5, 0.5]]).log(), torch.tensor([[0.9, 0.1]]).log()
    assert kl(p, q)[0] == pytest.approx(0.5 * math.log(0.5 / 0.9) + 0.5 * math.log(0.5 / 0.1))
    assert kl(q, p)[0] != pytest.approx(kl(p, q)[0])


def test_kl_of_a_distribution_to_itself_is_nothing_whatever_its_logits_are_shifted_by() -> None:
    logits = torch.randn(3, 50, generator=torch.Generator().manual_seed(1))
    assert max(kl(logits, logits + 7)) < 1e-9
    assert min(kl(logits, logits + 7)) >= 0


def test_eta_is_a_ratio_of_means_and_negative_where_an_arm_does_harm() -> None:
    assert eta([0.0, 0.0], [1.0, 3.0]) == 1
    assert eta([1.0, 0.0], [1.0, 3.0]) == 0.75
    assert eta([8.0, 0.0], [1.0, 3.0]) == -1
    assert eta([0.1], [0.0]) is None


def test_the_median_of_eta_leaves_out_items_that_lose_too_little() -> None:
    assert eta_median([0.5, 0.1, 1e-6], [1.0, 1.0, 1e-9]) == (pytest.approx(0.7), 2)
    assert eta_median([0.5], [1e-9]) == (None, 0)


def test_a_flip_counts_as_recovered_only_where_there_was_one() -> None:
    assert flip_recover([True, False, False, True], [False, True, False, True]) == (1, 2)


def test_an_interval_holds_the_mean_and_is_the_same_on_every_run() -> None:
    values = [float(i % 7) for i in range(40)]
    groups = [[i] for i in range(40)]
    low, high = bootstrap(groups, lambda pick: mean([values[i] for i in pick])) or (9.0, 9.0)
    assert low < mean(values) < high
    assert bootstrap(groups, lambda pick: mean([values[i] for i in pick])) == (low, high)


def test_an_interval_over_contexts_is_wider_than_one_that_takes_their_equal_questions_for_independent() -> None:
    values = [float(i // 10) for i in range(40)]
    alone = bootstrap([[i] for i in range(40)], lambda pick: mean([values[i] for i in pick]))
    together = bootstrap([list(range(i, i + 10)) for i in range(0, 40, 10)], lambda pick: mean([values[i] for i in pick]))
    assert alone is not None
    assert together is not None
    assert together[1] - together[0] > 1.5 * (alone[1] - alone[0])


def test_one_context_has_no_interval() -> None:
    assert bootstrap([[0, 1, 2]], lambda pick: 1.0) is None


def test_norm_and_rank_are_taken_layer_by_layer() -> None:
    shape = (2, 2, 6, 4)
    generator = torch.Generator().manual_seed(1)
    rank_one = torch.outer(torch.randn(6, generator=generator), torch.randn(8, generator=generator)).view(6, 2, 4).transpose(0, 1)
    rotary = torch.stack([torch.zeros(2, 6, 4), rank_one])
    delta = Deficit("page", rotary, torch.randn(shape, generator=generator))
    whole = Canonical("page", 2 * rotary + torch.tensor([1.0, 0.0])[:, None, None, None], delta.plain * 4, 2, 2)
    assert relative_norm(delta, whole)["keys"] == [0, pytest.approx(0.5)]
    assert relative_norm(delta, whole)["values"] == pytest.approx([0.25, 0.25])
    assert ranks90(delta)["keys"] == [0, 1]
    assert min(ranks90(delta)["values"]) > 1


def test_a_patch_that_saves_nothing_is_never_repaid() -> None:
    assert break_even(9.0, 1.5, 0.5) == 9
    assert break_even(9.0, 0.5, 0.5) is None
