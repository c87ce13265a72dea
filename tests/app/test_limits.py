"""The entrance: who is let in by host, origin, key and rate, before a byte of a body is read."""

import logging
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from pydantic import BaseModel
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from starlette.testclient import TestClient

from app.doors import Doors
from app.entrance import GUESSES
from app.keys import KeyRing
from app.settings import Settings
from app.stream import Walk, stream

ROUTES = {
    "/": ["GET"],
    "/livez": ["GET"],
    "/v1/model": ["GET"],
    "/v1/ask": ["POST"],
    "/v1/documents": ["GET", "POST"],
    "/v1/documents/{document}": ["GET", "DELETE"],
}


class Word(BaseModel):
    text: str


async def echo(request: Request) -> PlainTextResponse:
    return PlainTextResponse(str(len(await request.body())))


def client(home, base_url: str = "http://testserver", **given) -> TestClient:
    routes = [Route(path, echo, methods=methods) for path, methods in ROUTES.items()]
    return TestClient(Starlette(routes=routes, middleware=[Middleware(Doors, settings=Settings(home=home, **given))]), base_url=base_url)


def key(home, *scopes: str) -> dict[str, str]:
    ring = KeyRing(home)
    return {"authorization": f"Bearer {ring.create(f'key {len(ring.keys())}', scopes)[1]}"}


def told(response) -> tuple[int, str]:
    return response.status_code, response.json()["error"]["type"]


# -- keys --------------------------------------------------------------------------------------------------------------------


def test_on_this_machine_no_key_is_needed_until_there_is_one(tmp_path):
    ours = client(tmp_path)
    assert ours.get("/v1/model").status_code == 200
    headers = key(tmp_path, "read")
    response = ours.get("/v1/model")
    assert told(response) == (401, "Unauthorized")
    assert response.headers["www-authenticate"] == "Bearer"
    assert ours.get("/v1/model", headers=headers).status_code == 200


def test_beyond_this_machine_a_key_is_needed_even_where_there_is_none(tmp_path):
    assert told(client(tmp_path, host="0.0.0.0").get("/v1/model")) == (401, "Unauthorized")


def test_a_damaged_file_of_keys_opens_nothing_and_the_process_stays_alive(tmp_path):
    (tmp_path / "keys.json").write_text("{")
    ours = client(tmp_path)
    assert told(ours.get("/v1/model", headers={"authorization": "Bearer x"})) == (503, "BadKeys")
    assert ours.get("/livez").status_code == 200


def test_the_page_and_the_supervisor_s_questions_need_no_key(tmp_path):
    key(tmp_path, "read")
    ours = client(tmp_path)
    assert [ours.get(path).status_code for path in ("/", "/livez")] == [200, 200]


@pytest.mark.parametrize(
    ("scopes", "allowed"),
    [
        (("read",), {"GET /v1/model", "GET /v1/documents"}),
        (("ask",), {"POST /v1/ask"}),
        (("write",), {"POST /v1/documents", "DELETE /v1/documents/1"}),
    ],
)
def test_a_key_opens_what_its_scopes_name_and_the_refusal_says_which_it_lacks(tmp_path, scopes, allowed):
    headers, ours = key(tmp_path, *scopes), client(tmp_path)
    requests = ["GET /v1/model", "GET /v1/documents", "POST /v1/ask", "POST /v1/documents", "DELETE /v1/documents/1"]
    for request in requests:
        response = ours.request(*request.split(), headers=headers)
        if request in allowed:
            assert response.status_code == 200
        else:
            assert told(response) == (403, "Forbidden")
            assert "needs " in response.json()["error"]["message"]


def test_a_revoked_key_is_refused_at_once(tmp_path):
    headers, ours = key(tmp_path, "read"), client(tmp_path)
    assert ours.get("/v1/model", headers=headers).status_code == 200
    KeyRing(tmp_path).revoke("key 0")
    assert told(ours.get("/v1/model", headers=headers)) == (401, "Unauthorized")


@pytest.mark.parametrize("said", ["", "Bearer", "Bearer ", "Basic {}", "{}", "Bearer {}x", "Bearer  {} x"])
def test_a_key_in_any_other_words_is_none(tmp_path, said):
    token = key(tmp_path, "read")["authorization"].removeprefix("Bearer ")
    assert told(client(tmp_path).get("/v1/model", headers={"authorization": said.format(token)})) == (401, "Unauthorized")


