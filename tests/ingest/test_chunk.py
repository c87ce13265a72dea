"""Chunks: each fills a page and never exceeds it; every character is in exactly one, where it says it is."""

import itertools
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ingest.chunk import chunk, chunk_id
from ingest.errors import TooLarge
from ingest.parsers import markdown
from ingest.parsers.parsed import Parsed
from ingest.parsers.text import parse
from ingest.types import Block, Document, Limits
from renderer.paginate import paginate
from renderer.styles import preset
from renderer.types import PageStyle
from retrieval.types import Chunk

READER = preset("reader")
GLYPH = preset("glyph-a4")
MARKED = replace(GLYPH, newline="mark", height=140.0)
STYLES = {
    "reader": READER,
    "glyph": GLYPH,
    "small": replace(GLYPH, height=140.0),
    "marked": MARKED,
    "both": replace(MARKED, sentence_lines=True),
}


def made(parsed: Parsed) -> Document:
    return Document("a.txt", "", "", 0, "", parsed.text, parsed.blocks, parsed.source_pages)


def of(text: str) -> Document:
    return made(parse(text.encode(), Limits()))


def cut(document: Document, style: PageStyle, limits: Limits | None = None) -> list[Chunk]:
    return chunk(document, "doc", style, limits or Limits())


def bare(text: str) -> str:
    return "".join(text.replace("\u200b", " ").split())


def check(document: Document, style: PageStyle) -> list[Chunk]:
    chunks = cut(document, style)
    assert bare("".join(piece.text for piece in chunks)) == bare(document.text)
    assert [piece.ordinal for piece in chunks] == list(range(len(chunks)))
    assert len({piece.id for piece in chunks}) == len(chunks)
    for piece in chunks:
        assert bare(document.text[piece.start : piece.end]) == bare(piece.text)
        assert len(paginate(piece.text, style)) == 1
        assert piece.text.rstrip() == piece.text
    assert all(before.end <= after.start for before, after in itertools.pairwise(chunks))
    return chunks


WORDS = st.text(alphabet="ab\u4f60\u3002.!?:-  \n", max_size=400)
LONG = st.integers(0, 1500).map(lambda count: "w" * count)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.one_of(
            WORDS, LONG, st.sampled_from(["\x0c", "\n\n", "  row: 1\n", "Head:\n", "\u0301", "\u200b x", "\x0c\u200b" * 9, "\u200b" * 5000])
        ),
        max_size=8,
    ),
    st.sampled_from(sorted(STYLES)),
)
def test_every_character_is_in_exactly_one_chunk_that_fits_a_page(parts: list[str], style: str) -> None:
    text = "".join(parts)
    check(of("a" + text), STYLES[style])


def test_records_come_out_as_they_are_a_page_a_chunk() -> None:
    pages = [
        ["Gray farm:", *(f"  fact{n}: value {n} of the farm" for n in range(11))],
        [*(f"  late{n}: {n}" for n in range(3)), "Red mill:", *(f"  its part{n} is Bo{n}" for n in range(8))],
        [f"The owner of mill {n} is Bo Ek." for n in range(12)],
    ]
    chunks = check(of("\x0c".join("\n".join(page) + "\n" for page in pages)), READER)
    assert [piece.text.split("\n") for piece in chunks] == pages
    assert [piece.source_page for piece in chunks] == [1, 2, 3]
    assert [piece.heading for piece in chunks] == ["Gray farm", "Gray farm", ""]


def test_lines_without_form_feeds_go_twelve_to_a_page() -> None:
    lines = [f"The owner of mill {n} is Bo Ek." for n in range(30)]
    chunks = check(of("\n".join(lines)), READER)
    assert [len(piece.text.split("\n")) for piece in chunks] == [12, 12, 6]


def test_a_form_feed_always_starts_a_chunk() -> None:
    for style in STYLES.values():
        assert [piece.text for piece in cut(of("a\x0cb\x0cc"), style)] == ["a", "b", "c"]


