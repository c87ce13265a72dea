"""The house in numbers over HTTP, held against the home itself."""

import httpx

from app.holdings import measure


def stats(live) -> dict:
    return httpx.get(live.url + "/v1/stats", timeout=60).json()


def test_the_numbers_are_those_of_the_home(live):
    httpx.post(live.url + "/v1/ask", json={"question": "Tell me the voltage of Sleke bridge."}, timeout=60)
    told, house = stats(live), live.house
    counts, held = house.catalogue.counts(), measure(house.workshop)
    assert (told["documents"], told["pages"], told["chunks"], told["collections"]) == (
        counts.documents,
        counts.pages,
        counts.chunks,
        counts.collections,
    )
    assert told["bytes"]["caches"] == {str(dpi): size for dpi, size in held.caches.items()}
    assert told["bytes"]["images"] == held.images > 0
    assert told["bytes"]["patches"] == held.patches > 0
    assert told["bytes"]["total"] >= sum(told["bytes"]["caches"].values()) + held.images + held.patches
    assert told["bytes_per_page"] == {"72": held.mean(72), "120": held.mean(120), "image": held.mean_image}
    assert told["bytes_per_page"]["120"] > told["bytes_per_page"]["72"] > 0
    assert told["limit_bytes"] is None
    assert told["evicted_pages"] == 0
    assert told["ram"]["limit"] == house.store.ram.limit
    assert told["ram"]["hits"] + told["ram"]["misses"] > 0
    assert told["queue"] == {"waiting": 0, "limit": 2}
    assert told["questions"]["answered"] >= 1
    assert 0 < told["first_token"]["p50"] <= told["first_token"]["p99"]
    assert told["uptime"] > 0
    assert sorted(told["jobs"]) == ["cancelled", "done", "failed", "queued", "running"]