def test_whoever_guesses_is_slowed_down_and_learns_nothing_while_keys_in_use_go_on(tmp_path):
    used, fresh = key(tmp_path, "read"), key(tmp_path, "read")
    ours = client(tmp_path)
    assert ours.get("/v1/model", headers=used).status_code == 200
    wrong = {"authorization": "Bearer qk_wrong"}
    assert [ours.get("/v1/model", headers=wrong).status_code for _ in range(GUESSES)] == [401] * GUESSES
    refused = ours.get("/v1/model", headers=wrong)
    assert told(refused) == (429, "TooManyRequests")
    assert int(refused.headers["retry-after"]) >= 1
    assert ours.get("/v1/model", headers=fresh).status_code == 429  # the same answer, right or wrong
    assert ours.get("/v1/model", headers=used).status_code == 200


def test_no_key_is_ever_logged(tmp_path, caplog):
    caplog.set_level(logging.DEBUG)
    headers, ours = key(tmp_path, "read"), client(tmp_path)
    ours.get("/v1/model", headers=headers)
    ours.get("/v1/model", headers={"authorization": "Bearer qk_nearly"})
    ours.post("/v1/ask", headers=headers)
    assert caplog.text
    assert headers["authorization"].removeprefix("Bearer ") not in caplog.text
    assert "qk_" not in caplog.text


def test_a_path_that_is_nobodys_is_told_to_whoever_has_a_key(tmp_path):
    headers, ours = key(tmp_path, "ask"), client(tmp_path)
    assert ours.get("/v1/secret").status_code == 401
    assert told(ours.get("/v1/secret", headers=headers)) == (404, "NotFound")
    refused = ours.put("/v1/documents/1", headers=headers)
    assert (told(refused), refused.headers["allow"]) == ((405, "MethodNotAllowed"), "DELETE, GET")


@pytest.mark.parametrize("path", ["/v1/documents%0A", "/v1/documents/1%0A", "/v1/documents/", "//v1/documents", "/static/../v1/documents"])
@pytest.mark.parametrize("method", ["POST", "DELETE"])
def test_no_spelling_of_a_path_leads_past_its_scope(tmp_path, method, path):
    headers, reached = key(tmp_path, "read"), []

    async def inner(request: Request) -> PlainTextResponse:
        reached.append(request.url.path)
        return PlainTextResponse("")

    routes = [Route(template, inner, methods=["POST", "DELETE"]) for template in ("/v1/documents", "/v1/documents/{document}")]
    ours = TestClient(Starlette(routes=routes, middleware=[Middleware(Doors, settings=Settings(home=tmp_path))]))
    assert ours.request(method, path, headers=headers).status_code in (403, 404, 405)
    assert not reached


def test_a_body_is_not_read_before_the_key_is_known(tmp_path):
    key(tmp_path, "read")

    def pieces():
        raise AssertionError("somebody reads it")
        yield b""

    assert told(client(tmp_path).post("/v1/documents", content=pieces())) == (401, "Unauthorized")


# -- hosts and origins -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1:8765", "[::1]:8765", "LOCALHOST:1"])
def test_a_loopback_server_answers_to_its_own_names(tmp_path, host):
    assert client(tmp_path).get("/", headers={"host": host}).status_code == 200


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8765", "localhost.evil.example", "127.0.0.1.evil.example", ""])
def test_a_loopback_server_does_not_answer_to_a_name_that_was_pointed_at_it(tmp_path, host):
    assert told(client(tmp_path).get("/", headers={"host": host})) == (421, "ForeignHost")


def test_behind_keys_a_server_answers_to_any_name_for_a_proxy_may_have_one_of_its_own(tmp_path):
    headers = key(tmp_path, "read")
    assert client(tmp_path).get("/v1/model", headers={"host": "quire.example", **headers}).status_code == 200
    assert client(tmp_path, "http://quire.example", host="0.0.0.0").get("/v1/model", headers=headers).status_code == 200
    assert told(client(tmp_path).get("/v1/model", headers={"host": "quire.example"})) == (401, "Unauthorized")


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://testserver:81", "http://["])
def test_another_sites_page_cannot_change_anything_even_with_a_key(tmp_path, origin):
    headers = key(tmp_path, "ask", "read")
    assert told(client(tmp_path).post("/v1/ask", headers={"origin": origin, **headers})) == (403, "ForeignOrigin")


