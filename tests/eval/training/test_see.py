"""The eye's stage draws lines the page can hold, moves the eye alone, and learns."""

import math
from random import Random

import pytest
import torch

from eval.records import WIDTH
from eval.training.loop import Allowance, train
from eval.training.model import network
from eval.training.pages import MARGIN
from eval.training.see import Asked, CharacterHead, PieceHead, PlaceHead, See, SeeOptions, evenly, random_line, share


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
    train(stage, tmp_path / "see.safetensors", Allowance(steps=60), seed=0, report=lambda line: None)
    last, _ = stage.learn(pages, Random(0))
    assert last < 0.8 * first
    assert torch.equal(head, stage.modules["net"].lm_head.weight)
    assert torch.equal(embeddings, stage.embeddings)


def asked(*rows):
    where, half, across, label = zip(*rows, strict=True)
    return Asked(torch.tensor(where), torch.tensor(half), torch.tensor(across), torch.tensor(label))


def test_a_head_answers_for_the_place_that_is_asked():
    head = PlaceHead(2, 2, 3, 1)
    with torch.no_grad():
        head.maps.weight.zero_()
        head.maps.bias.copy_(torch.arange(6.0))
    edge, middle = -MARGIN, 0.5
    found = head(torch.zeros(5, 2), asked((0, 0, edge, 0), (4, 0, middle, 0), (1, 1, 1 - edge, 0), (1, 1, (middle + edge) / 2, 0)))
    assert found[:, 0].tolist() == pytest.approx([0, 1, 5, 3.5])


def test_two_characters_of_one_patch_are_told_apart():
    torch.manual_seed(0)
    head = CharacterHead(4)
    features, marks = torch.randn(1, 4), asked((0, 0, 0.2, 5), (0, 0, 0.8, 6))
    adam = torch.optim.Adam(head.parameters(), lr=0.1)
    for _ in range(30):
        loss, right = head.loss(features, marks)
        adam.zero_grad()
        loss.backward()
        adam.step()
    assert share(right) == 1.0
    assert math.isnan(share(right[:0]))


def test_the_embeddings_get_no_gradient():
    head, embeddings = PieceHead(8, 300), torch.randn(300, 8, requires_grad=True)
    head.loss(torch.randn(3, 8), embeddings, asked((2, 1, 0.3, 9)))[0].backward()
    assert embeddings.grad is None
    assert head.places.maps.weight.grad.abs().sum() > 0


def test_each_dpi_is_drawn_as_often_as_any_other():
    drawn = evenly(Random(0), (72, 72, 120), 8)
    assert sorted(drawn)[:4] == [72] * 4
    assert drawn.count(120) in (2, 3)
    assert len(drawn) == 8


def test_a_still_eye_stays_while_its_heads_learn(press, tiny, tmp_path):
    stage = See(network(tiny, 0), tiny, press, SeeOptions(batch=2, still=True, rate=0.05, muon_rate=0.3))
    before = {key: value.clone() for key, value in stage.modules["net"].state_dict().items()}
    heads = stage.modules["pieces"].places.maps.weight.clone()
    train(stage, tmp_path / "see.safetensors", Allowance(steps=2), seed=0, report=lambda line: None)
    assert all(torch.equal(value, before[key]) for key, value in stage.modules["net"].state_dict().items())
    assert not torch.equal(heads, stage.modules["pieces"].places.maps.weight)


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


def test_the_eye_is_drawn_towards_another_readers_tokens(press, tiny, tmp_path):
    other = network(tiny, 7)
    before = {key: value.clone() for key, value in other.state_dict().items()}
    stage = See(network(tiny, 0), tiny, press, SeeOptions(batch=3, rate=0.01, muon_rate=0.1), like=other)
    pages = stage.drawing(Random("the same pages"), 0.0)
    first = stage.learn(pages, Random(0))[1]["unlike loss"]
    train(stage, tmp_path / "see.safetensors", Allowance(steps=20), seed=0, report=lambda line: None)
    assert stage.learn(pages, Random(0))[1]["unlike loss"] < 0.9 * first
    assert all(torch.equal(value, before[key]) for key, value in other.state_dict().items())
