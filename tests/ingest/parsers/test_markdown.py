"""Markdown reads as it shows: no marks of emphasis, every word kept."""

import pytest

from ingest.errors import NoText
from ingest.parsers.markdown import parse
from ingest.types import Limits


def text(source: str) -> str:
    return parse(source.encode(), Limits()).text


def test_headings_make_a_path_that_the_text_beneath_carries() -> None:
    parsed = parse(b"# Book\n\n## One\n\ntext *with* **marks** and `code`\n\nTwo\n---\n\nmore\n", Limits())
    found = [(parsed.text[block.start : block.end], block.kind, block.heading) for block in parsed.blocks]
    assert found == [
        ("Book", "heading", "Book"),
        ("One", "heading", "Book > One"),
        ("text with marks and code", "paragraph", "Book > One"),
        ("Two", "heading", "Book > Two"),
        ("more", "paragraph", "Book > Two"),
    ]


def test_items_keep_their_bullets_numbers_and_depth() -> None:
    assert text("- one\n- two\n  1. inner\n  2. more\n\n     second part\n- three\n") == (
        "- one\n- two\n  1. inner\n  2. more\n    second part\n- three"
    )
    assert text("7. seven\n8. eight\n") == "7. seven\n8. eight"


def test_a_table_is_rows() -> None:
    parsed = parse(b"before\n\n| a | b |\n|---|---|\n| 1 | **2** |\n| | 3 |\n", Limits())
    assert parsed.text == "before\n\na | b\n1 | 2\n | 3"
    assert parsed.blocks[-1].kind == "table"


def test_code_stands_as_it_is_written() -> None:
    assert text("```python\ndef f():\n    return 1\n```\n") == "def f():\n    return 1"


def test_a_soft_break_is_a_space_and_a_hard_break_a_line() -> None:
    assert text("one\ntwo  \nthree\n") == "one two\nthree"


def test_links_read_as_their_words_and_pictures_as_their_description() -> None:
    assert text("see [the docs](http://x.example/secret) and ![a cat](cat.png)\n") == "see the docs and a cat"


def test_html_inside_reads_as_a_browser_shows_it() -> None:
    assert text("<div><script>alert(1)</script><p>seen</p></div>\n\nafter <b>bold</b>\n") == "seen\n\nafter bold"


def test_front_matter_is_rows_not_a_heading() -> None:
    parsed = parse(b"---\ntitle: x\ndate: 1\n---\n\nbody\n", Limits())
    assert parsed.text == "title: x\ndate: 1\n\nbody"
    assert all(block.kind == "paragraph" for block in parsed.blocks)


def test_marks_alone_are_no_text() -> None:
    with pytest.raises(NoText):
        parse(b"---\n\n***\n", Limits())


def test_lists_thirty_deep_keep_their_words_and_what_is_too_deep_is_noted() -> None:
    assert "word30" in text("".join("  " * n + f"- word{n}\n" for n in range(31)))
    parsed = parse(b"seen\n\n" + b">" * 5000 + b" word\n", Limits())
    assert parsed.text == "seen"
    assert parsed.notes == ("what is nested more than 100 deep is left out",)
