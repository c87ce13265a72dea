"""The eye's stage draws lines the page can hold, moves the eye alone, and learns."""

from random import Random

import torch

from eval.records import WIDTH
from eval.training.loop import Allowance, train
from eval.training.model import network
from eval.training.see import CharacterHead, See, SeeOptions, random_line


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
    first, _ = stage.step(Random("the same pages"))
    train(stage, tmp_path / "see.safetensors", Allowance(steps=15), seed=0, report=lambda line: None)
    last, _ = stage.step(Random("the same pages"))
    assert last < 0.8 * first
    assert torch.equal(head, stage.modules["net"].lm_head.weight)
    assert torch.equal(embeddings, stage.embeddings)


def test_accuracy_counts_only_slots_that_hold_something():
    head = CharacterHead(2)
    with torch.no_grad():
        head.weight.zero_()
        head.bias.zero_()
        head.bias.view(3, -1)[0, 5] = 1.0
    _, right = head.loss(torch.zeros(2, 2), torch.tensor([[5, 0, 0], [6, 0, 0]]))
    assert right == 0.5
