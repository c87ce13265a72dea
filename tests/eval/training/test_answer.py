"""The answer stage trains tower and merger over a frozen eye, from pages and texts alike."""

import math
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
import torch

from eval.training.answer import Answer, AnswerOptions
from eval.training.curriculum import Curriculum
from eval.training.exam import PAPERS
from eval.training.lessons import Course, draw_lesson
from eval.training.loop import Allowance, Habits, train
from eval.training.model import network
from eval.training.pages import Press
from eval.training.warm import warm

SHORT = Course(text=0.0, pages=(1, 2), shortest=3, longest=4, questions=2, finds=1, gap=50)


def step(stage, rng):
    return stage.learn(stage.drawing(rng, 0.0), rng)


def test_the_loss_falls_and_the_frozen_half_of_the_eye_stays(press, tiny, tmp_path):
    stage = Answer(network(tiny, 0), tiny, press, AnswerOptions(batch=2, rate=0.05, muon_rate=0.3, curriculum=Curriculum.of(SHORT)))
    blocks = [p.clone() for p in stage.eye.tower.blocks.parameters()]
    merger = [p.clone() for p in stage.eye.second_half()]
    losses = []
    learn = stage.learn
    lessons = stage.drawing(Random("the same lessons"), 0.0)

    def keep(drawn, rng, shape=None):
        # The same lessons again and again: fifteen steps are too few to learn from ever new ones.
        stage.pool = []
        loss, figures = learn([replace(lesson, features=[]) for lesson in lessons], Random("and questions"))
        losses.append(float(loss.detach()))
        return loss, figures

    stage.learn = keep
    train(stage, tmp_path / "answer.safetensors", Allowance(steps=15), seed=0, report=lambda line: None)
    assert losses[-1] < 0.8 * losses[0]
    assert all(torch.equal(a, b) for a, b in zip(blocks, stage.eye.tower.blocks.parameters(), strict=True))
    assert not all(torch.equal(a, b) for a, b in zip(merger, stage.eye.second_half(), strict=True))


@pytest.mark.parametrize(("text", "given", "absent"), [(1.0, "text", "image"), (0.0, "image", "text")])
def test_a_step_of_one_kind_alone_reports_that_kind(press, tiny, text, given, absent):
    course = Course(shortest=3, longest=3, questions=1, finds=1, text=text)
    stage = Answer(network(tiny, 0), tiny, press, AnswerOptions(batch=2, curriculum=Curriculum.of(course)))
    loss, figures = step(stage, Random(0))
    loss.backward()
    assert math.isfinite(float(loss.detach()))
    assert not math.isnan(figures[given])
    assert math.isnan(figures[absent])


def test_a_page_is_looked_at_once_however_many_steps_it_serves(press, tiny):
    stage = Answer(
        network(tiny, 0), tiny, press, AnswerOptions(batch=3, reuse=3, curriculum=Curriculum.of(Course(shortest=3, longest=3, text=0.0)))
    )
    for number in range(4):
        step(stage, Random(number))
    assert len(stage.pool) == 4
    assert all(len(lesson.features) == len(lesson.flat()) == 1 for lesson in stage.pool)


def test_a_limit_of_rows_makes_the_batch_smaller(press, tiny):
    options = AnswerOptions(
        batch=6, reuse=1, rows=700, curriculum=Curriculum.of(Course(shortest=6, longest=6, text=0.0, questions=2, finds=1))
    )
    stage = Answer(network(tiny, 0), tiny, press, options)
    stage.take(stage.drawing(Random(0), 0.0))
    lessons = stage._choose(Random(0))
    assert len(lessons) < 6
    assert len(lessons) * lessons[-1].span() <= 700 or len(lessons) == 1


def test_the_embedded_reader_knows_these_lessons_and_looks_where_they_point():
    folder = Path(__file__).resolve().parents[3] / "cache_compiler" / "reader"
    net, size, vocabulary = warm(folder)
    figures = {}
    for given, text in (("text", 1.0), ("image", 0.0)):
        options = AnswerOptions(batch=2, reuse=1, placing=0.3, curriculum=Curriculum.of(Course(text=text)))
        stage = Answer(net, size, Press(vocabulary), options)
        with torch.no_grad():
            figures[given] = step(stage, Random(0))[1]
    # A row among hundreds would hold less than a hundredth of the mass by chance, and a piece among a thousand be right as seldom.
    assert figures["text"]["text"] > 0.9
    assert figures["image"]["image"] > 0.5
    assert figures["image"]["mass"] > 0.5
    # Only one place in twelve is a piece's own.
    assert figures["image"]["placed"] > 0.4


