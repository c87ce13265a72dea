"""A damaged or missing cache is found, named, and compiled again to the same bytes."""

from pathlib import Path

import pytest

from cache_compiler.errors import CorruptCache
from ingest.pipeline import ingest
from ingest.repair import Repaired, repair
from ingest.workshop import Workshop

from .conftest import files_of


def test_a_flipped_byte_is_detected_named_and_compiled_again(workshop: Workshop, records: Path) -> None:
    ingest([records], "default", workshop)
    before = files_of(workshop.home.root)
    key = next(workshop.store.keys())
    path = workshop.store.path(key)
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    with pytest.raises(CorruptCache, match=key):
        workshop.store.get(key)
    assert repair(workshop, "default") == Repaired(pages=(key,))
    assert files_of(workshop.home.root) == before


def test_a_missing_cache_and_a_missing_image_come_back(workshop: Workshop, records: Path) -> None:
    ingest([records], "default", workshop)
    before = files_of(workshop.home.root)
    first, second = list(workshop.store.keys())[:2]
    workshop.store.path(first).unlink()
    workshop.images.path(second).unlink()
    assert repair(workshop, "default") == Repaired(pages=(first,))
    assert files_of(workshop.home.root) == before


def test_a_sound_collection_is_left_as_it_is_and_no_page_of_it_is_drawn(
    workshop: Workshop, records: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ingest([records], "default", workshop)
    monkeypatch.setattr("ingest.leaves.rasterise", lambda *_: pytest.fail("a page was drawn"))
    assert repair(workshop, "default") == Repaired()


def test_a_damaged_image_is_drawn_again(workshop: Workshop, records: Path) -> None:
    ingest([records / "a.txt"], "default", workshop)
    before = files_of(workshop.home.root)
    path = workshop.images.path(next(workshop.store.keys()))
    path.write_bytes(path.read_bytes()[:200])
    assert repair(workshop, "default") == Repaired()
    assert files_of(workshop.home.root) == before
