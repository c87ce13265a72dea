"""Connections: no more than may be, no head that never ends, no rest of a body for hours; and errors in the one shape."""

import asyncio
import contextlib
import json
from collections.abc import Iterator

import pytest
import uvicorn
from starlette.requests import Request
from starlette.responses import PlainTextResponse

from app.protocol import patient


async def app(scope, receive, send):
    request = Request(scope, receive)
    if request.url.path == "/refuse":
        await PlainTextResponse("no", 403)(scope, receive, send)
        return
    await PlainTextResponse(str(len(await request.body())))(scope, receive, send)


@contextlib.asynccontextmanager
async def served(limit: int = 8, patience: float = 0.2) -> Iterator[int]:
    config = uvicorn.Config(app, http=patient(limit, patience), ws="none", log_config=None, lifespan="off", port=0)
    server = uvicorn.Server(config)
    server.capture_signals = contextlib.nullcontext
    task = asyncio.create_task(server.serve())
    while not server.started:
        await asyncio.sleep(0.005)
    yield server.servers[0].sockets[0].getsockname()[1]
    server.should_exit = True
    await task


async def exchange(port: int, *pieces: bytes, end: bool = True) -> bytes:
    """Send, and read until the server ends the connection."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        for piece in pieces:
            writer.write(piece)
            await writer.drain()
        return await asyncio.wait_for(reader.read(), 20)
    except ConnectionResetError:
        return b""
    finally:
        writer.close()


WHOLE = b"POST / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: 3\r\n\r\nabc"


def test_a_whole_request_is_answered():
    async def go():
        async with served() as port:
            assert (await exchange(port, WHOLE)).endswith(b"3")

    asyncio.run(go())


@pytest.mark.parametrize(
    "said", [b"", b"GET / HT", b"GET / HTTP/1.1\r\nHost: a\r\nX-Slow: ", b"POST /refuse HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nab"]
)
def test_whoever_does_not_go_on_is_let_go(said):
    async def go():
        async with served() as port:
            answer = await exchange(port, said)  # ends, for the server closes it
            assert b"200" not in answer

    asyncio.run(go())


def test_a_head_that_comes_byte_by_byte_ends_as_well():
    async def go():
        async with served(patience=0.3) as port:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(b"GET / HTTP/1.1\r\nHost: a\r\n")
            for _ in range(400):
                if reader.at_eof():
                    break
                with contextlib.suppress(ConnectionError, TimeoutError):
                    writer.write(b"X-A: b\r\n")
                    await writer.drain()
                    await asyncio.wait_for(reader.read(1), 0.05)
            assert reader.at_eof() or reader.exception()

    asyncio.run(go())


def test_one_connection_too_many_is_told_to_come_back():
    async def go():
        async with served(limit=2, patience=20) as port:
            open_ones = [await asyncio.open_connection("127.0.0.1", port) for _ in range(2)]
            await asyncio.sleep(0.05)
            head, _, body = (await exchange(port, b"")).partition(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 503")
            assert b"Retry-After: 2" in head
            assert b"x-request-id: " in head
            assert b"x-content-type-options: nosniff" in head
            assert json.loads(body)["error"]["type"] == "Busy"
            for _, writer in open_ones:
                writer.close()
            await asyncio.sleep(0.05)
            assert (await exchange(port, WHOLE)).endswith(b"3")

    asyncio.run(go())


def test_what_is_no_http_gets_the_one_shape():
    async def go():
        async with served() as port:
            head, _, body = (await exchange(port, b"\x16\x03\x01 hello\r\n\r\n")).partition(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 400")
            assert b"x-request-id: " in head
            assert b"cache-control: no-store" in head
            assert json.loads(body)["error"]["type"] == "BadRequest"

    asyncio.run(go())
