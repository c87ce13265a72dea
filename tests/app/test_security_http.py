"""Bytes on a socket that no well-behaved client sends: none is a fault of ours, none is read as two requests, and none costs more than its limit."""

import json
import os
import re
import socket
import threading
from pathlib import Path

import pytest

MIB = 1024 * 1024


def talk(fort, *pieces: bytes, half_close: bool = False) -> bytes:
    """Everything the server says until it closes, or until it has been silent for some seconds."""
    said = b""
    with socket.create_connection((fort.host, fort.port), timeout=5) as connection:
        try:
            for piece in pieces:
                connection.sendall(piece)
            if half_close:
                connection.shutdown(socket.SHUT_WR)
            while block := connection.recv(65536):
                said += block
        except OSError:
            pass  # silent, or closed by the server
    return said


def head(method: str, path: str, *lines: str) -> bytes:
    return "\r\n".join([f"{method} {path} HTTP/1.1", "Host: localhost", *lines, "", ""]).encode()


def statuses(said: bytes) -> list[int]:
    return [int(number) for number in re.findall(rb"HTTP/1\.1 (\d{3})", said)]


def post(fort, path: str, body: bytes, media: str = "application/json") -> tuple[int, dict]:
    said = talk(fort, head("POST", path, f"Content-Type: {media}", f"Content-Length: {len(body)}", "Connection: close"), body)
    assert len(statuses(said)) == 1, said[:300]
    return statuses(said)[0], json.loads(said.partition(b"\r\n\r\n")[2])


# -- two requests for one ----------------------------------------------------------------------------------------------------

SMUGGLED = b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n"


@pytest.mark.parametrize(
    "lines",
    [
        ("Content-Length: {}", "Transfer-Encoding: chunked"),
        ("Transfer-Encoding: chunked", "Content-Length: {}"),
        ("Content-Length: {}", "Content-Length: 0"),
        ("Content-Length: {}, 0",),
        ("Content-Length: +0",),
        ("Content-Length: 0x0",),
        ("Transfer-Encoding: xchunked",),
        ("Transfer-Encoding: chunked, identity",),
        ("Transfer-Encoding : chunked",),
        ("Transfer-Encoding:\r\n chunked", "Content-Length: {}"),
        ("Host: evil.example",),
    ],
)
def test_a_request_of_two_lengths_is_never_two_requests(fort, lines):
    body = b"0\r\n\r\n" + SMUGGLED
    said = talk(fort, head("POST", "/v1/search", *(line.format(len(body)) for line in lines)), body)
    assert len(statuses(said)) <= 1, said
    assert b"alive" not in said


@pytest.mark.parametrize(
    "size", ["-1\r\n", "ffffffffffffffff1\r\nx", "5;" + "e" * 100_000 + "\r\nhello\r\n", "0x5\r\nhello\r\n", "5\nhello\n0\n\n"]
)
def test_a_chunk_of_an_odd_size_is_refused(fort, size):
    said = talk(
        fort, head("POST", "/v1/search", "Content-Type: application/json", "Transfer-Encoding: chunked"), size.encode(), half_close=True
    )
    assert [code for code in statuses(said) if code < 400] == []


# -- heads -------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "raw",
    [
        b"GET /livez HTTP/1.1\r\nHost: localhost\r\nX: " + b"a" * MIB + b"\r\n\r\n",
        b"GET /livez HTTP/1.1\r\nHost: localhost\r\n" + b"A: b\r\n" * 100_000 + b"\r\n",
        b"GET /" + b"a" * MIB + b" HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"\x00\xff\xfe" * 100 + b"\r\n\r\n",
        b"GET /livez HTTP/1.1\r\n\r\n",
        b"GET /livez HTTP/1.1\r\nHost: localhost\r\nX: a\x00b\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\x00" * 500,
    ],
    ids=["giant header", "many headers", "giant path", "bytes", "no host", "nul", "http/2", "tls"],
)
def test_a_head_that_is_none_is_refused_and_the_server_lives(fort, raw):
    said = talk(fort, raw, half_close=True)
    assert not [code for code in statuses(said) if code < 400 or code == 500], said[:200]
    assert statuses(talk(fort, head("GET", "/livez", "Connection: close"))) == [200]


