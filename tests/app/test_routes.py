"""Health, the model and the page, of a running server."""

import httpx


def get(live, path: str) -> httpx.Response:
    return httpx.get(live.url + path, timeout=60)


def test_a_loaded_house_is_ready(live):
    response = get(live, "/readyz")
    assert (response.status_code, response.json()) == (200, {"ready": True, "model": "reader", "verdict": "trusted"})


def test_the_model_says_what_it_can_answer_and_what_it_was_made_of(live):
    told = get(live, "/v1/model").json()
    assert told["name"] == "reader"
    assert told["says"] == live.house.backbone.card.says
    assert told["dpis"] == [72, 120]
    assert told["identity"] == live.house.workshop.identity.as_mapping()
    assert told["embedder"] == live.house.workshop.embedder.name
    assert told["verdict"]["word"] == "trusted"
    assert told["verdict"]["reasons"] == []
    assert told["verdict"]["figures"] == live.house.verdict.figures
    assert told["limits"] == {
        "file_bytes": 64 * 1024**2,
        "question_chars": 4000,
        "top_k": 64,
        "upload_bytes": 64 * 1024**2,
        "request_files": 100,
        "text_chars": live.house.settings.text_chars,
    }


def test_the_page_and_its_files_are_served_and_asked_for_anew_each_time(live):
    page = get(live, "/")
    assert page.status_code == 200
    assert page.headers["content-type"].startswith("text/html")
    assert page.headers["cache-control"] == "no-cache"
    script = get(live, "/static/api.js")
    assert script.headers["content-type"].startswith(("text/javascript", "application/javascript"))
    again = httpx.get(live.url + "/static/api.js", headers={"if-none-match": script.headers["etag"]})
    assert again.status_code == 304


def test_nothing_outside_the_page_s_folder_is_served(live):
    for path in ("/static/../pyproject.toml", "/static/..%2fpyproject.toml", "/static/%2e%2e/pyproject.toml", "/static//etc/passwd"):
        assert get(live, path).status_code == 404


def test_an_address_or_a_method_that_there_is_not_has_the_one_shape(live):
    assert get(live, "/nowhere").json()["error"]["type"] == "NotFound"
    response = httpx.put(live.url + "/v1/ask")
    assert (response.status_code, response.json()["error"]["type"]) == (405, "MethodNotAllowed")
    assert response.json()["error"]["message"] == "/v1/ask does not take PUT"


def test_another_site_may_not_read(live):
    response = httpx.options(live.url + "/v1/ask", headers={"origin": "https://evil.example", "access-control-request-method": "POST"})
    assert "access-control-allow-origin" not in response.headers
    assert httpx.get(live.url + "/v1/collections", headers={"host": "evil.example"}).status_code == 421
