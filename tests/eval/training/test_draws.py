"""Draws are the same whoever makes them and whenever, and never those of an evaluation."""

from itertools import count, islice

import pytest

from eval import records
from eval.training import exam
from eval.training.answer import AnswerOptions, Lessons
from eval.training.curriculum import BUILT_IN, read
from eval.training.draws import draw, generator
from eval.training.see import Pages, SeeOptions

# The card's pages, the samples' documents, the examinations, the vocabulary's texts.
RESERVED = (records.HELD_OUT, 1, 2, 3, 4, 5, exam.SEED, 7)


def number(rng, spent, shape=None):
    return rng.random(), spent


@pytest.mark.slow
def test_another_process_draws_the_same():
    steps = [(3, 0.0), (4, 0.5), (5, 0.5)]
    here = list(draw(number, 7, "see", 0, iter(steps)))
    assert list(draw(number, 7, "see", 0, iter(steps), hands=1)) == here
    assert [spent for _, spent in here] == [0.0, 0.5, 0.5]


def test_steps_are_asked_for_one_by_one():
    asked = []
    steps = ((step, float(asked.append(step) or 0)) for step in count())
    list(islice(draw(number, 0, "see", 0, steps), 2))
    assert asked == [0, 1]


def test_every_step_member_use_stage_and_seed_has_draws_of_its_own():
    states = {
        generator(seed, stage, step, rank, use).random()
        for seed in (0, 1)
        for stage in ("see", "answer")
        for step in (0, 1)
        for rank in (0, 1)
        for use in ("draw", "learn")
    }
    assert len(states) == 32


@pytest.mark.parametrize("seed", RESERVED)
def test_no_seed_of_training_gives_the_generator_of_an_evaluation(seed):
    from random import Random

    held = Random(seed).getstate()
    for stage in ("see", "answer"):
        for step in (0, seed):
            assert generator(seed, stage, step).getstate() != held


def test_training_draws_no_line_that_states_a_held_out_fact(press):
    held = {
        sample.fact
        for kind, n, pages, lines, hops in (
            ("build", 50, 1, 12, 0.0),
            ("sections", 40, 2, 6, 0.0),
            ("build", 20, 8, 12, 0.0),
            ("build", 40, 1, 12, 0.6),
        )
        for sample in records.samples(kind, n, pages, lines, each=None, hops=hops)
    }
    # A row under a heading names no thing, so that "  its fuel is coal" may stand anywhere; a sentence names one that was made up for it.
    held = {fact for fact in held if fact and not fact.startswith("  ")}
    drawing = Lessons(press, AnswerOptions(batch=4, reuse=1, curriculum=read(BUILT_IN / "again.toml")))
    drawn = {line for step in range(12) for lesson in drawing(generator(0, "answer", step), 0.9) for page in lesson.pages for line in page}
    assert len(drawn) > 500
    assert not held & drawn


def test_pages_of_the_eye_come_with_a_dpi_of_the_options(press):
    options = SeeOptions(batch=6, dpis=(72, 96))
    assert {dpi for _, dpi in Pages(press, options)(generator(0, "see", 0), 0.0)} == {72, 96}
