"""Pages over HTTP, of a running server with the real reader: their images, their lines, their patches."""

import io

import httpx
import pytest
from PIL import Image

QUESTION = "Tell me the voltage of Sleke bridge."


def ask(live, **body) -> httpx.Response:
    return httpx.post(live.url + "/v1/ask", json={"question": QUESTION, **body}, timeout=60)


def test_the_image_is_the_very_one_that_was_read_at_its_exact_size(live):
    citation = ask(live).json()["citations"][0]
    response = httpx.get(live.url + citation["image"])
    assert response.headers["content-type"] == "image/png"
    assert response.content == live.house.workshop.images.path(f"{citation['page']}@{citation['dpi']}").read_bytes()
    size = Image.open(io.BytesIO(response.content)).size
    assert [round(side * 72 / citation["dpi"], 3) for side in size] == pytest.approx([citation["width"], citation["height"]], abs=12)


def test_a_browser_asks_each_time_whether_an_image_is_still_there(live):
    image = ask(live).json()["citations"][0]["image"]
    first = httpx.get(live.url + image)
    assert first.headers["cache-control"] == "private, no-cache"
    again = httpx.get(live.url + image, headers={"if-none-match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")


def test_a_page_has_its_lines_its_rows_and_its_documents(live):
    citation = ask(live).json()["citations"][0]
    told = httpx.get(f"{live.url}/v1/pages/{citation['page']}").json()
    assert told["key"] == citation["page"]
    assert told["documents"] == [citation["document"]]
    assert told["lines"]
    assert sorted(told["rows"]) == ["120", "72"]
    for x0, y0, x1, y1 in (line["box"] for line in told["lines"]):
        assert 0 <= x0 <= x1
        assert 0 <= y0 <= y1


@pytest.mark.parametrize("key", ["0" * 32, "..%2f..%2fcatalogue.sqlite", "....", "AB" * 16, "a%00b", "%2e%2e"])
def test_a_key_that_is_none_is_not_found_and_never_becomes_a_path(live, key):
    for path in (f"/v1/pages/{key}", f"/v1/pages/{key}.png", f"/v1/pages/{key}.png?dpi=72"):
        response = httpx.get(live.url + path)
        assert response.status_code == 404
        assert response.json()["error"]["type"] in ("UnknownPage", "NotFound")


def test_a_resolution_that_is_not_kept_is_told_those_that_are(live):
    page = ask(live).json()["citations"][0]["page"]
    response = httpx.get(f"{live.url}/v1/pages/{page}.png?dpi=300")
    assert response.status_code == 404
    assert "72 and 120 DPI" in response.json()["error"]["message"]
    assert httpx.get(f"{live.url}/v1/pages/{page}.png?dpi=high").status_code == 422


def test_patches_are_listed_in_parts_with_what_they_are(live):
    rows, after = [], ""
    while True:
        told = httpx.get(f"{live.url}/v1/patches?limit=1{after}").json()
        assert len(told["patches"]) <= 1
        rows += told["patches"]
        if told["next"] is None:
            break
        after = f"&after={told['next']}"
    files = live.house.store.patches.files
    pages = live.house.catalogue.page_keys("default")
    expected = [key for key in live.house.store.patches.keys() if key.page.partition("@")[0] in pages]  # noqa: SIM118
    assert len(rows) == len(expected) > 0
    assert {(f"{row['page']}@{row['dpi']}", tuple(row["given"]), row["kind"], row["rank"]) for row in rows} == {
        (key.page, key.given, key.kind, key.rank) for key in expected
    }
    assert sum(row["bytes"] for row in rows) == sum(files.path(key.page, key.digest).stat().st_size for key in expected)
    assert all(row["layers"] == live.house.backbone.layers - 1 for row in rows)
    assert httpx.get(f"{live.url}/v1/patches?collection=none").json()["error"]["type"] == "UnknownCollection"


def test_the_head_of_a_page_image_tells_its_size_and_brings_nothing(live):
    key = sorted(live.house.catalogue.page_keys("default"))[0]
    whole = httpx.get(f"{live.url}/v1/pages/{key}.png")
    head = httpx.head(f"{live.url}/v1/pages/{key}.png")
    assert (head.status_code, head.headers["content-length"], head.content) == (200, str(len(whole.content)), b"")
