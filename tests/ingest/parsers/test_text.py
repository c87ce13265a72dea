"""Plain text: lines stay lines, form feeds are pages, rows know their heading."""

import pytest

from ingest.errors import NoText, TooLarge
from ingest.parsers.text import parse
from ingest.types import Limits


def test_blank_lines_part_paragraphs_and_lines_stay_as_they_are() -> None:
    parsed = parse(b"one\n  two\n\n\n\nthree  \n", Limits())
    assert parsed.text == "one\n  two\n\nthree"
    assert [parsed.text[block.start : block.end] for block in parsed.blocks] == ["one\n  two", "three"]
    assert parsed.source_pages == 0
    assert {block.page for block in parsed.blocks} == {None}


def test_a_form_feed_is_a_printed_page_and_a_last_one_ends_the_last() -> None:
    parsed = parse(b"one\x0ctwo\n\nmore\x0c\x0cfour\x0c\n", Limits())
    assert [(parsed.text[block.start : block.end], block.page) for block in parsed.blocks] == [
        ("one", 1),
        ("two", 2),
        ("more", 2),
        ("four", 4),
    ]
    assert parsed.source_pages == 4
    assert parsed.text.count("\f") == 2


def test_rows_stand_under_their_heading_line_also_on_the_next_page() -> None:
    parsed = parse(b"Gray farm:\n  fuel: coal\n\x0c  staff: 8\nRed mill:\n  owner: Bo\nA sentence.\n", Limits())
    found = [(parsed.text[block.start : block.end], block.heading) for block in parsed.blocks]
    assert found == [
        ("Gray farm:\n  fuel: coal", "Gray farm"),
        ("  staff: 8", "Gray farm"),
        ("Red mill:\n  owner: Bo", "Red mill"),
        ("A sentence.", ""),
    ]
    assert "  staff: 8\nRed mill:\n  owner: Bo\nA sentence." in parsed.text, "no blank line comes in that the file does not have"


@pytest.mark.parametrize("data", [b" \n\t\r\n", "\ufeff\u200b\n".encode(), b"\x0c\x0c"])
def test_white_space_alone_is_no_text(data: bytes) -> None:
    with pytest.raises(NoText):
        parse(data, Limits())


def test_too_many_characters_name_the_setting() -> None:
    with pytest.raises(TooLarge, match=r"10 characters of text \(text_chars\)"):
        parse(b"a" * 11, Limits(text_chars=10))
