"""A sample that is compiled: which batches it takes, and that the sizes it is told by are those of real caches and patches."""

from pathlib import Path

import pytest

from cache_compiler.compile import compile_pages
from cache_compiler.placed import row_bytes
from ingest.errors import Cancelled
from ingest.patching import Encodings, make, policy_keys
from ingest.pipeline import ingest
from ingest.policy import Policy
from ingest.spread import Amount
from ingest.trial import Rates, Specimen, draw, measure, patch_bytes
from ingest.workshop import Workshop
from renderer import paginate, rasterise
from retrieval.types import PageRef


def specimen(workshop: Workshop, *texts: str, weight: float = 1, before: str | None = None) -> Specimen:
    pages = tuple(paginate(text, workshop.style)[0] for text in texts)
    return Specimen(pages, paginate(before, workshop.style)[0] if before else None, weight)


def nothing(*_: object) -> None:
    pass


def test_batches_are_drawn_up_to_the_pages_asked_for_and_two_at_least(workshop: Workshop) -> None:
    batches = [specimen(workshop, f"{number} one", f"{number} two") for number in range(10)]
    assert len(draw(batches, 8)) == 4
    assert len(draw(batches, 1)) == 2
    assert draw(batches[:1], 8) == batches[:1]
    assert draw([], 8) == []


def test_a_heavy_batch_is_never_left_out_and_the_number_is_kept(workshop: Workshop) -> None:
    heavy = specimen(workshop, "long", weight=1000)
    light = [specimen(workshop, f"{number}") for number in range(9)]
    for at in (0, 4, 9):
        drawn = draw([*light[:at], heavy, *light[at:]], 3)
        assert heavy in drawn
        assert len(drawn) == 3


def test_a_row_and_a_patch_take_the_bytes_that_are_foretold(workshop: Workshop, records: Path) -> None:
    ingest([records / "b.txt"], "default", workshop)
    refs: list[PageRef] = []
    for row in workshop.catalogue.documents("default"):
        refs += [page for piece in workshop.catalogue.chunks_of(row.id) for page in piece.pages]
    encodings = Encodings(workshop)
    for rank in (1, 32, 4096):
        workshop.policy = Policy(rank=rank)
        for key in policy_keys(workshop, refs):
            patch = make(workshop, key, encodings)
            assert patch.bytes == patch_bytes(workshop, int(patch.rotary.left.shape[1]))
    for page in refs:
        for dpi, rows in page.rows.items():
            assert workshop.store.get(f"{page.key}@{dpi}").canonical.bytes == rows * row_bytes(workshop.backbone)


def test_the_only_page_of_a_batch_is_patched_behind_the_page_before_it(workshop: Workshop) -> None:
    alone = specimen(workshop, "The second page.", before="The first page.")
    rates = measure([alone], workshop, 2, nothing, lambda: False)
    assert (rates.pages, rates.patches) == (1, 4)
    assert 0 < rates.patch_row.low <= rates.patch_row.high
    first = measure([specimen(workshop, "The only page.")], workshop, 2, nothing, lambda: False)
    assert (first.pages, first.patches, first.patch_row) == (1, 0, Amount())


def test_headers_are_what_a_file_has_besides_its_tensors(workshop: Workshop) -> None:
    one = specimen(workshop, "The second page.", before="The first page.")
    rates = measure([one], workshop, 1, nothing, lambda: False)
    image = rasterise(one.pages[0], workshop.style, workshop.dpis[0])
    canonical = compile_pages(workshop.backbone, [image], workshop.prefix)[0]
    workshop.store.put(canonical)
    assert workshop.store.path(image.key).stat().st_size - canonical.bytes == pytest.approx(rates.cache_header, abs=16)
    assert rates.patch_header > rates.cache_header


def test_nothing_to_try_has_no_rates(workshop: Workshop) -> None:
    assert measure([], workshop, 2, nothing, lambda: False) == Rates()


def test_it_stops_before_the_next_forward(workshop: Workshop) -> None:
    steps: list[str] = []
    one = specimen(workshop, "One.", "Two.")
    with pytest.raises(Cancelled):
        measure([one], workshop, 1, lambda stage, *_: steps.append(stage), lambda: len(steps) == len(workshop.dpis))
    assert set(steps) == {"compile"}
