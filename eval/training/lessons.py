"""A course and a random generator in; contexts with questions, as rows of tokens with their targets and what each should look at, out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random

from torch import Tensor

from eval.records import WIDTH, Query, build, sections

from . import ground
from .binding import asked, statements
from .model import Segment
from .pages import Press, Sheet
from .tokenizer import Mark, Vocabulary

# No more questions than this in a lesson: behind them stand no pages, and their rows cost as much.
_MOST_QUESTIONS = 32
# A "Read" task goes on for this many lines at most.
_LINES_READ = 5


@dataclass(frozen=True)
class Course:
    """One kind of lesson. Shares are between 0 and 1; `absent` may be more.

    pages: how many pages, one drawn out of these; shortest, longest: lines of a page; dpis: what pages are drawn at, one out of these;
    alike: share of contexts whose pages all have one DPI; text: share of contexts given as text (they teach the tower to find and to copy
    before the eye is sharp); sections: share of contexts that are rows under headings; wide: share of contexts on wider ground
    (`ground.py`); hops, dense, absent: as in `records.build`; questions: asked a page of one context, which is read once for all of
    them; finds: "Find: some words" tasks beside them, which are answered with the rest of the line; reads: "Read: some words" tasks,
    answered with that and the lines after it; gap: most positions skipped between pages, so that places far out are met.
    """

    pages: tuple[int, ...] = (1,)
    shortest: int = 10
    longest: int = 12
    dpis: tuple[int, ...] = (72, 120)
    alike: float = 0.6
    text: float = 0.3
    sections: float = 0.3
    wide: float = 0.0
    hops: float = 0.2
    dense: float = 0.6
    absent: float = 0.2
    questions: int = 6
    finds: int = 2
    reads: int = 0
    gap: int = 0


@dataclass
class Lesson:
    """A context and all that may be asked of it. `sheets` has the pages as images, page by page; None: they are given as text.

    `features` are what the eye saw, one tensor a sheet; the answer stage fills them in once.
    """

    course: Course
    pages: tuple[tuple[str, ...], ...]
    queries: tuple[Query, ...]
    sheets: tuple[tuple[Sheet, ...], ...] | None
    features: list[Tensor] = field(default_factory=list)

    def flat(self) -> list[Sheet]:
        return [sheet for page in self.sheets or () for sheet in page]

    @property
    def asked(self) -> int:
        """How many questions are put to it at a time."""
        return min(self.course.questions * len(self.pages), len(self.queries), _MOST_QUESTIONS)

    def span(self) -> int:
        """About how many rows the lesson takes; lessons of like span are trained together."""
        tokens = (sheet.tokens for sheet in self.flat())
        context = sum(17 * len(page) for page in self.pages) if self.sheets is None else sum(rows * columns for rows, columns in tokens)
        return context + 24 * (self.asked + self.course.finds + 3 * self.course.reads)


@dataclass(frozen=True)
class Aim:
    """Where the next piece of an answer stands: row: the one that predicts it; rows: those that show it, whole or in part; of an image also spots:
    (row, half, across) of each visual token that shows its middle, as in `pages.Marks`. What stands on a border is shown by both sides: which
    of them has the middle is a fraction of a pixel, and drawn to that one alone a head is made to guess.
    """

    row: int
    rows: list[int]
    spots: list[tuple[int, int, float]] = field(default_factory=list)


@dataclass(frozen=True)
class Tie:
    """What a value on a page belongs to, or an answer. rows: the visual tokens that show the value, half: in which half (0 upper, 1 lower);
    subject, attribute: the tokens that show the thing it is said of, in the same line or in the heading above it, and what of that thing it is.
    Of an answer (half None): the rows that predict it, and those of its question's words.
    """

    rows: list[int]
    half: int | None
    subject: list[int]
    attribute: list[int]


@dataclass(frozen=True)
class Transcript:
    """A lesson as the model sees it: ids; targets (-100: none) standing at their own row; which targets are answers; the segments for
    positions; aims; and the ties of what its page images state and its questions ask.
    """

    ids: list[int]
    targets: list[int]
    answers: list[bool]
    segments: list[Segment]
    aims: list[Aim]
    ties: list[Tie]


def draw_lesson(rng: Random, course: Course, press: Press, shape: Random | None = None) -> Lesson:
    """`shape` as in `Drawing`: it decides how much there is to read."""
    shape = shape or rng
    pages = shape.choice(course.pages)
    lines = shape.randint(course.shortest, course.longest)
    dpis = [shape.choice(course.dpis) for _ in range(pages)]
    if shape.random() < course.alike:
        dpis = dpis[:1] * pages
    text = shape.random() < course.text
    if rng.random() < course.wide:
        context = ground.paragraphs(rng, pages, lines, absent=course.absent)
    elif rng.random() < course.sections:
        context = sections(rng, pages, lines, absent=course.absent)
    else:
        context = build(rng, pages, lines, width=WIDTH, hops=course.hops, dense=course.dense, absent=course.absent)
    if text:
        return Lesson(course, context.pages, context.queries, None)
    return Lesson(course, context.pages, context.queries, print_pages(context.pages, dpis, press))


def print_pages(pages: Sequence[Sequence[str]], dpis: Sequence[int], press: Press) -> tuple[tuple[Sheet, ...], ...]:
    return tuple(tuple(press.print("\n".join(page), dpi)) for page, dpi in zip(pages, dpis, strict=True))


def find(rng: Random, lines: Sequence[str]) -> Query:
    """Continue a line of the context: the densest practice in finding and copying that a page can give.

    The words that are given stand in one line alone, if a few draws find such words: two lines that might be meant teach to guess.
    """
    for _ in range(12):
        line = rng.choice(lines)
        words = line.strip().split(" ")
        if len(words) < 3:
            given, rest = words[0], line.strip()
        else:
            cut = rng.randint(1, len(words) - 2)
            given, rest = " ".join(words[rng.randint(0, cut - 1) : cut]), " ".join(words[cut:])
        if sum(f" {given} " in f" {other.strip()} " for other in lines) == 1:
            break
    return Query(f"Find: {given}", rest, 1, line)


def read(rng: Random, pages: Sequence[Sequence[str]], most: int) -> Query:
    """Read on from some words to the end of their line and as many lines after it, `most` or fewer: every row of the answer is a piece copied."""
    started = find(rng, [line for page in pages for line in page])
    page = next(page for page in pages if started.fact in page)
    at = page.index(started.fact)
    fact = "\n".join(page[at : at + 1 + rng.randint(1, most)])
    return Query(started.question.replace("Find:", "Read:"), fact[started.fact.rindex(started.answer) :], 1, fact)


def questions(rng: Random, lesson: Lesson) -> list[Query]:
    """Those of the lesson's questions that are asked this time, in random order, "Find" and "Read" tasks among them."""
    chosen = rng.sample(lesson.queries, lesson.asked)
    lines = [line for page in lesson.pages for line in page]
    chosen += [find(rng, lines) for _ in range(lesson.course.finds)]
    chosen += [read(rng, lesson.pages, _LINES_READ) for _ in range(lesson.course.reads)]
    rng.shuffle(chosen)
    return chosen


