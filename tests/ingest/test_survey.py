"""A corpus surveyed document by document: nothing twice, nothing of a file that failed, and honest where not all was drawn."""

from dataclasses import replace
from pathlib import Path

import pytest

from ingest.errors import TooLarge
from ingest.survey import Survey
from ingest.types import Block, Document
from ingest.workshop import Workshop


def document(name: str, lines: int, first: int = 0) -> Document:
    text = "\n".join(f"Line {number} of the ledger, and no other." for number in range(first, first + lines))
    return Document(name, name, name, len(text), "text/plain", text, (Block(0, len(text)),))


def nothing(*_: object) -> None:
    pass


def survey(workshop: Workshop, sheets: int = 100, documents: int = 1) -> Survey:
    return Survey(workshop, sheets, documents, None, lambda: False)


def test_a_page_that_two_documents_share_is_counted_once_and_so_are_its_patches(workshop: Workshop) -> None:
    one, two = survey(workshop), survey(workshop)
    one.take(Path("none"), document("a", 60), nothing)
    two.take(Path("none"), document("a", 60), nothing)
    two.take(Path("none"), document("b", 60), nothing)
    alone, both = one.totals(), two.totals()
    assert both["chunks"].value == 2 * alone["chunks"].value
    same = [name for name in one.names if name not in ("chunks", "chunking", "drawing")]
    assert {name: both[name].value for name in same} == {name: alone[name].value for name in same}
    assert alone["patches"].value == 4 * (alone["pages"].value - 1) > 0
    assert len(two.specimens) == len(one.specimens)


def test_a_document_that_fails_adds_nothing(workshop: Workshop) -> None:
    workshop.limits = replace(workshop.limits, rendered_pages=1)
    found = survey(workshop)
    with pytest.raises(TooLarge):
        found.take(Path("none"), document("long", 200), nothing)
    assert (found.drawn, found.characters, found.specimens) == (0, 0, [])
    assert all(amount.value == 0 for amount in found.totals().values())
    found.take(Path("none"), document("short", 3), nothing)
    assert found.totals()["pages"].value == 1


def test_of_a_long_document_a_part_is_drawn_and_only_what_hangs_on_drawing_gets_a_range(workshop: Workshop) -> None:
    whole, part = survey(workshop), survey(workshop, sheets=3)
    whole.take(Path("none"), document("long", 300), nothing)
    part.take(Path("none"), document("long", 300), nothing)
    assert part.sheets_drawn == 3 < whole.sheets_drawn
    true, told = whole.totals(), part.totals()
    for name in ("chunks", "pages", "patches"):
        assert told[name].exact
        assert told[name].value == true[name].value
    for dpi in workshop.dpis:
        rows = told[f"rows@{dpi}"]
        assert rows.low <= true[f"rows@{dpi}"].value <= rows.high
        assert not rows.exact
        assert true[f"rows@{dpi}"].exact


def test_a_document_that_speaks_for_itself_alone_does_not_decide_what_the_others_are(workshop: Workshop) -> None:
    """Short files have more pages for their characters than one long file."""
    found = survey(workshop, documents=2)
    found.take(Path("none"), document("long", 100), nothing, speaks=False)
    found.take(Path("none"), document("short", 2, first=500), nothing)
    found.pass_by(document("other", 2, first=700))
    long, short = found._measured[0][1], found._measured[1][1]
    assert found.totals()["pages"].value == pytest.approx(long + 2 * short)


def test_what_a_short_document_leaves_over_a_long_one_may_use(workshop: Workshop) -> None:
    found = survey(workshop, sheets=7, documents=2)
    found.take(Path("none"), document("short", 2), nothing)
    found.take(Path("none"), document("long", 300, first=100), nothing)
    assert found.sheets_drawn == 7


def test_a_document_that_is_passed_by_counts_by_its_characters(workshop: Workshop) -> None:
    found = survey(workshop)
    found.take(Path("none"), document("a", 40), nothing)
    before = found.totals()["pages"].value
    found.pass_by(document("b", 80, first=40))
    assert found.totals()["pages"].value == pytest.approx(before * found.characters / len(document("a", 40).text))
    assert not found.totals()["pages"].exact
