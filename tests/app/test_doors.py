"""The doors: who may come in, how much they may bring, and what every answer wears."""

import asyncio
import logging

import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, StreamingResponse
from starlette.routing import Route
from starlette.testclient import TestClient

from app.doors import FRAMING, Doors
from app.settings import Settings

LIMIT = 2 * 1024 * 1024


async def echo(request: Request) -> PlainTextResponse:
    return PlainTextResponse(str(len(await request.body())))


async def careless(request: Request) -> JSONResponse:
    try:
        await request.body()
    except Exception:
        return JSONResponse({"mistaken": True}, 400)
    return JSONResponse({})


async def broken(request: Request) -> PlainTextResponse:
    raise ZeroDivisionError("a secret sentence")


@pytest.fixture
def client(tmp_path) -> TestClient:
    return _client(Settings(home=tmp_path, upload_bytes=1000, request_files=1))


def _client(settings: Settings, base_url: str = "http://testserver") -> TestClient:
    paths = {"/": echo, "/v1/documents": echo, "/careless": careless, "/broken": broken}
    routes = [Route(path, to, methods=["GET", "POST"]) for path, to in paths.items()]
    return TestClient(Starlette(routes=routes, middleware=[Middleware(Doors, settings=settings)]), base_url=base_url)


def test_every_answer_wears_safe_headers_and_a_number(client):
    for path in ("/", "/broken", "/none"):
        headers = client.get(path).headers
        assert "default-src 'self'" in headers["content-security-policy"]
        assert "frame-ancestors 'none'" in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["x-frame-options"] == "DENY"
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["cache-control"] == "no-store"
        assert len(headers["x-request-id"]) == 12
        assert "access-control-allow-origin" not in headers


def test_an_unknown_error_is_a_plain_500_with_the_number_under_which_it_is_logged(client, caplog):
    response = client.get("/broken")
    assert response.status_code == 500
    number = response.headers["x-request-id"]
    assert response.json() == {
        "error": {
            "type": "InternalError",
            "message": f"internal error, request id {number}: the server's log has the rest",
            "detail": {"request": number},
        }
    }
    assert f"request {number}: GET /broken failed" in caplog.text
    assert "ZeroDivisionError" in caplog.text


def test_a_body_over_the_limit_is_refused_by_its_header_alone(client):
    response = client.post("/", content=b"x" * (LIMIT + 1))
    assert response.status_code == 413
    assert response.json()["error"]["type"] == "RequestTooLarge"
    assert f"{LIMIT:,} bytes" in response.json()["error"]["message"]


@pytest.mark.parametrize("path", ["/", "/careless"])
def test_a_body_that_hides_its_length_is_counted(client, path):
    def pieces():
        for _ in range(LIMIT // 1024 + 1):
            yield b"x" * 1024

    response = client.post(path, content=pieces())
    assert response.status_code == 413
    assert response.json()["error"]["type"] == "RequestTooLarge"


def test_a_body_at_the_limit_goes_through(client):
    assert client.post("/", content=b"x" * LIMIT).text == str(LIMIT)


def test_uploads_have_a_limit_of_their_own_with_room_for_the_form(client):
    assert client.post("/v1/documents", content=b"x" * (1000 + FRAMING)).status_code == 200
    assert client.post("/v1/documents", content=b"x" * (1000 + FRAMING + 1025)).status_code == 413


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1:8765", "[::1]:8765", "LOCALHOST:1"])
def test_a_loopback_server_answers_to_its_own_names(client, host):
    assert client.get("/", headers={"host": host}).status_code == 200


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8765", "localhost.evil.example", "127.0.0.1.evil.example", ""])
def test_a_loopback_server_does_not_answer_to_a_name_that_was_pointed_at_it(client, host):
    response = client.get("/", headers={"host": host})
    assert response.status_code == 421
    assert response.json()["error"]["type"] == "ForeignHost"


def test_a_server_that_is_meant_for_others_answers_to_any_name(tmp_path):
    assert _client(Settings(home=tmp_path, host="0.0.0.0"), "http://quire.example").get("/").status_code == 200


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://testserver:81", "http://["])
def test_another_sites_page_cannot_change_anything(client, origin):
    response = client.post("/", headers={"origin": origin})
    assert response.status_code == 403
    assert response.json()["error"]["type"] == "ForeignOrigin"


def test_the_servers_own_page_can(client):
    assert client.post("/", headers={"origin": "http://testserver"}).status_code == 200


def test_the_log_has_the_path_but_no_query(client, caplog):
    caplog.set_level(logging.INFO, "quire.http")
    client.get("/?question=secret")
    assert "GET / 200" in caplog.text
    assert "secret" not in "".join(record.getMessage() for record in caplog.records if record.name == "quire.http")


def test_a_stream_passes_piece_by_piece(tmp_path):
    async def go():
        second, sent = asyncio.Event(), []

        async def pieces():
            yield b"one"
            # If the door gathered pieces, the first would never be seen, and this would never be set.
            await asyncio.wait_for(second.wait(), 10)
            yield b"two"

        async def inner(scope, receive, send):
            await StreamingResponse(pieces())(scope, receive, send)

        async def send(message):
            sent.append(message.get("body"))
            if message.get("body") == b"one":
                second.set()

        async def receive():
            await asyncio.Event().wait()

        scope = {"type": "http", "method": "GET", "path": "/", "headers": [(b"host", b"localhost")], "query_string": b""}
        await Doors(inner, Settings(home=tmp_path))(scope, receive, send)
        return sent

    assert asyncio.run(go())[1:3] == [b"one", b"two"]
