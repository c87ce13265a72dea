"""Leaves: pages of a document, each compiled once, in batches that the document alone decides."""

from collections.abc import Callable

import pytest
import torch

from ingest.errors import Cancelled
from ingest.leaves import Leaves, compile_missing, lay_out, missing_keys
from ingest.workshop import Workshop
from retrieval.types import Chunk

TEXTS = [f"Brobo tower has gate {number}." for number in range(3)]


def nothing(*_: object) -> None:
    pass


def never() -> bool:
    return False


@pytest.fixture
def leaves(workshop: Workshop) -> Leaves:
    chunks = [Chunk(number, "d", number, text, 0, len(text)) for number, text in enumerate([*TEXTS, TEXTS[0]])]
    return lay_out(chunks, workshop, nothing, never)


def test_every_chunk_is_one_page_and_a_page_that_stands_twice_is_laid_out_once(leaves: Leaves) -> None:
    assert [len(chunk.pages) for chunk in leaves.chunks] == [1, 1, 1, 1]
    assert len(leaves.pages) == 3
    assert leaves.chunks[0].pages == leaves.chunks[3].pages


def test_rows_are_the_visual_tokens_and_the_two_marks(leaves: Leaves, workshop: Workshop) -> None:
    compile_missing(leaves, workshop, nothing, never)
    for row in leaves.rows():
        for dpi, rows in row.rows.items():
            assert workshop.store.get(f"{row.key}@{dpi}").canonical.length == rows
        assert [line[0] for line in row.lines] == [next(page.text for page in leaves.pages if page.key == row.key)]


def test_what_is_compiled_is_not_compiled_again(leaves: Leaves, workshop: Workshop) -> None:
    assert len(compile_missing(leaves, workshop, nothing, never)) == 6
    assert compile_missing(leaves, workshop, nothing, never) == ()
    assert missing_keys(leaves.image_keys(workshop.dpis), workshop) == []


def test_a_batch_with_one_missing_page_makes_the_same_forward_again(leaves: Leaves, workshop: Workshop) -> None:
    """So a killed run ends in the same bytes: a page's rounding depends on its batch, and the batch on nothing but the document."""
    keys = compile_missing(leaves, workshop, nothing, never)
    before = {key: workshop.store.path(key).read_bytes() for key in keys}
    gone = keys[1]
    workshop.store.remove(gone)
    assert compile_missing(leaves, workshop, nothing, never) == (gone,)
    assert workshop.store.path(gone).read_bytes() == before[gone]


def test_progress_counts_to_the_end(leaves: Leaves, workshop: Workshop) -> None:
    seen: list[tuple[int, int]] = []
    compile_missing(leaves, workshop, lambda done, total: seen.append((done, total)), never)
    assert seen == sorted(seen)
    assert seen[-1] == (6, 6)


@pytest.mark.parametrize("step", [lay_out, compile_missing])
def test_a_stop_is_heard_before_the_next_page(leaves: Leaves, workshop: Workshop, step: Callable[..., object]) -> None:
    given = leaves.chunks if step is lay_out else leaves
    with pytest.raises(Cancelled):
        step(given, workshop, nothing, lambda: True)


def test_equal_pages_have_equal_caches_whatever_document_they_stand_in(leaves: Leaves, workshop: Workshop) -> None:
    compile_missing(leaves, workshop, nothing, never)
    again = lay_out([Chunk(9, "other", 0, TEXTS[1], 0, len(TEXTS[1]))], workshop, nothing, never)
    key = f"{again.pages[0].key}@120"
    kept = workshop.store.get(key).canonical
    assert compile_missing(again, workshop, nothing, never) == ()
    assert torch.equal(workshop.store.get(key).canonical.plain, kept.plain)
