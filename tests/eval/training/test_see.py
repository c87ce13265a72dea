"""The eye's stage draws lines the page can hold, moves the eye alone, and learns."""

import math
from random import Random

import pytest
import torch

from eval.records import WIDTH
from eval.training.loop import Allowance, train
from eval.training.model import network
from eval.training.see import CharacterHead, PieceHead, See, SeeOptions, random_line, share


def test_lines_fit_the_width_and_are_printable():
    rng = Random(0)
    lines = [random_line(rng) for _ in range(300)]
    assert max(map(len, lines)) <= WIDTH
    assert all(32 <= ord(character) < 127 for line in lines for character in line)
    assert any(line.startswith("  ") for line in lines)


def test_the_loss_falls_and_the_tower_stays(press, tiny, tmp_path):
    stage = See(network(tiny, 0), tiny, press, SeeOptions(batch=3, rate=0.05, muon_rate=0.3))
    head = stage.modules["net"].lm_head.weight.clone()
    embeddings = stage.embeddings.clone()
    pages = stage.drawing(Random("the same pages"), 0.0)
    first, _ = stage.learn(pages, Random(0))
    train(stage, tmp_path / "see.safetensors", Allowance(steps=15), seed=0, report=lambda line: None)
    last, _ = stage.learn(pages, Random(0))
    assert last < 0.8 * first
    assert torch.equal(head, stage.modules["net"].lm_head.weight)
    assert torch.equal(embeddings, stage.embeddings)


def test_accuracy_counts_only_slots_that_hold_something():
    head = CharacterHead(2)
    with torch.no_grad():
        head.weight.zero_()
        head.bias.zero_()
        head.bias.view(3, -1)[0, 5] = 1.0
    labels = torch.tensor([[5, 0, 0], [6, 0, 0]])
    _, right = head.loss(torch.zeros(2, 2), labels)
    assert share(right, labels) == 0.5
    assert math.isnan(share(right[:0], labels[:0]))


def test_every_piece_is_asked_and_some_empty_slots_only():
    torch.manual_seed(0)
    head = PieceHead(8, 300)
    labels = torch.zeros(400, 6, dtype=torch.long)
    labels[:, 2] = 7
    with torch.no_grad():
        head.bias[:, 0] = 100.0
        head.bias[2, 7] = 200.0
    _, right = head.loss(torch.randn(400, 8), torch.randn(300, 8), labels)
    assert right[:, 2].all()
    asked = right[:, [0, 1, 3, 4, 5]].float().mean()
    assert 0.1 < asked < 0.3


def test_a_still_eye_stays_while_its_heads_learn(press, tiny, tmp_path):
    stage = See(network(tiny, 0), tiny, press, SeeOptions(batch=2, still=True, rate=0.05, muon_rate=0.3))
    before = {key: value.clone() for key, value in stage.modules["net"].state_dict().items()}
    heads = stage.modules["pieces"].slots.weight.clone()
    train(stage, tmp_path / "see.safetensors", Allowance(steps=2), seed=0, report=lambda line: None)
    assert all(torch.equal(value, before[key]) for key, value in stage.modules["net"].state_dict().items())
    assert not torch.equal(heads, stage.modules["pieces"].slots.weight)


def test_what_is_right_is_said_for_each_dpi(press, tiny):
    stage = See(network(tiny, 0), tiny, press, SeeOptions(batch=8))
    _, figures = stage.learn(stage.drawing(Random(1), 0.0), Random(1))
    assert {f"{what} {dpi}" for what in ("characters", "pieces") for dpi in (72, 120)} <= figures.keys()


def test_half_precision_keeps_the_loss_near(press, tiny):
    torch.manual_seed(0)
    stage = See(network(tiny, 0), tiny, press, SeeOptions(batch=2))
    pages = stage.drawing(Random(0), 0.0)
    losses = []
    for enabled in (False, True):
        torch.manual_seed(1)
        with torch.autocast("cpu", torch.bfloat16, enabled=enabled):
            losses.append(float(stage.learn(pages, Random(0))[0].detach()))
    assert losses[0] == pytest.approx(losses[1], rel=0.05)
