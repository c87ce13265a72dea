"""Requests go in; replies come out as a client gets them, or `Lost` where the connection broke. The one file of this room that speaks HTTP.

A connection a request: a server that is killed must not take down a client's pool as well, and every request meets the front door.
"""

from __future__ import annotations

import http.client
import json
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from eval.bench.client import events

SECONDS = 120.0


class Lost(Exception):
    """No reply, or half of one: refused, reset, cut off, timed out."""


@dataclass(frozen=True)
class Reply:
    status: int
    headers: dict[str, str]
    body: Any = None

    @property
    def type(self) -> str:
        """The error's own name, "" where the body has none."""
        found = self.body.get("error") if isinstance(self.body, dict) else None
        return str(found.get("type", "")) if isinstance(found, dict) else ""


@dataclass
class Heard:
    """A streamed answer, as far as it was heard: events by name, the last one's data, and seconds to the first text."""

    names: list[str] = field(default_factory=list)
    text: str = ""
    planned: dict[str, Any] = field(default_factory=dict)
    last: dict[str, Any] = field(default_factory=dict)
    first: float | None = None


@dataclass(frozen=True)
class Wire:
    """One server's address, and a key where it wants one."""

    port: int
    key: str = ""
    host: str = "127.0.0.1"

    def send(self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None, seconds: float = SECONDS) -> Reply:
        """Raises Lost."""
        connection = self._open(seconds)
        try:
            response = self._ask(connection, method, path, body, headers or {})
            raw = response.read()
        except (OSError, http.client.HTTPException) as error:
            raise Lost(f"{method} {path.partition('?')[0]}: {error!r}") from error
        finally:
            connection.close()
        return _reply(response, raw)

    def upload(self, name: str, data: bytes, fields: dict[str, str], key: str = "") -> Reply:
        """One file as a form; `key` is sent as Idempotency-Key. Raises Lost."""
        boundary = uuid.uuid4().hex
        parts = [_part(boundary, f'name="{word}"', value.encode()) for word, value in fields.items()]
        parts.append(_part(boundary, f'name="files"; filename="{name}"', data))
        headers = {"Content-Type": f"multipart/form-data; boundary={boundary}"}
        if key:
            headers["Idempotency-Key"] = key
        return self.send("POST", "/v1/documents", b"".join(parts) + f"--{boundary}--\r\n".encode(), headers)

    def stream(self, body: dict[str, Any], stop_after: int | None = None) -> tuple[Reply, Heard]:
        """Ask as events. `stop_after` n: hang up behind the n-th event. Raises Lost, also where the stream ends before its last event."""
        connection = self._open(SECONDS)
        heard, begun = Heard(), time.perf_counter()
        try:
            response = self._ask(connection, "POST", "/v1/ask", {**body, "stream": True}, {"Accept": "text/event-stream"})
            if response.status != 200:
                return _reply(response, response.read()), heard
            for name, data in _until(events(iter(response.readline, b"")), stop_after):
                heard.names.append(name)
                if name == "token":
                    heard.text += data["text"]
                    if heard.first is None and data["text"]:
                        heard.first = time.perf_counter() - begun
                elif name == "planned":
                    heard.planned = data
                heard.last = data
            if stop_after is None and (not heard.names or heard.names[-1] not in ("done", "failed")):
                raise Lost("the stream ended before the answer did")
        except (OSError, http.client.HTTPException) as error:
            raise Lost(repr(error)) from error
        finally:
            connection.close()
        return _reply(response, b""), heard

    def hang_up(self, body: dict[str, Any], seconds: float) -> None:
        """Ask, and go away after so long, whatever has come by then."""
        connection = self._open(seconds)
        try:
            self._ask(connection, "POST", "/v1/ask", body, {})
        except (OSError, http.client.HTTPException):
            pass  # the time is up: that is what was wanted
        finally:
            connection.close()

    def _open(self, seconds: float) -> http.client.HTTPConnection:
        return http.client.HTTPConnection(self.host, self.port, timeout=seconds)

    def _ask(
        self, connection: http.client.HTTPConnection, method: str, path: str, body: Any, headers: dict[str, str]
    ) -> http.client.HTTPResponse:
        own = {"Connection": "close", **headers}
        if self.key:
            own["Authorization"] = f"Bearer {self.key}"
        if body is not None and not isinstance(body, bytes):
            body = json.dumps(body).encode()
            own.setdefault("Content-Type", "application/json")
        connection.request(method, path, body, own)
        return connection.getresponse()


def _until(found: Iterator[tuple[str, dict[str, Any]]], stop_after: int | None) -> Iterator[tuple[str, dict[str, Any]]]:
    for number, pair in enumerate(found, 1):
        yield pair
        if number == stop_after:
            return


def _reply(response: http.client.HTTPResponse, raw: bytes) -> Reply:
    headers = {name.lower(): value for name, value in response.getheaders()}
    if "json" not in headers.get("content-type", "") or not raw:
        return Reply(response.status, headers, None)
    return Reply(response.status, headers, json.loads(raw))


def _part(boundary: str, disposition: str, data: bytes) -> bytes:
    return f"--{boundary}\r\nContent-Disposition: form-data; {disposition}\r\n\r\n".encode() + data + b"\r\n"
