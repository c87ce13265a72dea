"""Citations: every page that was read, and the lines that speak to the answer marked with their exact boxes."""

from dataclasses import replace

from app.citations import cite, mark
from retrieval.types import Chunk, DocumentRow, PageRef, PageRow, Pick, Plan


def page(key: str, *lines: str) -> PageRow:
    boxes = tuple((line, 4.0, 8.0 * n, 100.0, 8.0 * n + 8.0) for n, line in enumerate(lines))
    return PageRow(key, 224.0, 112.0, boxes, {72: 100, 120: 290})


PAGES = {
    "p": page("p", "The owner of Brobo tower is Mapeas", "Daima.", "Brobo tower has gate 21127.", "Gray farm has gate 21127."),
    "q": page("q", "Gray farm: fuel coal.", "Its price is $23,890."),
    "scan": replace(page("scan", "Bolt tower has gate 77."), kind="native"),
    "photo": replace(page("photo"), kind="native"),
}
DOCUMENT = DocumentRow("d", "default", "a.txt", "", "", 0, "text/plain", 0)


def marks(question: str, answer: str, keys: tuple[str, ...] = ("p", "q")) -> list[tuple[str, int, str]]:
    picks = tuple(Pick(Chunk(n, "d", n, "", 0, 0), PageRef(key, {72: 100}), 72, 0.5, "context") for n, key in enumerate(keys))
    citations = mark(cite(Plan(picks, (0, 1)), {"d": DOCUMENT}, PAGES), PAGES, question, answer)
    assert [citation.page for citation in citations] == list(keys)
    return [(citation.page, line.index, line.why) for citation in citations for line in citation.lines]


def test_the_line_that_holds_the_answer_is_marked() -> None:
    assert marks("What is the price of Gray farm?", "$23,890") == [("q", 1, "has the answer's words")]


def test_an_answer_that_runs_over_the_end_of_a_line_marks_both_lines() -> None:
    assert marks("Who is the owner of Brobo tower?", "Mapeas Daima") == [
        ("p", 0, "has the answer's words"),
        ("p", 1, "has the answer's words"),
    ]


def test_of_two_lines_with_the_answers_words_the_one_that_was_asked_about_is_marked() -> None:
    assert marks("What is the gate of Brobo tower?", "21127") == [("p", 2, "has the answer's words")]


def test_an_answer_that_stands_nowhere_marks_the_line_closest_to_the_question_and_says_so() -> None:
    assert marks("What is the fuel of Gray farm?", "hydrogen") == [("q", 0, "closest to the question")]


def test_a_row_under_a_heading_speaks_of_its_heading() -> None:
    rows = {"p": page("p", "Gray farm:", "  its fuel is coal", "Brobo tower:", "  its fuel is gas"), "q": PAGES["q"]}
    picks = (Pick(Chunk(0, "d", 0, "", 0, 0), PageRef("p", {72: 100}), 72, 0.5, "context"),)
    citations = mark(cite(Plan(picks, (0,)), {"d": DOCUMENT}, rows), rows, "Which fuel does Brobo tower have?", "diesel")
    assert [line.index for line in citations[0].lines] == [3]


def test_a_possessive_is_not_a_word_of_the_question() -> None:
    rows = {"p": page("p", "The yellow school's gate is 39044.", "The yellow school, warranty: 100 years.")}
    picks = (Pick(Chunk(0, "d", 0, "", 0, 0), PageRef("p", {72: 100}), 72, 0.5, "context"),)
    citations = mark(cite(Plan(picks, (0,)), {"d": DOCUMENT}, rows), rows, "What is the yellow school's warranty?", "10 years")
    assert [line.index for line in citations[0].lines] == [1]


def test_nothing_in_common_marks_nothing() -> None:
    assert marks("Why?", "zebra") == []


def test_a_word_is_not_found_inside_another_word() -> None:
    assert ("q", 0, "has the answer's words") not in marks("What is burnt?", "oal")


def test_the_box_is_the_lines_own() -> None:
    citations = mark(
        cite(Plan((Pick(Chunk(0, "d", 0, "", 0, 0), PageRef("q", {72: 100}), 72, 0.5, "context"),), (0,)), {"d": DOCUMENT}, PAGES),
        PAGES,
        "price?",
        "$23,890",
    )
    assert citations[0].lines[0].box == (4.0, 8.0, 100.0, 16.0)


def test_a_line_that_was_recognised_on_a_scan_is_marked_like_any_other() -> None:
    assert marks("What is the gate of Bolt tower?", "77", ("q", "scan", "photo")) == [("scan", 0, "has the answer's words")]


def test_a_picture_on_which_no_text_is_known_is_marked_whole_where_no_line_has_the_answer() -> None:
    found = marks("What is the fuel of Gray farm?", "hydrogen", ("q", "photo"))
    assert found == [("q", 0, "closest to the question"), ("photo", 0, "closest to the question")]
