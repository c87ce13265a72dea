"""Keeping within a number of bytes: what goes first, what never goes, and that it can all be made again."""

from collections.abc import Callable
from pathlib import Path

import pytest

from ingest.errors import NoRoom
from ingest.evict import evict, look
from ingest.keeper import Keeper
from ingest.pipeline import finish_run, ingest
from ingest.room import SPARE, make_room
from ingest.types import Evicted
from ingest.workshop import Workshop
from retrieval.types import CollectionRow

from .conftest import files_of


@pytest.fixture
def filled(take_in: Callable[..., Workshop]) -> Workshop:
    """The three records taken in, and all their caches used once, a.txt's before those of b.txt and c.txt."""
    names = "a.txt", "b.txt", "c.txt"
    workshop = take_in(*names)
    for at, name in enumerate(names):
        workshop.catalogue.note_uses(dict.fromkeys(keys(workshop, name), 4e9 + at))
    return workshop


def keys(workshop: Workshop, name: str) -> list[str]:
    row = workshop.catalogue.document_named("default", name)
    assert row is not None
    return sorted(f"{ref.key}@{dpi}" for chunk in workshop.catalogue.chunks_of(row.id) for ref in chunk.pages for dpi in workshop.dpis)


def held(workshop: Workshop) -> int:
    return look(workshop, ())[0]


def test_what_is_counted_is_what_caches_images_and_patches_take(filled: Workshop) -> None:
    taken = sum(len(data) for name, data in files_of(filled.home.root).items() if name.endswith((".safetensors", ".png")))
    assert held(filled) == taken


def test_within_the_limit_nothing_goes(filled: Workshop) -> None:
    before = files_of(filled.home.root)
    assert evict(filled, held(filled)).caches == ()
    assert files_of(filled.home.root) == before


def test_the_large_caches_go_first_and_of_these_the_one_used_least_lately(filled: Workshop) -> None:
    first = evict(filled, held(filled) - 1)
    assert first.caches == (keys(filled, "a.txt")[0],)
    assert first.caches[0].endswith("@120")
    assert first.held == held(filled)
    second = evict(filled, first.held - 1)
    assert second.caches[0] in keys(filled, "b.txt")
    assert not filled.store.has(first.caches[0])
    assert filled.images.has(first.caches[0])


def test_then_patches_of_large_pages_then_the_small_caches_and_images_never(filled: Workshop) -> None:
    images = {name: data for name, data in files_of(filled.home.root).items() if name.endswith(".png")}
    stored = list(filled.store.keys())
    large = evict(filled, held(filled) - sum(filled.store.path(key).stat().st_size for key in stored if key.endswith("@120")))
    assert sorted(large.caches) == sorted(key for name in ("a.txt", "b.txt", "c.txt") for key in keys(filled, name) if key.endswith("@120"))
    assert large.patches == 0
    patches = evict(filled, large.held - 1)
    assert (patches.caches, patches.patches) == ((), 2)  # b.txt's second page at 120, given the first at each DPI
    assert {key.page.partition("@")[2] for key in list(filled.store.patches.keys())} == {"72"}
    everything = evict(filled, 0)
    assert sorted(key.partition("@")[2] for key in everything.caches) == ["72"] * 4
    assert list(filled.store.keys()) == list(filled.store.patches.keys()) == []
    assert {name: data for name, data in files_of(filled.home.root).items() if name.endswith(".png")} == images
    assert everything.held == sum(map(len, images.values()))


def test_pinned_collections_and_planned_pages_stay(filled: Workshop, records: Path) -> None:
    filled.catalogue.create_collection(CollectionRow("dear", **row_facts(filled)))
    ingest([records / "c.txt"], "dear", filled)  # the same page as in default
    filled.catalogue.pin("dear")
    planned = keys(filled, "a.txt")
    evicted = evict(filled, 0, planned)
    assert sorted(evicted.caches) == keys(filled, "b.txt")
    assert sorted(filled.store.keys()) == sorted({*planned, *keys(filled, "c.txt")})


def row_facts(workshop: Workshop) -> dict[str, object]:
    row = workshop.catalogue.collection("default")
    return {"identity": row.identity, "embedder": row.embedder, "dimension": row.dimension, "model": row.model}


def test_pages_that_nobody_owns_yet_are_left_to_who_takes_them_in(filled: Workshop) -> None:
    key = next(filled.store.keys())
    stranger = "f" * 32 + "@120"
    path = filled.store.path(stranger)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(filled.store.path(key).read_bytes())
    evict(filled, 0)
    assert path.exists()


def test_what_went_is_not_handed_out_from_memory(filled: Workshop) -> None:
    filled.store.ram.limit = 1 << 30
    key = keys(filled, "a.txt")[0]
    filled.store.get(key)
    evict(filled, held(filled) - 1)
    assert filled.store.ram.get(key) is None


def test_a_document_that_fits_in_no_case_is_refused_with_both_figures_before_anything_goes(workshop: Workshop, records: Path) -> None:
    ingest([records / "a.txt"], "default", workshop)
    before = set(workshop.store.keys())
    workshop.disk_bytes = held(workshop) + 1000
    workshop.catalogue.pin("default")
    report = ingest([records / "b.txt"], "default", workshop)
    assert [failure.kind for failure in report.failed] == ["NoRoom"]
    assert f"the limit is {workshop.disk_bytes:,} (disk_bytes)" in report.failed[0].reason
    assert set(workshop.store.keys()) == before


def test_documents_come_in_within_the_limit_and_older_caches_go_for_them(workshop: Workshop, records: Path) -> None:
    ingest([records / "b.txt"], "default", workshop)
    workshop.disk_bytes = limit = held(workshop) + 50_000
    report = ingest([records / "a.txt", records / "c.txt"], "default", workshop)
    assert len(report.done) == 2
    assert held(workshop) <= limit
    assert all(workshop.images.has(key) for name in ("a.txt", "b.txt", "c.txt") for key in keys(workshop, name))
    assert not all(workshop.store.has(key) for key in keys(workshop, "b.txt"))


def test_a_file_whose_caches_were_evicted_is_unchanged_all_the_same(filled: Workshop, records: Path) -> None:
    filled.disk_bytes = held(filled)
    evict(filled, 0)
    assert len(ingest([records], "default", filled).skipped) == 3
    assert list(filled.store.keys()) == []


def test_a_full_disk_is_told_with_both_figures(workshop: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = type("Usage", (), {"free": SPARE + 1000})
    monkeypatch.setattr("ingest.room.shutil.disk_usage", lambda _: usage)
    make_room(workshop, 1000)
    with pytest.raises(NoRoom, match=r"needs 1,001 bytes .* the disk has 1,000 to spare"):
        make_room(workshop, 1001)


def test_every_eviction_is_heard_of_whoever_asked_for_it(filled: Workshop) -> None:
    heard: list[Evicted] = []
    Keeper(filled, told=heard.append)
    filled.disk_bytes = held(filled)
    finish_run(filled, "default")
    assert heard == []  # nothing went
    made = make_room(filled, 1)
    assert heard == [made]
    filled.disk_bytes = held(filled) - 1
    finish_run(filled, "default")
    assert len(heard) == 2
    assert heard[1].caches
