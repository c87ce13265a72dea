"""The doors: how much may be brought, how slowly, what is logged and counted, and what every answer wears."""

import asyncio
import itertools
import logging

import pytest
from prometheus_client import generate_latest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, StreamingResponse
from starlette.routing import Route
from starlette.testclient import TestClient

from app.doors import FRAMING, Doors
from app.settings import Settings
from app.traffic import Traffic

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


def _client(settings: Settings) -> TestClient:
    paths = {"/": echo, "/v1/documents": echo, "/careless": careless, "/broken": broken, "/v1/pages/{key}": echo}
    routes = [Route(path, to, methods=["GET", "POST"]) for path, to in paths.items()]
    return TestClient(Starlette(routes=routes, middleware=[Middleware(Doors, settings=settings)]))


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
    assert "GET (none) failed" in caplog.text
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


def test_the_log_has_the_route_but_no_id_and_no_query(client, caplog):
    caplog.set_level(logging.INFO, "quire.http")
    client.get("/v1/pages/secret?question=secret")
    client.get("/secret")
    ours = [record for record in caplog.records if record.name == "quire.http"]
    assert [record.getMessage().rpartition(" ")[0].rpartition(" ")[0] for record in ours] == ["GET /v1/pages/{key} 200", "GET (none) 404"]
    assert (ours[0].route, ours[0].status) == ("/v1/pages/{key}", 200)
    assert "secret" not in "".join(str(vars(record)) for record in ours)


def test_requests_are_counted_by_route_and_whoever_knocks_makes_no_series(tmp_path):
    traffic = Traffic()
    inner = Starlette(
        routes=[Route("/v1/pages/{key}", echo)], middleware=[Middleware(Doors, settings=Settings(home=tmp_path), traffic=traffic)]
    )
    ours = TestClient(inner)
    for number in range(20):
        ours.get(f"/v1/pages/{number}")
        ours.get(f"/{number}")
        ours.request(f"M{number}", "/")
    told = generate_latest(traffic.registry).decode()
    assert 'quire_http_requests_total{method="GET",route="/v1/pages/{key}",status="200"} 20.0' in told
    assert 'quire_http_requests_total{method="GET",route="(none)",status="404"} 20.0' in told
    assert len([line for line in told.splitlines() if line.startswith("quire_http_requests_total")]) == 3
    assert "quire_http_requests_open 0.0" in told
    ours.post("/v1/pages/1", headers={"origin": "https://evil.example"})
    assert 'quire_http_errors_total{error="ForeignOrigin"} 1.0' in generate_latest(traffic.registry).decode()
    assert "process_resident_memory_bytes" in told


def carried(tmp_path, receive, **given):
    """What a request whose body comes from `receive` is answered."""

    async def inner(scope, receive, send):
        while (await receive()).get("more_body"):
            pass
        await PlainTextResponse("read")(scope, receive, send)

    async def go():
        sent = []

        async def send(message):
            sent.append(message)

        scope = {
            "type": "http",
            "method": "POST",
            "path": "/v1/documents",
            "headers": [(b"host", b"localhost"), (b"transfer-encoding", b"chunked")],
            "query_string": b"",
        }
        await Doors(inner, Settings(home=tmp_path, **given))(scope, receive, send)
        return sent[0]["status"]

    return asyncio.run(go())


def test_a_body_of_which_nothing_comes_is_given_up(tmp_path):
    async def never():
        await asyncio.Event().wait()

    assert carried(tmp_path, never, body_seconds=0.05) == 408


def test_a_body_that_comes_drop_by_drop_is_given_up_though_it_is_never_silent(tmp_path, monkeypatch):
    clock = itertools.count(0, 0.2)
    monkeypatch.setattr("app.doors.time.monotonic", lambda: next(clock))

    async def drop():
        if (came := next(drops)) > 5:  # the clock has long passed what a body of a few bytes may take
            await asyncio.Event().wait()
        return {"type": "http.request", "body": b"x", "more_body": came < 10_000}

    drops = itertools.count()
    assert carried(tmp_path, drop, body_seconds=1.0) == 408


def test_a_body_that_is_slow_but_steady_goes_through(tmp_path):
    pieces = iter([b"x" * 100] * 5)

    async def steady():
        await asyncio.sleep(0.01)
        body = next(pieces, None)
        return {"type": "http.request", "body": body or b"", "more_body": body is not None}

    assert carried(tmp_path, steady, body_seconds=5) == 200


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
