"""Each value of a page is tied to its subject and its attribute, each answer to those of its question; and heads learn to join them."""

from dataclasses import replace
from random import Random

import pytest
import torch

from eval import world
from eval.records import sections
from eval.training import guide
from eval.training.binding import asked, statements
from eval.training.lessons import Course, draw_lesson, questions, transcribe
from eval.training.model import network
from eval.training.tokenizer import Mark


def text_of(pages, place):
    page, start, end = place
    return "\n".join(pages[page])[start:end]


@pytest.mark.parametrize("seed", range(40))
def test_a_sentence_is_taken_apart_as_it_was_put_together(seed):
    rng = Random(seed)
    thing, attribute = world.entity(rng), rng.choice(world.ATTRIBUTES)
    value = world.value(rng, attribute)
    pages = (world.filler(rng),), (world.filler(rng), world.state(rng, thing, attribute, value))
    (found,) = statements(pages)
    assert [text_of(pages, part) for part in (found.value, found.attribute)] == [value, attribute]
    assert text_of(pages, found.subject).lower() == world.definite(thing).lower()


@pytest.mark.parametrize("seed", range(40))
def test_a_question_is_taken_apart_as_it_was_put_together(seed):
    rng = Random(seed)
    thing, attribute = world.entity(rng), rng.choice(world.ATTRIBUTES)
    question = world.ask(rng, thing, attribute)
    found = asked(question)
    assert found
    subject, asked_for = (question[start:end] for start, end in found)
    assert subject.lower() == world.definite(thing).lower()
    assert asked_for == attribute


def test_a_question_through_another_fact_names_no_subject():
    assert asked(world.ask_through("Clifai", "supplier", "voltage")) is None
    assert asked("Find: the owner of") is None


def test_a_row_belongs_to_the_heading_above_it_also_on_the_page_before():
    over_the_end = 0
    for seed in range(6):
        context = sections(Random(seed), 2, 4)
        lines = [line for page in context.pages for line in page]
        found = iter(statements(context.pages))
        for number, line in enumerate(lines):
            if line.endswith(":"):
                heading, at = line[:-1], number
            else:
                said = next(found)
                assert text_of(context.pages, said.subject) == heading
                assert line.endswith(text_of(context.pages, said.value))
                assert said.subject.page == at // 4
                over_the_end += at < 4 <= number
        assert next(found, None) is None
    assert over_the_end


@pytest.mark.parametrize("kind", [0.0, 1.0])
def test_ties_go_from_what_shows_a_value_to_what_shows_what_it_belongs_to(press, kind):
    course = Course(pages=(2,), shortest=5, longest=5, text=0.0, sections=kind, hops=0.0, absent=1.0, questions=3)
    lesson = draw_lesson(Random(1), course, press)
    transcript = transcribe(lesson, questions(Random(1), lesson), press.vocabulary)
    firsts = [row + 1 for row, i in enumerate(transcript.ids) if i == Mark.BEGIN_IMAGE]

    def shown(rows):
        pieces = set()
        for row in rows:
            first, sheet = max(((f, s) for f, s in zip(firsts, lesson.flat(), strict=True) if f <= row), key=lambda pair: pair[0])
            pieces |= {int(piece) for piece in sheet.pieces.label[sheet.pieces.where == row - first]}
        return pieces

    values = [tie for tie in transcript.ties if tie.half is not None]
    for tie, said in zip(values, statements(lesson.pages), strict=True):
        for rows, part in ((tie.rows, said.value), (tie.subject, said.subject), (tie.attribute, said.attribute)):
            wanted = press.vocabulary.encode(" " + text_of(lesson.pages, part)).ids[1:]
            assert len(set(wanted) & shown(rows)) >= 0.6 * len(set(wanted))
    answers = [tie for tie in transcript.ties if tie.half is None]
    assert answers
    for tie in answers:
        assert transcript.answers[tie.rows[0] + 1]
        assert max(tie.subject + tie.attribute) < min(tie.rows)
        assert press.vocabulary.decode([transcript.ids[row] for row in tie.attribute]).strip() in world.ATTRIBUTES


def test_the_binding_heads_learn_to_look_at_what_a_value_belongs_to_each_in_its_half(tiny):
    tower = network(replace(tiny, layers=4, kv_heads=tiny.heads), 0).model.language_model.train()
    listener = guide.install(tower, last=2, ties=True)
    places = torch.zeros(3, 10, dtype=torch.bool), torch.zeros(3, 10, dtype=torch.bool)
    for part, columns in zip(places, ((1, 2, 3), (4, 5, 3)), strict=True):
        part[[0, 1, 2], list(columns)] = True
    ties = guide.Ties(torch.zeros(3, dtype=torch.long), torch.tensor([7, 7, 9]), torch.tensor([0, 1, -1]), *places)
    optimiser = torch.optim.AdamW(tower.parameters(), lr=1e-2)
    losses = []
    for _ in range(25):
        listener.aim(torch.zeros(0, dtype=torch.long), torch.zeros(0, dtype=torch.long), torch.zeros(0, 10, dtype=torch.bool))
        listener.tie(ties)
        tower(input_ids=torch.arange(20, 30)[None], use_cache=False)
        optimiser.zero_grad()
        listener.binding().backward()
        optimiser.step()
        losses.append(float(listener.binding().detach()))
    assert losses[-1] < losses[0] / 3
    tower.config._attn_implementation = "eager"
    with torch.no_grad():
        subject, attribute = tower.eval()(input_ids=torch.arange(20, 30)[None], output_attentions=True).attentions[:2]
    for layer, (upper, lower, both) in ((subject, (1, 2, 3)), (attribute, (4, 5, 3))):
        assert layer[0, -2, 7, upper] > 0.5
        assert layer[0, -1, 7, lower] > 0.5
        assert min(layer[0, -2, 9, both], layer[0, -1, 9, both]) > 0.5


def test_what_states_nothing_costs_nothing(tiny):
    tower = network(replace(tiny, layers=4), 0).model.language_model.train()
    listener = guide.install(tower, last=2, ties=True)
    listener.tie(None)
    tower(input_ids=torch.arange(20, 24)[None], use_cache=False)
    assert float(listener.binding()) == 0.0


def test_a_tower_too_low_to_bind_in_is_refused(tiny):
    with pytest.raises(ValueError, match="4 layers in all"):
        guide.install(network(tiny, 0).model.language_model, last=2, ties=True)
