"""Wider ground says each fact once, asks for what it says, and stands beside the card's world without touching its draws."""

from random import Random

import pytest

from eval import world
from eval.records import ABSENT, CARRIED
from eval.training import ground
from eval.training.lessons import Course, draw_lesson, questions, transcribe


@pytest.mark.parametrize("seed", range(3))
def test_every_answer_stands_in_its_fact_and_every_fact_in_its_page(seed):
    context = ground.paragraphs(Random(seed), 2, 10)
    assert len(context.pages) == 2
    for query in context.queries:
        assert query.answer in query.fact
        assert any(query.fact in paragraph for page in context.pages for paragraph in page)


def test_only_the_first_fact_of_a_paragraph_names_its_thing():
    for query in ground.paragraphs(Random(1), 3, 12).queries:
        fact = query.fact.replace("length of the roof", "length")
        assert (" of " in fact or " as its " in fact) or query.hops == CARRIED
        if query.hops == CARRIED:
            assert " of " not in fact


def test_an_absent_question_is_asked_when_it_should_be():
    assert any(query.hops == ABSENT for query in ground.paragraphs(Random(0), 1, 8, absent=1.0).queries)
    assert not any(query.hops == ABSENT for query in ground.paragraphs(Random(0), 1, 8).queries)


def test_new_attributes_stand_beside_the_old():
    assert set(world.ATTRIBUTES) < set(ground.ATTRIBUTES)
    assert len(set(ground.ATTRIBUTES)) == len(ground.ATTRIBUTES)
    assert all(ground.value(Random(0), attribute) for attribute in ground.ATTRIBUTES)


def test_dates_and_amounts_come_in_many_forms():
    rng = Random(0)
    dates, amounts = ([draw(rng) for _ in range(60)] for draw in (ground.date, ground.amount))
    for mark in ("-", "/", ", "):
        assert any(mark in one for one in dates)
    for mark in ("million", "EUR", "cents", "dollars"):
        assert any(mark in one for one in amounts)


def test_lessons_on_wider_ground_aim_at_the_letters_of_the_answer(press):
    lesson = draw_lesson(Random(0), Course(wide=1.0, text=1.0, shortest=6, longest=6), press)
    transcript = transcribe(lesson, questions(Random(0), lesson), press.vocabulary)
    assert transcript.aims
    for row, rows in ((aim.row, aim.rows) for aim in transcript.aims):
        piece = press.vocabulary.decode([transcript.ids[row + 1]]).strip()
        assert piece in press.vocabulary.decode([transcript.ids[r] for r in rows])
