"""Lines with boxes become rows, columns and paragraphs; none is lost."""

from hypothesis import given
from hypothesis import strategies as st

from ingest.parsers.layout import Line, regions

PROSE = "these are words of a column that runs on"


def line(text: str, x: float, y: float, size: float = 10.0, width: float | None = None) -> Line:
    return Line(text, x, y - 8, x + (width if width is not None else 5.0 * len(text)), y + 2, y, size)


def test_two_columns_are_read_one_after_the_other() -> None:
    left = [line(f"left {n} {PROSE}", 50, 100 + 12 * n, width=230) for n in range(8)]
    right = [line(f"right {n} {PROSE}", 300, 100 + 12 * n, width=230) for n in range(8)]
    title = line("A title across both of the columns of this page", 100, 60, width=350)
    mixed = [each for pair in zip(right, left, strict=True) for each in pair]
    text = "\n".join(region.text for region in regions([*mixed, title]))
    assert text.startswith("A title")
    assert text.index("left 7") < text.index("right 0")


def test_cells_side_by_side_are_one_row() -> None:
    cells = [line(word, x, y) for y in (100, 112) for x, word in ((300, "22,650"), (50, "Alabama"), (200, "23,022"), (120, "18,870"))]
    (table,) = regions(cells)
    assert table.table
    assert table.text == "Alabama 18,870 23,022 22,650\nAlabama 18,870 23,022 22,650"


def test_full_lines_are_joined_and_a_line_that_ends_early_stays_a_line() -> None:
    rows = [line("Name: Bo", 50, 100), line("a full line up to the margin of the column and", 50, 112, width=300), line("its end", 50, 124)]
    (region,) = regions(rows)
    assert region.text == "Name: Bo\na full line up to the margin of the column and its end"


def test_a_word_parted_at_the_line_s_end_is_whole_again() -> None:
    rows = [
        line("a line of which the last word is bro-", 50, 100, width=300),
        line("ken, as it is in Lucene-", 50, 112, width=300),
        line("BM25", 50, 124),
    ]
    (region,) = regions(rows)
    assert region.text == "a line of which the last word is broken, as it is in Lucene-BM25"


def test_a_wide_gap_or_another_size_parts_paragraphs() -> None:
    rows = [line("Heading", 50, 80, 16.0), *(line(PROSE, 50, 100 + 12 * n, width=300) for n in range(4)), line("after a gap", 50, 170)]
    assert [region.size for region in regions(rows)] == [16.0, 10.0, 10.0]


def test_right_to_left_rows_are_read_from_the_right() -> None:
    (row,) = regions([line("שלום", 200, 100), line("עולם", 50, 100), line("מה", 10, 100)])
    assert row.text == "שלום עולם מה"


@given(
    st.lists(
        st.tuples(st.text("abc ", min_size=1, max_size=40), st.floats(0, 600), st.floats(0, 800), st.sampled_from([6.0, 10.0, 24.0])),
        max_size=60,
    )
)
def test_every_character_comes_out_once(rows: list[tuple[str, float, float, float]]) -> None:
    found = "".join(region.text for region in regions(line(*row) for row in rows))
    given_text = "".join(row[0] for row in rows)
    assert sorted("".join(found.split())) == sorted("".join(given_text.split()))