@pytest.mark.parametrize(
    "host", ["evil.example", "localhost.evil.example", "localhost@evil.example", "127.0.0.1.nip.io", "2130706433", "[::1].evil"]
)
def test_a_name_that_was_pointed_here_is_refused(fort, host):
    said = talk(fort, f"GET /v1/model HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode())
    assert statuses(said)[0] in (400, 421)


def test_what_a_client_writes_never_becomes_a_header_of_ours(fort):
    path = "/v1/documents/x%0d%0aSet-Cookie:%20a=b%0d%0a%0d%0a?collection=%0d%0aX-Evil:1"
    evil = ("X-Request-Id: mine\tSet-Cookie: a=b", "Idempotency-Key: a\tb", "Accept-Language: x")
    said = talk(fort, head("GET", path, *evil, "Connection: close")).partition(b"\r\n\r\n")[0].lower()
    assert b"set-cookie" not in said
    assert b"x-evil" not in said
    assert b"mine" not in said


@pytest.mark.parametrize(
    "path",
    [
        "/static/../app/main.py",
        "/static/%2e%2e/app/main.py",
        "/static/..%2f..%2fetc/passwd",
        "/static//etc/passwd",
        "/static/%5c..%5capp%5cmain.py",
        "/v1/pages/..%2f..%2fcatalogue.sqlite",
        "/v1/pages/..%2fkeys.json.png",
        "//etc/passwd",
        "/static/%00",
    ],
)
def test_no_path_leads_out_of_its_folder(fort, path):
    said = talk(fort, head("GET", path, "Connection: close"))
    assert statuses(said) in ([404], [400]), said[:300]


# -- bodies ------------------------------------------------------------------------------------------------------------------

ROUTES = ["/v1/ask", "/v1/search", "/v1/documents/text", "/v1/documents/delete", "/v1/chat/completions"]
BODIES = {
    "deep lists": b"[" * 100_000,
    "deep objects": b'{"a":' * 50_000 + b"1" + b"}" * 50_000,
    "long number": b'{"top_k": ' + b"9" * 100_000 + b"}",
    "large exponent": b'{"top_k": 1e999999999, "question": "x", "query": "x"}',
    "nan": b'{"top_k": NaN, "temperature": Infinity, "question": "x", "query": "x"}',
    "bytes": b'{"question": "\xff\xfe\xfa", "query": "\xc3\x28"}',
    "half a pair": b'{"question": "\\ud800", "query": "\\ud800", "title": "\\ud800", "text": "\\ud800", "ids": ["\\ud800"]}',
    "nothing": b"",
    "a number": b"7",
    "cut": b'{"question": "x',
}


@pytest.mark.parametrize("path", ROUTES)
@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES.keys())
def test_a_body_that_is_no_request_is_told_so_in_the_one_shape(fort, path, body):
    status, told = post(fort, path, body)
    assert status in (400, 422), told
    assert set(told["error"]) == {"type", "message", "detail"}


@pytest.mark.parametrize("character", ["\x00", "\r\n", "\u2028", "\u202e", "\U0010ffff", "\ufffe"], ids=ascii)
def test_odd_characters_in_words_are_words(fort, character):
    for path, body in [
        ("/v1/ask", {"question": f"a{character}b"}),
        ("/v1/ask", {"question": "a", "collection": f"a{character}"}),
        ("/v1/ask", {"question": "a", "conversation": f"abcdefgh{character}"}),
        ("/v1/search", {"query": f"a{character}b"}),
        ("/v1/documents/delete", {"ids": [f"a{character}"]}),
        ("/v1/chat/completions", {"model": f"reader{character}", "messages": [{"role": "user", "content": f"a{character}"}]}),
    ]:
        assert post(fort, path, json.dumps(body).encode())[0] < 500


