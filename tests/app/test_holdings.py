"""Bytes of a home: every file counted once and in its place, and not looked at more often than a walk may cost."""

import threading
from dataclasses import replace

from app import holdings
from app.holdings import Holdings, measure


def sizes(root) -> int:
    return sum(path.stat().st_size for path in root.rglob("*") if path.is_file())


def test_every_file_counts_once_and_pages_by_collection(house):
    workshop = house.workshop
    held = measure(workshop)
    assert held.total == sizes(workshop.home.root)
    assert sum(held.caches.values()) == sum(path.stat().st_size for path in workshop.home.root.glob("store/*/caches/??/*"))
    assert held.images == sizes(workshop.images.root)
    assert held.patches == sum(sizes(folder) for folder in workshop.home.root.glob("store/*/patches"))
    assert held.cached == dict.fromkeys(workshop.dpis, held.pictures // 2)
    of_pages = [path for path in workshop.home.root.rglob("*") if path.is_file() and "@" in str(path.relative_to(workshop.home.root))]
    spoken_of = [path for path in of_pages if path.stat().st_size > 0]
    assert held.collections["default"] == sum(path.stat().st_size for path in spoken_of)
    assert held.evicted == 0
    assert Holdings(workshop).collection("nothing") == 0


def test_a_page_without_a_cache_is_an_evicted_one(house):
    key = f"{next(iter(house.catalogue.page_keys()))}@120"
    path = house.store.path(key)
    kept = path.read_bytes()
    path.unlink()
    try:
        assert measure(house.workshop).evicted == 1
    finally:
        path.write_bytes(kept)


def test_a_count_that_is_fresh_is_not_made_again_and_a_change_is_seen(house, monkeypatch):
    walks = []
    monkeypatch.setattr(holdings, "measure", lambda workshop: walks.append(1) or holdings.Held(total=len(walks)))
    held = Holdings(house.workshop)
    assert [held.now().total for _ in range(3)] == [1, 1, 1]
    held.changed()
    assert held.now().total == 2
    monkeypatch.setattr(holdings, "FRESH", -1.0)
    monkeypatch.setattr(holdings, "REST", 0)
    assert held.now().total == 3


def test_a_long_walk_is_made_beside_and_nobody_waits_for_it(house, monkeypatch):
    let_go, second, walks = threading.Event(), threading.Event(), []

    def slow(workshop):
        walks.append(threading.current_thread().name)
        if len(walks) > 1:
            second.set()
            assert let_go.wait(30)
        return replace(holdings.Held(), total=len(walks))

    monkeypatch.setattr(holdings, "measure", slow)
    for name, value in (("FRESH", -1.0), ("QUICK", -1.0), ("REST", 0)):
        monkeypatch.setattr(holdings, name, value)
    held = Holdings(house.workshop)
    assert [held.now().total for _ in range(3)] == [1, 1, 1]
    assert second.wait(30)
    let_go.set()
    assert walks[1] == "quire-holdings"
