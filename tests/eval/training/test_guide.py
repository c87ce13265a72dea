"""Guided attention measures one head's mass without changing what the model says, and its loss pulls that head."""

from dataclasses import replace

import pytest
import torch

from eval.training import guide
from eval.training.model import network


def test_the_forward_is_the_same_with_and_without_a_guide(tiny):
    net = network(tiny, 0).eval()
    ids = torch.arange(20, 30)[None]
    with torch.no_grad():
        before = net.model.language_model(input_ids=ids).last_hidden_state
        guide.install(net.model.language_model)
        after = net.model.language_model(input_ids=ids).last_hidden_state
    assert torch.allclose(before, after, atol=1e-6)


def test_the_mass_is_the_heads_own_attention(tiny):
    net = network(tiny, 0)
    tower = net.model.language_model
    guide.install(tower)
    tower.config._attn_implementation = "eager"
    ids = torch.arange(20, 30)[None]
    with torch.no_grad():
        weights = tower.eval()(input_ids=ids, output_attentions=True).attentions[-1]
    tower.config._attn_implementation = guide.NAME
    listener = tower.layers[-1].self_attn.guide
    target = torch.zeros(1, 10, dtype=torch.bool)
    target[0, [2, 5]] = True
    listener.aim(torch.tensor([0]), torch.tensor([7]), target)
    tower.train()(input_ids=ids, use_cache=False)
    assert abs(listener.mass[-1] - float(weights[0, 0, 7, [2, 5]].sum())) < 1e-5


def test_a_few_steps_on_its_loss_draw_the_head_to_the_target(tiny):
    tower = network(tiny, 0).model.language_model.train()
    listener = guide.install(tower, last=1)
    target = torch.zeros(1, 10, dtype=torch.bool)
    target[0, 3] = True
    optimiser = torch.optim.AdamW(tower.parameters(), lr=1e-2)
    masses = []
    for _ in range(15):
        listener.aim(torch.tensor([0]), torch.tensor([8]), target)
        tower(input_ids=torch.arange(20, 30)[None], use_cache=False)
        optimiser.zero_grad()
        listener.loss().backward()
        optimiser.step()
        masses.append(listener.mass[0])
    assert masses[-1] > 2 * masses[0]


def test_a_batch_without_aims_has_no_loss(tiny):
    tower = network(tiny, 0).model.language_model.train()
    listener = guide.install(tower)
    listener.aim(torch.zeros(0, dtype=torch.long), torch.zeros(0, dtype=torch.long), torch.zeros(0, 4, dtype=torch.bool))
    tower(input_ids=torch.arange(20, 24)[None], use_cache=False)
    assert float(listener.loss()) == 0.0


def test_each_places_head_is_drawn_to_its_own_place_and_looks_away_from_the_others(tiny):
    own = replace(tiny, kv_heads=tiny.heads)
    tower = network(own, 0).model.language_model.train()
    listener = guide.install(tower, places=2)
    # Of two pieces in the token at row 3, one stands in the upper half to the left, one in the lower half to the right.
    sample, rows = torch.tensor([0, 0]), torch.tensor([7, 8])
    target = torch.zeros(2, 10, dtype=torch.bool)
    target[:, 3] = True
    spots = guide.Spots(torch.tensor([0, 1]), torch.tensor([3, 3]), torch.tensor([0, 1]), torch.tensor([0.1, 0.9]))
    optimiser = torch.optim.AdamW(tower.parameters(), lr=1e-2)
    losses, placed = [], []
    for _ in range(25):
        listener.aim(sample, rows, target, spots)
        tower(input_ids=torch.arange(20, 30)[None], use_cache=False)
        optimiser.zero_grad()
        listener.placing().backward()
        optimiser.step()
        losses.append(float(listener.placing().detach()))
        placed.append(sum(listener.put) / 2)
    assert losses[-1] < losses[0] / 3
    assert placed[-1] > 0.7
    tower.config._attn_implementation = "eager"
    with torch.no_grad():
        upper, lower = tower.eval()(input_ids=torch.arange(20, 30)[None], output_attentions=True).attentions[-2:]
    assert upper[0, 1, 7, 3] > 0.5  # the left place's head of the upper half, at the first piece
    assert lower[0, 2, 8, 3] > 0.5
    assert max(upper[0, 2, 7, 3], upper[0, 1, 8, 3], lower[0, 2, 7, 3], lower[0, 1, 8, 3]) < 0.3


def test_what_stands_on_a_border_is_brought_from_either_side():
    q, k = (
        torch.randn(3, 6, 8, generator=torch.Generator().manual_seed(0)),
        torch.randn(3, 6, 8, generator=torch.Generator().manual_seed(1)),
    )
    listener = guide.Guide(places=2, batch=torch.tensor([0]), row=torch.tensor([5]))

    def placing(*spots):
        listener.spots = guide.Spots(*(torch.tensor(part) for part in zip(*spots, strict=True)))
        on, off = guide._placing(q, k, listener, 0, 0, 1.0)
        return on.exp(), off

    left, right = (0, 2, 0, 1.05), (0, 3, 0, -0.05)
    assert float(placing(left, right)[0]) == pytest.approx(float(placing(left)[0] + placing(right)[0]))
    assert [len(placing(*spots)[1]) for spots in ((left,), (left, right))] == [1, 0]
    # In the lower half nobody of the upper half's layer is to look at it.
    assert [len(part) for part in placing((0, 2, 1, 1.05), (0, 3, 1, -0.05))] == [0, 2]


def test_targets_in_a_text_leave_the_places_heads_alone(tiny):
    tower = network(tiny, 0).model.language_model.train()
    listener = guide.install(tower, places=2)
    target = torch.zeros(1, 10, dtype=torch.bool)
    target[0, 3] = True
    none = torch.zeros(0, dtype=torch.long)
    spots = guide.Spots(none, none, none, torch.zeros(0))
    listener.aim(torch.tensor([0]), torch.tensor([8]), target, spots)
    tower(input_ids=torch.arange(20, 30)[None], use_cache=False)
    assert float(listener.placing()) == 0.0
    assert float(listener.loss().detach()) > 0
