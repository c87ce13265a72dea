"""Records are drawn as the card's were, answers stand where they are said to stand, and files come back as they went out."""

import importlib.util
import itertools
import json
from random import Random

import pytest

from eval import records, world
from eval.records import ABSENT, CARRIED, HELD_OUT, RecordsError, build, first, read, samples, sections, write


@pytest.fixture(scope="module")
def recipe(shared):
    spec = importlib.util.spec_from_file_location("recipe_world", shared / "reader" / "recipe" / "world.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def as_recipe(context):
    return [list(page) for page in context.pages], [(q.question, q.answer, q.hops, q.fact) for q in context.queries]


@pytest.mark.parametrize(("pages", "lines"), [(1, 12), (2, 6), (4, 12), (1, 3)])
@pytest.mark.parametrize(("hops", "absent"), [(0.0, 0.0), (0.6, 0.0), (1.0, 0.7)])
def test_sentences_are_the_recipes_context_after_context(recipe, pages, lines, hops, absent):
    ours, theirs = Random(HELD_OUT), Random(HELD_OUT)
    for _ in range(12):
        expected = recipe.build(theirs, pages, lines, records.WIDTH, hops=hops, nq=99, dense=0.8, none=absent)
        assert as_recipe(build(ours, pages, lines, hops=hops, dense=0.8, absent=absent)) == expected


@pytest.mark.parametrize(("pages", "lines"), [(1, 12), (2, 6), (3, 5)])
@pytest.mark.parametrize("absent", [0.0, 0.7])
def test_rows_under_headings_are_the_recipes_context_after_context(recipe, pages, lines, absent):
    ours, theirs = Random(HELD_OUT), Random(HELD_OUT)
    for _ in range(12):
        assert as_recipe(sections(ours, pages, lines, absent=absent)) == recipe.sections(
            theirs, pages, lines, records.WIDTH, nq=99, none=absent
        )


def test_the_cards_rows_have_as_many_questions_as_the_card_says():
    assert len(samples("build", 50, 1, 12, each=4)) == 200
    assert len(samples("build", 32, 4, 12, each=4)) == 128
    assert len(samples("build", 20, 8, 12, each=4)) == 80
    assert sum(s.hops == 2 for s in samples("build", 40, 1, 12, each=6, hops=0.6)) == 42
    rows = samples("sections", 40, 2, 6, each=None)
    assert [sum(s.hops == hops for s in rows) for hops in (1, CARRIED)] == [275, 79]


def test_the_answer_stands_in_its_line_and_the_line_on_a_page():
    for sample in samples("build", 20, 2, 8, seed=5, each=None, hops=1.0) + samples("sections", 20, 2, 6, seed=5, each=None):
        assert sample.answer in sample.fact
        assert any(sample.fact in page for page in sample.pages)


def test_a_carried_row_stands_on_a_later_page_than_its_heading():
    carried = [s for s in samples("sections", 20, 2, 6, seed=3, each=None) if s.hops == CARRIED]
    assert carried
    for sample in carried:
        assert sample.fact in sample.pages[1]
        # The last heading of page 1 is the subject of the rows that open page 2.
        heading = [line for line in sample.pages[0] if line.endswith(":")][-1]
        assert heading[1:-1] in sample.question


def test_two_hops_ask_through_a_fact_that_is_stated_elsewhere():
    for sample in samples("build", 20, 1, 12, seed=8, each=None, hops=1.0):
        if sample.hops == 2:
            assert sum(sample.question.count(f"the {link} of") for link in world.LINK) == 1
            assert sample.question.rsplit(" of ", 1)[1].rstrip("?") not in sample.fact


def test_what_is_nowhere_is_answered_not_stated():
    context = build(Random(1), 1, 12, absent=1.0)
    missing = [q for q in context.queries if q.hops == ABSENT]
    assert [(q.answer, q.fact) for q in missing] == [(world.NOT_STATED, "")]
    counts = [sum(q.hops == ABSENT for q in build(Random(seed), 1, 12, absent=2.5).queries) for seed in range(40)]
    assert set(counts) == {2, 3}


def test_pages_have_their_lines_and_no_line_is_too_wide():
    for page in itertools.chain.from_iterable(c.pages for c in records.contexts("build", 10, 2, 7, seed=4, hops=0.5)):
        assert len(page) == 7
        assert max(map(len, page)) <= records.WIDTH


def test_ids_are_unique_and_a_seed_gives_the_same_samples_twice():
    rows = samples("build", 5, 1, 12, seed=4)
    assert rows == samples("build", 5, 1, 12, seed=4)
    assert len({s.id for s in rows}) == len(rows) == 15


def test_samples_come_back_from_a_file_as_they_went_in(tmp_path):
    rows = samples("sections", 3, 2, 6, seed=4)
    write(tmp_path / "records.jsonl", rows)
    assert read(tmp_path / "records.jsonl") == rows


def test_a_row_has_longbenchs_fields(tmp_path):
    write(tmp_path / "records.jsonl", samples("build", 1, 2, 3, seed=4, each=1))
    row = json.loads((tmp_path / "records.jsonl").read_text(encoding="utf-8"))
    assert {"input", "context", "answers", "length", "dataset", "language", "all_classes", "_id"} <= row.keys()
    assert row["context"].count("\f") == 1
    assert row["length"] == len(row["context"].split())


@pytest.mark.parametrize("line", ['{"dataset": "hotpotqa"}', '{"dataset": "records"}', "not json", "[]"])
def test_a_line_that_is_no_record_is_refused_by_file_and_number(tmp_path, line):
    path = tmp_path / "other.jsonl"
    path.write_text(line, encoding="utf-8")
    with pytest.raises(RecordsError, match=r"other\.jsonl, line 1"):
        read(path)


def test_as_many_questions_are_drawn_as_were_asked_for_though_contexts_run_short() -> None:
    drawn = first(30, "sections", 2, 3, each=99)
    assert len(drawn) == 30
    assert drawn == samples("sections", 40, 2, 3, each=99)[:30]
