"""Each row under a heading is asked for that heading, also over the page's end, and the middle layer learns to say it."""

from random import Random

import torch

from eval.training.answer import Answer, AnswerOptions
from eval.training.binding import Binding
from eval.training.curriculum import Curriculum
from eval.training.lessons import Course, draw_lesson, questions, transcribe
from eval.training.loop import Allowance, train
from eval.training.model import network

SECTIONS = Course(pages=(2,), shortest=4, longest=4, sections=1.0, text=1.0, questions=1, finds=0)


def test_a_row_is_bound_to_the_heading_above_it_also_on_the_page_before(press):
    over_the_end = 0
    for seed in range(6):
        lesson = draw_lesson(Random(seed), SECTIONS, press)
        transcript = transcribe(lesson, questions(Random(seed), lesson), press.vocabulary)
        lines = [line for page in lesson.pages for line in page]
        assert len(transcript.bonds) == sum(line.startswith("  ") for line in lines)
        bonds = iter(transcript.bonds)
        for number, line in enumerate(lines):
            if line.endswith(":"):
                heading, at = line[:-1], number
            elif line.startswith("  "):
                row, pieces = next(bonds)
                assert press.vocabulary.decode(pieces) == heading
                assert line.endswith(press.vocabulary.decode([transcript.ids[row]]).rstrip("\n"))
                over_the_end += at < 4 <= number
    assert over_the_end


def test_what_has_no_headings_costs_nothing(press, tiny):
    net = network(tiny, 0)
    binding = Binding(net.model.language_model, tiny)
    net.model.language_model(input_ids=torch.tensor([[20, 21]]))
    loss, right = binding.loss([[]], net.model.language_model.embed_tokens.weight)
    assert loss == 0
    assert right != right


def test_the_middle_layer_learns_the_headings(press, tiny, tmp_path):
    torch.manual_seed(0)
    options = AnswerOptions(batch=2, reuse=1, binding=1.0, rate=0.02, muon_rate=0.1, curriculum=Curriculum.of(SECTIONS))
    stage = Answer(network(tiny, 0), tiny, press, options)
    lessons, learn, losses = stage.drawing(Random(0), 0.0), stage.learn, []

    def keep(drawn, rng, shape=None):
        stage.pool = []
        loss, figures = learn(lessons, Random(0))
        losses.append(figures["bound loss"])
        return loss, figures

    stage.learn = keep
    train(stage, tmp_path / "answer.safetensors", Allowance(steps=30), seed=0, report=lambda line: None)
    assert losses[-1] < 0.8 * losses[0]
    assert "binding" in stage.modules
