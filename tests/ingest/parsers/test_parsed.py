"""A draft keeps its blocks in order and its notes few."""

from ingest.parsers.parsed import Draft
from ingest.types import Limits


def test_a_note_is_said_once_and_of_very_many_the_rest_are_counted() -> None:
    draft = Draft(Limits())
    draft.add("words")
    for number in range(5000):
        draft.note(f"page {number // 2} could not be read")
    notes = draft.finish().notes
    assert notes[:2] == ("page 0 could not be read", "page 1 could not be read")
    assert len(notes) == 21
    assert notes[-1] == "and 4,960 more"


def test_headings_close_the_sections_of_their_level_and_below() -> None:
    draft = Draft(Limits())
    for title, level in (("a", 1), ("b", 2), ("c", 3), ("d", 2)):
        draft.heading(title, level)
    assert [block.heading for block in draft.finish().blocks] == ["a", "a > b", "a > b > c", "a > d"]
