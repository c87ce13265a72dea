"""A course and a random generator in; contexts with questions, as rows of tokens with their targets and what each should look at, out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random

from torch import Tensor

from eval.records import WIDTH, Query, build, sections

from .model import Segment
from .pages import Press, Sheet
from .tokenizer import Mark, Vocabulary

# Two in three pages are drawn at 72 DPI, as most of a served context is.
_DPIS = (72, 72, 120)
# No more lines than this in a lesson, all its pages together.
_MOST_LINES = 48


@dataclass(frozen=True)
class Course:
    """What the answer stage is taught. Shares are between 0 and 1.

    pages: most pages of a context; shortest, longest: lines of a page; text: share of contexts given as text (they teach the tower to find
    and to copy before the eye is sharp); sections: share of contexts that are rows under headings; hops, dense, absent: as in
    `records.build`; questions: asked of one context, which is read once for all of them; finds: "Find: some words" tasks beside them, which
    are answered with the rest of the line; gap: most positions skipped between pages, so that places far out are met.
    """

    pages: int = 1
    shortest: int = 10
    longest: int = 12
    text: float = 0.3
    sections: float = 0.3
    hops: float = 0.2
    dense: float = 0.6
    absent: float = 0.2
    questions: int = 6
    finds: int = 2
    gap: int = 0


@dataclass
class Lesson:
    """A context and all that may be asked of it. `sheets` has the pages as images, page by page; None: they are given as text.

    `features` are what the eye saw, one tensor a sheet; the answer stage fills them in once.
    """

    pages: tuple[tuple[str, ...], ...]
    queries: tuple[Query, ...]
    sheets: tuple[tuple[Sheet, ...], ...] | None
    features: list[Tensor] = field(default_factory=list)

    def flat(self) -> list[Sheet]:
        return [sheet for page in self.sheets or () for sheet in page]

    def span(self, course: Course) -> int:
        """About how many rows the lesson takes; lessons of like span are trained together."""
        tokens = (sheet.tokens for sheet in self.flat())
        context = sum(17 * len(page) for page in self.pages) if self.sheets is None else sum(rows * columns for rows, columns in tokens)
        return context + 24 * (min(course.questions, len(self.queries)) + course.finds)


@dataclass(frozen=True)
class Transcript:
    """A lesson as the model sees it: ids; targets (-100: none) standing at their own row; which targets are answers; the segments for
    positions; and aims: (row that predicts, rows it should look at).
    """

    ids: list[int]
    targets: list[int]
    answers: list[bool]
    segments: list[Segment]
    aims: list[tuple[int, list[int]]]


def draw_lesson(rng: Random, course: Course, press: Press) -> Lesson:
    pages = rng.choice((1, 2, rng.randint(1, course.pages))) if course.pages > 1 else 1
    lines = rng.randint(course.shortest, max(course.shortest, min(course.longest, _MOST_LINES // pages)))
    dpis = [rng.choice(_DPIS) for _ in range(pages)]
    if rng.random() < course.sections:
        context = sections(rng, pages, lines, absent=course.absent)
    else:
        context = build(rng, pages, lines, width=WIDTH, hops=course.hops, dense=course.dense, absent=course.absent)
    if rng.random() < course.text:
        return Lesson(context.pages, context.queries, None)
    sheets = tuple(tuple(press.print("\n".join(page), dpi)) for page, dpi in zip(context.pages, dpis, strict=True))
    return Lesson(context.pages, context.queries, sheets)


def find(rng: Random, lines: Sequence[str]) -> Query:
    """Continue a line of the page: the densest practice in finding and copying that a page can give."""
    line = rng.choice(lines)
    words = line.strip().split(" ")
    if len(words) < 3:
        return Query(f"Find: {words[0]}", line.strip(), 1, line)
    cut = rng.randint(1, len(words) - 2)
    first = rng.randint(0, cut - 1)
    return Query("Find: " + " ".join(words[first:cut]), " ".join(words[cut:]), 1, line)


def transcribe(rng: Random, lesson: Lesson, course: Course, vocabulary: Vocabulary) -> Transcript:
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

    context = len(ids)
    # A text context is itself text to learn; an image's tokens are not words.
    targets = [i if lesson.sheets is None and row > len(vocabulary.prefix) else -100 for row, i in enumerate(ids)]
    answers = [False] * context
    aims: list[tuple[int, list[int]]] = []
    queries = rng.sample(lesson.queries, min(course.questions, len(lesson.queries)))
    queries += [find(rng, rng.choice(lesson.pages)) for _ in range(course.finds)]
    rng.shuffle(queries)
    for query in queries:
        # The first question stands in the turn that the prefix opened.
        before = [Mark.USER, vocabulary.newline] if len(ids) > context else []
        asked = [*before, *vocabulary.encode(query.question).ids, Mark.ASSISTANT, vocabulary.newline]
        answer = vocabulary.encode(query.answer)
        place = _place(lesson.pages, query)
        if place:
            leaf, offset = place
            for i, (a, b) in enumerate(answer.spans):
                # The row before a piece is the one that predicts it.
                if there := rows_of(leaf, offset + a, offset + b):
                    aims.append((len(ids) + len(asked) + i - 1, there))
        ids += [*asked, *answer.ids, Mark.EOS]
        targets += [-100] * len(asked) + [*answer.ids, Mark.EOS]
        answers += [False] * len(asked) + [True] * (len(answer.ids) + 1)
    segments.append(len(ids) - context)
    return Transcript(ids, targets, answers, segments, aims)


def _place(pages: Sequence[Sequence[str]], query: Query) -> tuple[int, int] | None:
    """(page, character in the page's text) where the answer stands; None if it is nowhere, or its line stands more than once."""
    places = [(page, row) for page, lines in enumerate(pages) for row, line in enumerate(lines) if line == query.fact]
    if len(places) != 1 or query.answer not in query.fact:
        return None
    page, row = places[0]
    return page, sum(len(line) + 1 for line in pages[page][:row]) + query.fact.rfind(query.answer)
