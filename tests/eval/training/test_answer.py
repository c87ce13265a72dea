"""The answer stage trains tower and merger over a frozen eye, from pages and texts alike."""

import math
from pathlib import Path
from random import Random

import pytest
import torch
from safetensors.torch import load_file

from eval.training.answer import Answer, AnswerOptions
from eval.training.lessons import Course
from eval.training.loop import Allowance, train
from eval.training.model import SIZES, network
from eval.training.pages import Press
from eval.training.tokenizer import Vocabulary

SHORT = Course(text=0.0, pages=2, shortest=3, longest=4, questions=2, finds=1, gap=50)


def test_the_loss_falls_and_the_frozen_half_of_the_eye_stays(press, tiny, tmp_path):
    stage = Answer(network(tiny, 0), tiny, press, AnswerOptions(batch=2, rate=0.05, muon_rate=0.3, course=SHORT))
    blocks = [p.clone() for p in stage.eye.tower.blocks.parameters()]
    merger = [p.clone() for p in stage.eye.second_half()]
    losses = []
    step = stage.step

    def keep(rng):
        # The same lessons again and again: fifteen steps are too few to learn from ever new ones.
        loss, figures = step(Random("the same lessons"))
        losses.append(float(loss.detach()))
        return loss, figures

    stage.step = keep
    train(stage, tmp_path / "answer.safetensors", Allowance(steps=15), seed=0, report=lambda line: None)
    assert losses[-1] < 0.8 * losses[0]
    assert all(torch.equal(a, b) for a, b in zip(blocks, stage.eye.tower.blocks.parameters(), strict=True))
    assert not all(torch.equal(a, b) for a, b in zip(merger, stage.eye.second_half(), strict=True))


@pytest.mark.parametrize(("text", "given", "absent"), [(1.0, "text", "image"), (0.0, "image", "text")])
def test_a_step_of_one_kind_alone_reports_that_kind(press, tiny, text, given, absent):
    course = Course(shortest=3, longest=3, questions=1, finds=1, text=text)
    stage = Answer(network(tiny, 0), tiny, press, AnswerOptions(batch=2, course=course))
    loss, figures = stage.step(Random(0))
    loss.backward()
    assert math.isfinite(float(loss.detach()))
    assert not math.isnan(figures[given])
    assert math.isnan(figures[absent])


def test_a_page_is_looked_at_once_however_many_steps_it_serves(press, tiny):
    stage = Answer(network(tiny, 0), tiny, press, AnswerOptions(batch=3, reuse=3, course=Course(shortest=3, longest=3, text=0.0)))
    for step in range(4):
        stage.step(Random(step))
    assert len(stage.pool) == 4
    assert all(len(lesson.features) == len(lesson.flat()) == 1 for lesson in stage.pool)


def test_a_limit_of_rows_makes_the_batch_smaller(press, tiny):
    options = AnswerOptions(batch=6, reuse=1, rows=700, course=Course(shortest=6, longest=6, text=0.0, questions=2, finds=1))
    stage = Answer(network(tiny, 0), tiny, press, options)
    lessons = stage._choose(Random(0))
    assert len(lessons) < 6
    assert len(lessons) * lessons[-1].span(options.course) <= 700 or len(lessons) == 1


def test_the_embedded_reader_knows_these_lessons_and_looks_where_they_point():
    folder = Path(__file__).resolve().parents[3] / "cache_compiler" / "reader"
    weights = load_file(folder / "model.safetensors")
    kernel = "model.visual.patch_embed.proj.weight"
    # Export's spread of the grey kernel, undone.
    weights[kernel] = weights[kernel][:, :1, :1] * 6
    net = network(SIZES["reader"], 0)
    net.load_state_dict(weights)
    press = Press(Vocabulary.load(folder / "tokenizer.json"))
    stage = Answer(net, SIZES["reader"], press, AnswerOptions(batch=4, reuse=1, course=Course(text=0.5)))
    with torch.no_grad():
        _, figures = stage.step(Random(0))
    # A row among hundreds would hold less than a hundredth of the mass by chance, and a piece among a thousand be right as seldom.
    assert figures["text"] > 0.9
    assert figures["image"] > 0.5
    assert figures["mass"] > 0.5