def spilt() -> int:
    """Bytes of unlinked temporary files that this process, which is the server's too, holds open."""
    size = 0
    for link in Path("/proc/self/fd").iterdir():
        try:
            if str(link.readlink()).endswith("(deleted)"):
                size += link.stat().st_size
        except OSError:
            continue
    return size


def form(size: int) -> bytes:
    return b'--b\r\nContent-Disposition: form-data; name="files"; filename="a.txt"\r\n\r\n' + b"x" * size


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="looks at /proc")
@pytest.mark.parametrize("length", [False, True], ids=["chunked", "content-length"])
def test_a_body_over_the_limit_is_refused_while_it_streams_and_is_never_kept(fort, length):
    whole, most, over = 64 * MIB, 0, threading.Event()
    before = spilt()

    def look() -> None:
        nonlocal most
        while not over.wait(0.002):
            most = max(most, spilt() - before)

    watcher = threading.Thread(target=look)
    watcher.start()
    block = b"x" * 65536
    sent = 0
    with socket.create_connection((fort.host, fort.port), timeout=10) as connection:
        kind = f"Content-Length: {whole}" if length else "Transfer-Encoding: chunked"
        connection.sendall(head("POST", "/v1/documents", "Content-Type: multipart/form-data; boundary=b", kind))
        try:
            first = form(0)
            connection.sendall(first if length else b"%x\r\n%s\r\n" % (len(first), first))
            while sent < whole:
                connection.sendall(block if length else b"10000\r\n" + block + b"\r\n")
                sent += len(block)
        except (ConnectionResetError, BrokenPipeError, TimeoutError):
            pass
        try:
            said = connection.recv(65536)
        except (ConnectionResetError, TimeoutError):
            said = b""
    over.set()
    watcher.join()
    # What was on its way when the refusal came may have broken the connection before it could be read.
    assert statuses(said) in ([413], []), said[:300]
    assert most <= 2_000_000 + 128 * 1024, f"{most:,} bytes were kept"
    assert not list((fort.house.workshop.home.spool).iterdir())


def test_a_refusal_is_told_before_the_body_is_sent(fort):
    said = talk(fort, head("POST", "/v1/documents", "Content-Type: multipart/form-data; boundary=b", f"Content-Length: {10**12}"))
    assert statuses(said) == [413]


def test_a_body_of_which_nothing_comes_is_let_go(fort):
    said = talk(fort, head("POST", "/v1/search", "Content-Type: application/json", "Content-Length: 100"), b'{"query"')
    assert statuses(said) == [408]


def test_a_form_of_many_small_parts_is_refused_before_it_fills_the_memory(fort):
    part = b'--b\r\nContent-Disposition: form-data; name="x"\r\n\r\n1\r\n'
    status, told = post(fort, "/v1/documents", part * 30_000 + b"--b--\r\n", "multipart/form-data; boundary=b")
    assert status in (413, 422), told


@pytest.mark.parametrize("boundary", ["", '""', "b" * 10_000, "b; boundary=c", "\t"], ids=ascii)
def test_an_odd_boundary_is_told_so(fort, boundary):
    status, _ = post(fort, "/v1/documents", form(5) + b"\r\n--b--\r\n", f"multipart/form-data; boundary={boundary}")
    assert status in (202, 400, 413, 422)


def test_no_descriptor_is_left_open_by_those_who_go_away(fort):
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(40):
        with socket.create_connection((fort.host, fort.port), timeout=5) as connection:
            connection.sendall(head("POST", "/v1/documents", "Content-Type: multipart/form-data; boundary=b", "Content-Length: 1000000"))
            connection.sendall(form(100_000))
    assert statuses(talk(fort, head("GET", "/livez", "Connection: close"))) == [200]
    talk(fort, head("POST", "/v1/search", "Content-Type: application/json", "Content-Length: 9"), b"x")  # a second's patience
    assert len(os.listdir("/proc/self/fd")) <= before + 8
