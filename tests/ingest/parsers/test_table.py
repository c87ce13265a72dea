"""Every block of a table begins with its column names, and every row is in exactly one block."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from ingest.parsers.parsed import Draft, Parsed
from ingest.parsers.table import CHARS, ROWS, is_header, write_table
from ingest.types import Limits


def written(*rows: list[str]) -> Parsed:
    draft = Draft(Limits())
    write_table(draft, rows)
    return draft.finish()


def blocks(parsed: Parsed) -> list[str]:
    return [parsed.text[block.start : block.end] for block in parsed.blocks]


def test_a_long_table_names_its_columns_in_every_block() -> None:
    parsed = written(["town", "people"], *([f"town{n}", str(n)] for n in range(3 * ROWS)))
    assert len(parsed.blocks) == 3
    assert all(block.kind == "table" for block in parsed.blocks)
    assert all(block.startswith("town | people\ntown") for block in blocks(parsed))
    assert [line for block in blocks(parsed) for line in block.split("\n")[1:]] == [f"town{n} | {n}" for n in range(3 * ROWS)]


def test_long_rows_make_shorter_blocks() -> None:
    parsed = written(["a", "b"], *(["x" * 300, str(n)] for n in range(12)))
    assert max(map(len, blocks(parsed))) < CHARS + 320
    assert all(block.startswith("a | b\n") for block in blocks(parsed))


def test_a_title_over_the_table_is_not_its_first_row() -> None:
    assert written(["Cups", "", ""], ["team", "town", "cups"], ["Blues", "STL", "1"]).text == "Cups\n\nteam | town | cups\nBlues | STL | 1"


def test_rows_without_words_are_left_out_and_line_ends_in_cells_become_spaces() -> None:
    assert written(["a", "b"], ["", " "], ["1\n2", "3"], []).text == "a | b\n1 2 | 3"


def test_names_alone_and_rows_alone_are_kept() -> None:
    assert written(["a", "b"]).text == "a | b"
    assert written(["1", "2"], ["3", "4"]).text == "1 | 2\n3 | 4"


def test_a_header_is_short_whole_distinct_and_without_numbers() -> None:
    assert is_header(["name", "2024 sales"])
    assert not any(map(is_header, (["name"], ["name", ""], ["a", "a"], ["a", "12.5"], ["a", "b" * 61])))


@given(st.lists(st.lists(st.booleans(), max_size=4), max_size=80))
def test_every_cell_comes_out_once_but_for_the_names(rows: list[list[bool]]) -> None:
    cells = [[f"r{number}c{column}" if filled else "" for column, filled in enumerate(row)] for number, row in enumerate(rows)]
    if not any(map(any, cells)):
        return
    seen = Counter(written(*cells).text.replace("|", " ").split())
    names = next((row for row in cells if any(row) and (sum(map(bool, row)) != 1 or len(row) == 1)), [])
    assert set(seen) == {cell for row in cells for cell in row if cell}
    assert all(seen[cell] == 1 for row in cells for cell in row if cell and row is not names)