def test_a_run_that_was_killed_ends_bit_for_bit_where_the_unbroken_one_does(press, tiny, tmp_path):
    def stage():
        return Answer(network(tiny, 0), tiny, press, AnswerOptions(batch=2, reuse=2, curriculum=Curriculum.of(SHORT)))

    def run(stage, path):
        train(stage, path, Allowance(steps=4), seed=0, habits=Habits(save_every=2), report=lambda line: None)
        return stage.modules["net"].state_dict()

    torch.manual_seed(0)
    whole = run(stage(), tmp_path / "whole")
    torch.manual_seed(0)
    killed = stage()
    learn = killed.learn

    def until_the_fourth(drawn, rng, shape):
        if (state := killed.optimisers[0].state_dict()["state"]) and state[0]["step"] == 3:
            raise SystemExit("killed")
        return learn(drawn, rng, shape)

    killed.learn = until_the_fourth
    with pytest.raises(SystemExit):
        run(killed, tmp_path / "part")
    resumed = run(stage(), tmp_path / "part")
    assert all(torch.equal(value, resumed[key]) for key, value in whole.items())


def test_an_examination_marks_every_paper_and_leaves_training_on(press, tiny):
    stage = Answer(network(tiny, 0), tiny, press, AnswerOptions(exam=1))
    marks = stage.exam()
    assert set(marks) == {paper.name for paper in PAPERS} | {"not refused"}
    assert all(0 <= mark <= 1 for mark in marks.values())
    assert stage.net.training
    assert stage.exam() == marks


def test_a_moving_eye_moves_and_is_examined_as_it_is(press, tiny):
    course = Course(shortest=3, longest=3, text=0.0, questions=1, finds=1)
    options = AnswerOptions(batch=2, reuse=1, moving=True, exam=1, curriculum=Curriculum.of(course))
    stage = Answer(network(tiny, 0), tiny, press, options)
    loss, _ = step(stage, Random(0))
    loss.backward()
    assert all(not lesson.features for lesson in stage.pool)
    assert stage.eye.tower.blocks[0].attn.qkv.weight.grad.abs().sum() > 0
    stage.exam()
    before = next(iter(stage._papers.values()))[0][0].features[0].clone()
    with torch.no_grad():
        stage.eye.tower.blocks[0].attn.qkv.weight.mul_(2)
    stage.exam()
    assert not torch.equal(before, next(iter(stage._papers.values()))[0][0].features[0])


@pytest.mark.parametrize("moving", [False, True])
def test_half_precision_keeps_the_loss_near(press, tiny, moving):
    # What a GPU computes in; on a CPU for a step of the tiny size alone.
    course = Course(shortest=3, longest=3, text=0.5, questions=1, finds=1)
    deeper, losses = replace(tiny, layers=4), []
    for enabled in (False, True):
        options = AnswerOptions(batch=2, reuse=1, moving=moving, binding=0.5, curriculum=Curriculum.of(course))
        torch.manual_seed(0)
        stage = Answer(network(deeper, 0), deeper, press, options)
        with torch.autocast("cpu", torch.bfloat16, enabled=enabled):
            loss, _ = step(stage, Random(0))
        loss.backward()
        losses.append(float(loss.detach()))
    assert losses[0] == pytest.approx(losses[1], rel=0.05)


@pytest.mark.parametrize(("pages", "moves"), [(2, True), (3, False)])
def test_a_moving_eye_learns_from_short_contexts_and_looks_at_long_ones(press, tiny, pages, moves):
    course = Course(pages=(pages,), shortest=2, longest=2, text=0.0, questions=1, finds=1)
    stage = Answer(network(tiny, 0), tiny, press, AnswerOptions(batch=1, reuse=1, moving=True, curriculum=Curriculum.of(course)))
    loss, figures = step(stage, Random(0))
    loss.backward()
    assert ("characters loss" in figures) == moves
    assert any(p.grad is not None for p in stage.eye.tower.blocks.parameters()) == moves
    assert all(p.grad is not None for p in stage.eye.second_half())


def test_members_of_a_team_draw_lessons_of_one_size(press):
    course = Course(pages=(1, 2, 3), shortest=2, longest=6, text=0.5)
    one, other = (draw_lesson(Random(rank), course, press, Random("all")) for rank in range(2))
    assert one.pages != other.pages
    assert [len(page) for page in one.pages] == [len(page) for page in other.pages]
    assert [sheet.tokens for sheet in one.flat()] == [sheet.tokens for sheet in other.flat()]
