"""Text on pictures: where it may be looked for, and pieces of a line put together again."""

import pytest

from ingest.ocr import joined, why_not


def test_turned_off_is_said_whatever_is_installed() -> None:
    assert why_not("off") == "text recognition is turned off (ocr)"


def test_pieces_side_by_side_are_one_line_with_one_box() -> None:
    assert joined([("Gate", 0.1, 0.2, 0.35, 0.7), ("77312", 0.34, 0.19, 0.8, 0.7), ("below", 0.1, 0.8, 0.3, 0.95)], 4.0) == [
        ("Gate 77312", 0.1, 0.19, 0.8, 0.7),
        ("below", 0.1, 0.8, 0.3, 0.95),
    ]


@pytest.mark.parametrize(
    "second",
    [("next column", 0.6, 0.1, 0.9, 0.12), ("next line", 0.1, 0.12, 0.4, 0.14), ("half a line lower", 0.42, 0.111, 0.6, 0.131)],
    ids=lambda piece: piece[0],
)
def test_columns_and_lines_stay_apart(second: tuple[str, float, float, float, float]) -> None:
    pieces = [("first", 0.1, 0.1, 0.4, 0.12), second]
    assert joined(pieces, 0.7) == pieces