def transcribe(lesson: Lesson, queries: Sequence[Query], vocabulary: Vocabulary) -> Transcript:
    """prefix, page 1, page 2, ..., question 1, answer 1, <|user|>, question 2, answer 2, ..."""
    ids: list[int] = list(vocabulary.prefix)
    segments: list[Segment] = [len(ids)]
    # Per page: where its text begins among the rows and which characters each token covers, or where each sheet's tokens begin.
    text_at: list[tuple[int, list[tuple[int, int]]]] = []
    sheets_at: list[list[tuple[int, Sheet]]] = []
    for number, page in enumerate(lesson.pages):
        if lesson.sheets is None:
            encoded = vocabulary.encode("\n".join(page) + "\n")
            text_at.append((len(ids), encoded.spans))
            segments.append(len(encoded.ids))
            ids += encoded.ids
        else:
            sheets_at.append([])
            for sheet in lesson.sheets[number]:
                rows, columns = sheet.tokens
                sheets_at[-1].append((len(ids) + 1, sheet))
                segments += [1, (rows, columns), 1]
                ids += [Mark.BEGIN_IMAGE, *[Mark.IMAGE] * (rows * columns), Mark.END_IMAGE]

    def rows_of(page: int, start: int, end: int) -> list[int]:
        if lesson.sheets is None:
            first, spans = text_at[page]
            return [first + i for i, (a, b) in enumerate(spans) if a < end and b > start]
        return [first + cell for first, sheet in sheets_at[page] for cell in sheet.holding(start, end)]

    def spots_of(page: int, start: int, end: int) -> list[tuple[int, int, float]]:
        sheets = sheets_at[page] if sheets_at else ()
        return [(first + cell, half, across) for first, sheet in sheets for cell, half, across in sheet.spots(start, end)]

    context = len(ids)
    # A text context is itself text to learn; an image's tokens are not words.
    targets = [i if lesson.sheets is None and row > len(vocabulary.prefix) else -100 for row, i in enumerate(ids)]
    answers = [False] * context
    aims: list[Aim] = []
    ties = []
    for said in statements(lesson.pages) if sheets_at else ():
        half = next((sheet.half(said.value.start) for _, sheet in sheets_at[said.value.page] if sheet.holding(*said.value[1:])), 0)
        ties.append(Tie(rows_of(*said.value), half, rows_of(*said.subject), rows_of(*said.attribute)))
    for query in queries:
        # The first question stands in the turn that the prefix opened.
        before = [Mark.USER, vocabulary.newline] if len(ids) > context else []
        words = vocabulary.encode(query.question)
        question = [*before, *words.ids, Mark.ASSISTANT, vocabulary.newline]
        answer = vocabulary.encode(query.answer)
        place = _place(lesson.pages, query)
        if place:
            leaf, offset = place
            for i, (a, b) in enumerate(answer.spans):
                # The row before a piece is the one that predicts it.
                if there := rows_of(leaf, offset + a, offset + b):
                    # As in the eye's labels, a piece's own letters say where it is, not the space at its front.
                    glued = b - a > 1 and query.answer[a] == " "
                    spots = spots_of(leaf, offset + a + glued, offset + b)
                    aims.append(Aim(len(ids) + len(question) + i - 1, sorted({*there, *(cell for cell, _, _ in spots)}), spots))
        if parts := asked(query.question):
            first = len(ids) + len(before)
            named = [[first + i for i, (a, b) in enumerate(words.spans) if a < end and b > start] for start, end in parts]
            predicting = len(ids) + len(question) - 1
            ties.append(Tie([predicting + i for i in range(len(answer.ids))], None, *named))
        ids += [*question, *answer.ids, Mark.EOS]
        targets += [-100] * len(question) + [*answer.ids, Mark.EOS]
        answers += [False] * len(question) + [True] * (len(answer.ids) + 1)
    segments.append(len(ids) - context)
    return Transcript(ids, targets, answers, segments, aims, ties)


def _place(pages: Sequence[Sequence[str]], query: Query) -> tuple[int, int] | None:
    """(page, character in the page's text) where the answer stands; None if it is nowhere, or what states it stands more than once."""
    if not query.fact or query.answer not in query.fact:
        return None
    places = []
    for page, lines in enumerate(pages):
        if "\n" in query.fact:
            text = "\n".join(lines)
            if f"\n{query.fact}\n" in f"\n{text}\n":
                places.append((page, f"\n{text}\n".index(f"\n{query.fact}\n")))
            continue
        start = 0
        for line in lines:
            # A fact is a line, or a sentence of a paragraph.
            if line == query.fact or (len(line) > len(query.fact) and f" {query.fact} " in f" {line} "):
                places.append((page, start + line.index(query.fact)))
            start += len(line) + 1
    if len(places) != 1:
        return None
    page, at = places[0]
    return page, at + query.fact.rfind(query.answer)