def test_sentences_stand_on_lines_of_their_own_where_the_style_asks() -> None:
    text = "One is here. Two is there. Three is gone."
    assert cut(of(text), READER)[0].text == "One is here.\nTwo is there.\nThree is gone."
    assert cut(of(text), GLYPH)[0].text == text


def test_a_page_is_filled_to_the_last_sentence_that_fits() -> None:
    text = " ".join(f"This is sentence number {n} of a long paragraph." for n in range(400))
    chunks = check(of(text), GLYPH)
    for piece, following in itertools.pairwise(chunks):
        assert piece.text.endswith("paragraph.")
        more = piece.text + " " + following.text.split(". ")[0] + "."
        assert len(paginate(more, replace(GLYPH, blank_after_break=0))) == 2


@pytest.mark.parametrize("style", [READER, GLYPH])
def test_a_sentence_longer_than_a_page_is_cut_at_a_word_and_a_longer_word_hard(style: PageStyle) -> None:
    words = check(of("lorem ipsum " * 2000), style)
    assert len(words) > 2
    assert all(piece.text.split(" ")[0] in ("lorem", "ipsum") and piece.text.split(" ")[-1] in ("lorem", "ipsum") for piece in words)
    letters = check(of("x" * 30_000), style)
    full = {len(piece.text) for piece in letters[:-1]}
    assert len(full) == 1, "every page but the last holds as many letters as go on it"


def sections(lines: int) -> Document:
    source = "# Book\n\n" + "".join(f"## Part {n}\n\n" + "\n".join(f"- item {n} {i}" for i in range(lines)) + "\n\n" for n in range(4))
    return made(markdown.parse(source.encode(), Limits()))


def test_a_section_starts_a_page_if_the_page_before_is_half_full() -> None:
    texts = [piece.text.split("\n") for piece in check(sections(7), READER)]
    assert [text[0] for text in texts] == ["Book", "Part 1", "Part 2", "Part 3"]


def test_small_sections_share_a_page() -> None:
    assert len(check(sections(2), READER)) == 2


def test_a_heading_stays_with_what_follows_and_names_the_chunk() -> None:
    source = "\n".join(f"- item {n}" for n in range(11)) + "\n\n# Only heading\n\nIts text is here.\n"
    chunks = check(made(markdown.parse(source.encode(), Limits())), READER)
    assert chunks[1].text == "Only heading\nIts text is here."
    assert chunks[1].heading == "Only heading"


def test_a_source_page_is_a_boundary_only_if_the_page_is_nearly_full() -> None:
    def paged(first: int) -> list[Chunk]:
        lines = [f"line {n} is here." for n in range(20)]
        text = "\n\n".join(lines)
        starts = [text.index(line) for line in lines]
        blocks = tuple(Block(at, at + len(line), "", 1 if n < first else 2) for n, (at, line) in enumerate(zip(starts, lines, strict=True)))
        return check(Document("a", "", "", 0, "", text, blocks, 2), READER)

    assert paged(10)[0].text.count("\n") + 1 == 10
    assert paged(10)[1].source_page == 2
    assert paged(3)[0].text.count("\n") + 1 == 12


def test_too_many_pages_are_refused_without_laying_out_the_rest() -> None:
    document = of("lorem ipsum " * 100_000)
    with pytest.raises(TooLarge, match=r"a\.txt: more than 10 pages of style reader \(rendered_pages\) after 0 % of the text"):
        cut(document, READER, Limits(rendered_pages=10))
    few = of("x\x0cy")
    assert len(cut(few, READER, Limits(rendered_pages=2))) == 2


def test_an_id_is_the_same_in_every_run_and_differs_by_document_place_and_text() -> None:
    assert chunk_id("d", 0, "t") == 6_689_286_932_869_007_587
    ids = {chunk_id("d", 0, "t"), chunk_id("e", 0, "t"), chunk_id("d", 1, "t"), chunk_id("d", 0, "u")}
    assert len(ids) == 4
    assert all(0 <= each < 1 << 63 for each in ids)