def test_the_servers_own_page_can(tmp_path):
    assert client(tmp_path).post("/v1/ask", headers={"origin": "http://testserver"}).status_code == 200


PREFLIGHT = {"access-control-request-method": "POST", "access-control-request-headers": "authorization"}


def test_other_sites_pages_may_read_nothing_unless_they_are_named(tmp_path):
    ours = client(tmp_path)
    for response in (
        ours.options("/v1/ask", headers={"origin": "https://wiki.example", **PREFLIGHT}),
        ours.get("/v1/model", headers={"origin": "https://wiki.example"}),
    ):
        assert not [name for name in response.headers if name.startswith("access-control")]


def test_a_named_site_may_and_its_neighbours_may_not(tmp_path):
    headers = key(tmp_path, "ask")
    ours = client(tmp_path, cors_origins=("https://wiki.example",))
    asked = ours.options("/v1/ask", headers={"origin": "https://wiki.example", **PREFLIGHT})
    assert asked.status_code == 204
    assert asked.headers["access-control-allow-origin"] == "https://wiki.example"
    assert "authorization" in asked.headers["access-control-allow-headers"]
    assert "access-control-allow-credentials" not in asked.headers
    answered = ours.post("/v1/ask", headers={"origin": "https://wiki.example", **headers})
    assert (answered.status_code, answered.headers["access-control-allow-origin"]) == (200, "https://wiki.example")
    refused = ours.post("/v1/ask", headers={"origin": "https://wiki.example"})
    assert (refused.status_code, refused.headers["access-control-allow-origin"]) == (401, "https://wiki.example")
    for origin in ("http://wiki.example", "https://wiki.example:8443", "https://sub.wiki.example", "https://wiki.example.evil"):
        assert "access-control-allow-origin" not in ours.options("/v1/ask", headers={"origin": origin, **PREFLIGHT}).headers
        assert told(ours.post("/v1/ask", headers={"origin": origin, **headers})) == (403, "ForeignOrigin")
    assert ours.get("/v1/model", headers={"origin": "https://evil.example"}).headers["vary"] == "Origin"


# -- rates -------------------------------------------------------------------------------------------------------------------


def test_more_requests_a_minute_than_may_be_are_told_when_to_come_back(tmp_path):
    ours = client(tmp_path, rate=3)
    assert [ours.get("/v1/model").status_code for _ in range(3)] == [200] * 3
    refused = ours.get("/v1/model")
    assert told(refused) == (429, "TooManyRequests")
    assert 1 <= int(refused.headers["retry-after"]) <= 20
    assert "(rate)" in refused.json()["error"]["message"]
    assert ours.get("/livez").status_code == 200


def test_questions_have_a_rate_of_their_own_and_so_has_every_key(tmp_path):
    one, two = key(tmp_path, "ask", "read"), key(tmp_path, "ask")
    ours = client(tmp_path, ask_rate=2)
    assert [ours.post("/v1/ask", headers=one).status_code for _ in range(3)] == [200, 200, 429]
    assert ours.post("/v1/ask", headers=two).status_code == 200
    assert ours.get("/v1/model", headers=one).status_code == 200


def test_a_client_cannot_count_as_another_by_a_header(tmp_path):
    ours = client(tmp_path, rate=2)
    said = [ours.get("/v1/model", headers={"x-forwarded-for": f"192.0.2.{n}", "forwarded": f"for={n}"}).status_code for n in range(3)]
    assert said == [200, 200, 429]


def test_a_stream_that_is_open_ends_when_its_key_is_revoked(tmp_path, monkeypatch):
    monkeypatch.setattr("app.stream.BEAT", 0.02)
    begun, ended = threading.Event(), threading.Event()

    def silent(cancel: threading.Event):
        yield Word(text="first")
        begun.set()
        cancel.wait(30)
        ended.set()

    async def events(request: Request) -> Response:
        return await stream(request, Walk(silent), lambda word: ("job", word))

    routes = [Route("/v1/jobs/events", events)]
    ours = TestClient(Starlette(routes=routes, middleware=[Middleware(Doors, settings=Settings(home=tmp_path))]))
    headers = key(tmp_path, "read")
    with ThreadPoolExecutor(1) as pool:
        watching = pool.submit(lambda: ours.get("/v1/jobs/events", headers=headers).text)
        assert begun.wait(20)
        KeyRing(tmp_path).revoke("key 0")
        told = watching.result(25)
    assert '"type":"Unauthorized"' in told
    assert ended.wait(5)
