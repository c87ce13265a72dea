"""Collections over HTTP, of a running server: made, pinned, listed in parts, and gone with everything in them."""

import time

import httpx
import pytest


def put(live, name: str, **wish) -> httpx.Response:
    return httpx.put(f"{live.url}/v1/collections/{name}", json=wish, timeout=60)


def filled(live, name: str, *texts: str) -> list[str]:
    """Documents of these texts in a collection, once they are in."""
    ids = []
    for number, text in enumerate(texts):
        body = {"title": f"{name} {number}", "text": text, "collection": name}
        job = httpx.post(f"{live.url}/v1/documents/text", json=body, timeout=60).json()
        end = time.monotonic() + 60
        while job["state"] not in ("done", "failed") and time.monotonic() < end:
            time.sleep(0.02)
            job = httpx.get(f"{live.url}/v1/jobs/{job['id']}").json()
        assert job["state"] == "done", job
        ids.append(job["document"])
    return ids


def test_a_collection_is_made_once_and_pinned_as_was_said_last(live):
    made = put(live, "shelf").json()
    assert made == {"name": "shelf", "documents": 0, "pages": 0, "model": "reader", "pinned": False, "bytes": 0}
    assert put(live, "shelf", pinned=True).json()["pinned"] is True
    assert put(live, "shelf").json()["pinned"] is True
    assert httpx.put(f"{live.url}/v1/collections/shelf").json()["pinned"] is True
    assert httpx.get(f"{live.url}/v1/collections/shelf").json() == put(live, "shelf").json()
    assert put(live, "shelf", pinned=False).json()["pinned"] is False


@pytest.mark.parametrize("name", ["UPPER", "a b", "x" * 65, "-first", "%0d%0ax-evil:1", "..%2fx"])
def test_a_name_that_is_none_is_refused(live, name):
    response = put(live, name)
    assert response.status_code in (404, 422)
    assert response.json()["error"]["type"] in ("BadRequest", "NotFound")
    assert "x-evil" not in response.headers


def test_a_collection_goes_with_all_its_documents_and_a_receipt_for_each(live):
    ids = filled(live, "going", "One inn:\n  its phone is 1\n", "Two inn:\n  its phone is 2\n")
    told = httpx.get(f"{live.url}/v1/collections/going").json()
    assert (told["documents"], told["pages"]) == (2, 2)
    assert told["bytes"] > 0
    gone = httpx.delete(f"{live.url}/v1/collections/going", timeout=60).json()
    assert {receipt["document"] for receipt in gone["documents"]} == set(ids)
    assert gone["bytes"] == sum(receipt["bytes"] for receipt in gone["documents"]) > 0
    assert httpx.delete(f"{live.url}/v1/collections/going").status_code == 404
    assert httpx.get(f"{live.url}/v1/collections/going").status_code == 404
    asked = httpx.post(f"{live.url}/v1/ask", json={"question": "What is the phone of One inn?", "collection": "going"})
    assert (asked.status_code, asked.json()["error"]["type"]) == (404, "UnknownCollection")
    assert httpx.get(f"{live.url}/v1/jobs?collection=going").json()["jobs"] == []


def test_the_list_comes_in_parts_by_name(live):
    for name in ("part-a", "part-b", "part-c"):
        put(live, name)
    names, after = [], ""
    while True:
        told = httpx.get(f"{live.url}/v1/collections?limit=2{after}").json()
        assert len(told["collections"]) <= 2
        names += [row["name"] for row in told["collections"]]
        if told["next"] is None:
            break
        after = f"&after={told['next']}"
    assert names == sorted(row.name for row in live.house.catalogue.collections())


@pytest.mark.parametrize("query", ["limit=0", "limit=201", "limit=x", "after=x", "after=%00", "after=W10="])
def test_a_part_that_there_is_not_is_refused(live, query):
    response = httpx.get(f"{live.url}/v1/collections?{query}")
    assert (response.status_code, response.json()["error"]["type"]) == (422, "BadRequest")
