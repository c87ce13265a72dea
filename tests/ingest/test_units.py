"""Units: sentences of prose, lines that are lines already, and the breaks a source asks for."""

import itertools

from hypothesis import given
from hypothesis import strategies as st

from ingest.parsers.text import parse
from ingest.types import Block, Document, Limits
from ingest.units import sentences, units


def split(text: str, language: str = "en") -> list[str]:
    return [text[start:end] for start, end in sentences(text, language)]


def of(text: str) -> Document:
    parsed = parse(text.encode(), Limits())
    return Document("a.txt", "", "", len(text), "text/plain", parsed.text, parsed.blocks, parsed.source_pages)


def test_sentences_end_where_a_reader_ends_them() -> None:
    assert split("Mr. Bo owes $5.20. He pays!  Does he? Yes") == ["Mr. Bo owes $5.20.", "He pays!", "Does he?", "Yes"]
    assert split("你好世界。再见！好") == ["你好世界。", "再见！", "好"]


def test_a_number_goes_with_the_words_it_counts() -> None:
    assert split("3.2. Foo is here. 4. Bar.") == ["3.2. Foo is here.", "4. Bar."]


@given(st.text(alphabet='ab.!? 1\u3002\u4f60("', max_size=80))
def test_sentences_cover_every_character_in_order(text: str) -> None:
    spans = list(sentences(text))
    assert all(start < end for start, end in spans)
    assert all(before[1] <= after[0] for before, after in itertools.pairwise(spans))
    assert "".join("".join(text[start:end].split()) for start, end in spans) == "".join(text.split())


def test_indented_rows_stay_lines_and_keep_their_indent() -> None:
    document = of("Red mill:\n  price: $5. 3 left\nOne. Two.\n")
    assert [document.text[unit.start : unit.end] for unit in units(document)] == ["Red mill:", "  price: $5. 3 left", "One.", "Two."]


def test_a_form_feed_forces_a_break_before_the_first_line_of_its_page() -> None:
    document = of("a\nb\n\x0cc\nd\n")
    assert [unit.forced for unit in units(document)] == [False, False, True, False]


def test_only_headings_of_the_highest_repeated_level_part_sections() -> None:
    text = "T\n\nA\n\nx\n\nB\n\ny"
    blocks = (
        Block(0, 1, "T", kind="heading"),
        Block(3, 4, "T > A", kind="heading"),
        Block(6, 7, "T > A"),
        Block(9, 10, "T > B", kind="heading"),
        Block(12, 13, "T > B"),
    )
    document = Document("a", "", "", 0, "", text, blocks)
    assert [unit.section for unit in units(document)] == [False, True, False, True, False]
