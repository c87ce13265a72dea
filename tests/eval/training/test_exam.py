"""An examination asks what its papers say, and counts as right what greedy decoding would say exactly."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from eval import records
from eval.training import exam
from eval.training.answer import Answer, AnswerOptions, mark
from eval.training.model import positions
from eval.training.pages import Press
from eval.training.tokenizer import Mark
from eval.training.warm import warm


@pytest.mark.parametrize("paper", exam.PAPERS, ids=lambda paper: paper.name)
def test_a_paper_has_its_pages_and_its_questions_alone(press, paper):
    short = replace(paper, pages=min(paper.pages, 2))
    answered = exam.questions(short, 5, press)
    assert sum(len(queries) for _, queries in answered) == 5
    for lesson, queries in answered:
        assert len(lesson.pages) == short.pages
        assert {query.hops for query in queries} == {paper.hops}


def test_the_examination_is_not_the_cards():
    assert exam.SEED != records.HELD_OUT


def test_the_mark_is_that_of_greedy_decoding():
    net, size, vocabulary = warm(Path(__file__).resolve().parents[3] / "cache_compiler" / "reader")
    stage = Answer(net, size, Press(vocabulary), AnswerOptions())
    answered = exam.questions(exam.PAPERS[0], 4, stage.press)
    stage.take([lesson for lesson, _ in answered])
    net.eval()
    right = 0
    for lesson, queries in answered:
        for query in queries:
            wanted = [*vocabulary.encode(query.answer).ids, Mark.EOS]
            right += greedy(stage, lesson, vocabulary.encode(query.question).ids, len(wanted)) == wanted
    share, refused = mark(stage, answered)
    assert share == right / 4
    assert share > 0
    assert refused < 1


@torch.no_grad()
def greedy(stage, lesson, asked, n):
    vocabulary = stage.press.vocabulary
    rows, columns = lesson.flat()[0].tokens
    before = [*vocabulary.prefix, Mark.BEGIN_IMAGE]
    ids = [*before, *[Mark.IMAGE] * (rows * columns), Mark.END_IMAGE, *asked, Mark.ASSISTANT, vocabulary.newline]
    tokens = stage.eye.merge(torch.cat(lesson.features).float())
    said = []
    for _ in range(n):
        row = torch.tensor([ids + said])
        embeddings = stage.tower.embed_tokens(row).masked_scatter((row == Mark.IMAGE)[..., None], tokens)
        behind = row.shape[1] - len(before) - rows * columns
        places = positions([len(before), (rows, columns), behind])[:, None]
        hidden = stage.tower(inputs_embeds=embeddings, position_ids=places, use_cache=False).last_hidden_state
        said.append(int(stage.net.lm_head(hidden[0, -1]).argmax()))
    return said
