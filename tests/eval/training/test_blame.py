"""A wrong answer is laid to what went wrong first: not found, taken from beside, misread, refused, ended."""

from random import Random

import pytest
import torch

from eval.records import Query, build
from eval.training import blame as blaming
from eval.training.answer import Answer, AnswerOptions
from eval.training.blame import CAUSES, Blame, blame, main, report
from eval.training.checkpoint import Header, save
from eval.training.lessons import Course, Lesson, print_pages
from eval.training.model import network
from eval.training.tokenizer import Mark


@pytest.fixture
def stage(tiny, press):
    torch.manual_seed(0)
    return Answer(network(tiny, 0), tiny, press, AnswerOptions())


@pytest.fixture
def lesson(stage, press):
    lines = ("The owner of Brobo tower is 7.", "The owner of Dupu mill is 5.", "Brobo tower has price 9.")
    found = Lesson(Course(), (lines,), (), print_pages((lines,), [120], press))
    stage.look([found])
    return found


QUERY = Query("What is the owner of Brobo tower?", "7", 1, "The owner of Brobo tower is 7.")


def asked_with(stage, lesson, said, shares, monkeypatch):
    """What is told of QUERY where the model says `said` and the finding head gives `shares` to each target."""
    vocabulary = stage.press.vocabulary
    rows = iter([*vocabulary.encode(said).ids, Mark.EOS])

    def head(hidden):
        logits = torch.zeros(len(hidden), len(vocabulary))
        for row in range(len(hidden)):
            logits[row, next(rows, Mark.EOS)] = 1
        return logits

    def tower(**given):
        stage.guide.shares = [torch.tensor(shares)]
        return type("Said", (), {"last_hidden_state": torch.zeros(1, given["inputs_embeds"].shape[1], 4)})

    tower.embed_tokens = stage.tower.embed_tokens
    monkeypatch.setattr(stage, "tower", tower)
    monkeypatch.setattr(stage, "net", type("Net", (), {"lm_head": staticmethod(head)}))
    told = Blame()
    blame(stage, lesson, QUERY, told)
    return told


@pytest.mark.parametrize(
    ("said", "share", "cause"),
    [("9", 0.1, "not found"), ("8", 0.9, "misread"), ("not stated", 0.9, "refused"), ("", 0.9, "ended"), (" is", 0.9, "beside")],
)
def test_a_wrong_answer_has_the_cause_of_its_first_wrong_piece(stage, lesson, said, share, cause, monkeypatch):
    told = asked_with(stage, lesson, said, [share, 0.5, 0.3], monkeypatch)
    assert (told.n, told.right, dict(told.causes)) == (1, 0, {cause: 1})


def test_mass_that_went_astray_is_laid_to_what_the_value_there_shares(stage, lesson, monkeypatch):
    told = asked_with(stage, lesson, "5", [0.1, 0.5, 0.3], monkeypatch)
    assert dict(told.astray) == pytest.approx({"the right one": 0.1, "same attribute": 0.5, "same thing": 0.3, "elsewhere": 0.1})
    assert told.line().endswith("| 10 | 50 | 30 | 10")


def test_a_right_answer_has_no_cause(stage, lesson, monkeypatch):
    told = asked_with(stage, lesson, "7", [0.9, 0.0, 0.0], monkeypatch)
    assert (told.right, dict(told.causes)) == (1, {})


def test_every_question_is_right_or_has_a_cause(stage, monkeypatch):
    monkeypatch.setattr(blaming.exam, "PAPERS", blaming.exam.PAPERS[:1])
    table = report(stage, 3).splitlines()
    assert len(table) == 8
    cells = [cell.strip() for cell in table[-1].strip("|").split("|")]
    n, right, *causes = (int(cell) for cell in cells[1 : 3 + len(CAUSES)])
    assert n == 3 == right + sum(causes)
    assert len(cells) == table[-2].count("---")


def test_the_shares_are_those_of_the_finding_head_on_what_the_page_has(stage, press):
    context = build(Random(1), 1, 6, dense=1.0)
    lesson = Lesson(Course(), context.pages, context.queries, print_pages(context.pages, [120], press))
    stage.look([lesson])
    stage.net.train()
    told = Blame()
    with torch.no_grad():
        for query in context.queries:
            blame(stage, lesson, query, told)
    assert told.causes["not found"] > 0
    assert 0 < sum(told.astray.values()) == pytest.approx(round(sum(told.astray.values())))


def test_the_command_prints_the_tables_and_names_a_missing_checkpoint(stage, tiny, press, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(blaming.exam, "PAPERS", blaming.exam.PAPERS[:1])
    save(tmp_path / "answer.safetensors", Header("answer", 1, 0.0, 0, tiny), stage.modules, ())
    press.vocabulary.save(tmp_path / "tokenizer.json")
    assert main([str(tmp_path / "answer.safetensors"), "--n", "2"]) == 0
    assert "| 1x12 at 120 | 2 |" in capsys.readouterr().out
    assert main([str(tmp_path / "none.safetensors")]) == 2
    assert "none.safetensors is not there" in capsys.readouterr().err
