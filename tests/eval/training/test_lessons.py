"""A transcript says what is asked and answered, and each aim points from the row that predicts a piece to the rows that show it."""

from random import Random

import pytest

from eval.training.lessons import Course, draw_lesson, find, questions, read, transcribe
from eval.training.pages import CHARACTERS, MARGIN
from eval.training.tokenizer import Mark

NAMES = {number: character for character, number in CHARACTERS.items()}


def lesson_of(press, seed, **course):
    lesson = draw_lesson(Random(seed), Course(pages=(1, 2), shortest=5, longest=6, **course), press)
    return lesson, transcribe(lesson, questions(Random(seed), lesson), press.vocabulary)


@pytest.mark.parametrize("seed", range(4))
def test_in_a_text_each_aim_points_at_the_very_letters(press, seed):
    _, transcript = lesson_of(press, seed, text=1.0)
    assert transcript.aims
    for row, rows in ((aim.row, aim.rows) for aim in transcript.aims):
        piece = press.vocabulary.decode([transcript.ids[row + 1]])
        assert piece.strip() in press.vocabulary.decode([transcript.ids[r] for r in rows])


@pytest.mark.parametrize("seed", range(4))
def test_each_aims_spot_is_where_the_eye_is_asked_for_that_piece(press, seed):
    lesson, transcript = lesson_of(press, seed, text=0.0)
    firsts = [row + 1 for row, i in enumerate(transcript.ids) if i == Mark.BEGIN_IMAGE]
    found = []
    for one, (cell, half, across) in ((aim, spot) for aim in transcript.aims for spot in aim.spots):
        assert cell in one.rows
        first, sheet = max(((f, s) for f, s in zip(firsts, lesson.flat(), strict=True) if f <= cell), key=lambda pair: pair[0])
        marks = sheet.pieces
        there = (marks.where == cell - first) & (marks.half == half) & (abs(marks.across - across) < 0.1)
        piece = press.vocabulary.decode([transcript.ids[one.row + 1]]).strip()
        # What begins an answer may be cut otherwise than on the page, where a space stands before it.
        found.append(piece in {press.vocabulary.decode([int(label)]).strip() for label in marks.label[there]})
    assert sum(found) > 0.8 * len(found) > 0, (sum(found), len(found))


def test_what_stands_on_a_border_is_sought_on_both_sides_and_nothing_else_is(press):
    _, transcript = lesson_of(press, 0, text=0.0)
    assert {len(aim.spots) for aim in transcript.aims} == {1, 2}
    for aim in transcript.aims:
        assert all(-MARGIN <= across <= 1 + MARGIN for _, _, across in aim.spots)
        if len(aim.spots) == 2:
            (left, half, right_end), (right, same, left_end) = aim.spots
            assert (right, same) == (left + 1, half)
            assert right_end == pytest.approx(left_end + 1)
            assert right_end > 1 - MARGIN


@pytest.mark.parametrize("seed", range(4))
def test_on_a_page_each_aim_points_at_tokens_that_show_the_letters(press, seed):
    lesson, transcript = lesson_of(press, seed, text=0.0, sections=0.5)
    assert transcript.aims
    # The row of each sheet's first visual token, as the ids have it.
    firsts = [row + 1 for row, i in enumerate(transcript.ids) if i == Mark.BEGIN_IMAGE]
    for row, rows in ((aim.row, aim.rows) for aim in transcript.aims):
        shown = ""
        for r in rows:
            assert transcript.ids[r] == Mark.IMAGE
            first, sheet = max((f, s) for f, s in zip(firsts, lesson.flat(), strict=True) if f <= r)
            shown += "".join(NAMES[n] for n in sheet.characters.label[sheet.characters.where // 4 == r - first])
        piece = press.vocabulary.decode([transcript.ids[row + 1]]).strip()
        assert set(piece) <= set(shown)


def test_answers_end_with_eos_and_nothing_else_is_an_answer(press):
    lesson, transcript = lesson_of(press, 1, text=0.0)
    said = [i for i, is_answer in zip(transcript.ids, transcript.answers, strict=True) if is_answer]
    known = {query.answer for query in lesson.queries} | {
        line.strip()[cut:] for page in lesson.pages for line in page for cut in range(len(line))
    }
    answers, run = [], []
    for i in said:
        run.append(i)
        if i == Mark.EOS:
            answers.append(press.vocabulary.decode(run))
            run = []
    assert run == []
    assert answers
    assert set(answers) <= known


def test_targets_stand_at_their_own_rows_and_image_rows_have_none(press):
    _, transcript = lesson_of(press, 2, text=0.0)
    for target, i, is_answer in zip(transcript.targets, transcript.ids, transcript.answers, strict=True):
        assert target == (i if is_answer else -100)


def test_segments_add_up_to_the_rows(press):
    for text in (0.0, 1.0):
        _, transcript = lesson_of(press, 3, text=text)
        assert sum(s if isinstance(s, int) else s[0] * s[1] for s in transcript.segments) == len(transcript.ids)


def test_a_find_gives_words_of_a_line_and_asks_for_its_rest():
    lines = ["The owner of Brobo tower is Dupu Hiovin.", "Clifai:"]
    for seed in range(20):
        query = find(Random(seed), lines)
        assert query.fact in lines
        assert query.fact.endswith(query.answer)
        assert query.question.removeprefix("Find: ") in query.fact


def test_more_is_asked_of_more_pages_up_to_a_limit(press):
    one, eight = (draw_lesson(Random(0), Course(pages=(n,), text=1.0, sections=0.0, questions=6), press) for n in (1, 8))
    assert one.asked == 6
    assert eight.asked == 32
    assert len(questions(Random(0), one)) == 8


def test_pages_are_alike_or_drawn_each_at_its_own_dpi(press):
    heights = {"shortest": 4, "longest": 4, "pages": (6,), "text": 0.0}
    alike, mixed = (draw_lesson(Random(0), Course(alike=share, **heights), press) for share in (1.0, 0.0))
    assert len({sheet.grid for sheet in alike.flat()}) == 1
    assert len({sheet.grid for sheet in mixed.flat()}) == 2


def test_a_find_gives_words_of_one_line_alone_where_it_can():
    lines = ["The owner of Brobo tower is Dupu Hiovin.", "The owner of Clifai is Dupu Plimai.", "Clifai has price $300."]
    for seed in range(40):
        given = find(Random(seed), lines).question.removeprefix("Find: ")
        assert sum(f" {given} " in f" {line} " for line in lines) == 1


@pytest.mark.parametrize("seed", range(3))
def test_what_is_read_goes_on_over_lines_and_each_aim_points_at_its_letters(press, seed):
    lesson, _ = lesson_of(press, seed, text=1.0)
    query = read(Random(seed), lesson.pages, 4)
    assert query.question.startswith("Read: ")
    text = "\n".join(next(page for page in lesson.pages if query.fact.split("\n")[0] in page))
    assert query.answer in text
    transcript = transcribe(lesson, [query], press.vocabulary)
    assert len(transcript.aims) >= len(query.answer.split())
    for row, rows in ((aim.row, aim.rows) for aim in transcript.aims):
        piece = press.vocabulary.decode([transcript.ids[row + 1]]).strip()
        assert piece in press.vocabulary.decode([transcript.ids[r] for r in rows])
