"""Bytes of a connection go in; requests come out, for clients that keep coming with them. Slow and surplus connections are closed here,
before there is a request that anybody could answer: uvicorn has no limit for a head that never ends.
"""

from __future__ import annotations

import asyncio
import json
import uuid
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from .doors import SAFE
from .errors import Busy, body, shape

# Bytes of a request's head.
HEAD = 16 * 1024


class OneLength(h11.Connection):
    """h11, which takes the chunks' word where a request tells a length as well, and goes on with what stands behind them: a proxy that takes the
    length's word would have let another's request through in there (RFC 9112, 6.1 and 11.2). Such a request is refused."""

    def next_event(self) -> Any:
        event = super().next_event()
        if isinstance(event, h11.Request):
            names = [bytes(name) for name, _ in event.headers]
            if b"transfer-encoding" in names and b"content-length" in names:
                raise h11.RemoteProtocolError("both Content-Length and Transfer-Encoding")
        return event


class Patient(H11Protocol):
    """One connection. `limit` connections at a time; `patience` seconds for a request's head, and for what follows one that was refused."""

    limit, patience = 512, 30.0

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.conn = OneLength(h11.SERVER, HEAD)
        self._owed: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if len(self.connections) > self.limit:
            told = body(Busy(f"{self.limit} connections are open already, the limit (connections); try again in a few seconds"))
            self._say("503 Service Unavailable", told, "Retry-After: 2\r\n")
            return
        self._watch()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._watch()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        self._forget()
        super().connection_lost(exc)

    def send_400_response(self, msg: str) -> None:
        self._say("400 Bad Request", shape("BadRequest", "this is no HTTP request that can be read"))

    def _owes(self) -> bool:
        """Whether the client has begun something that nobody is reading: half a head, or the rest of a body whose answer is out."""
        if self.conn.their_state is h11.SEND_BODY:
            return self.conn.our_state in (h11.DONE, h11.MUST_CLOSE)
        begun = self.cycle is None or bool(self.conn.trailing_data[0])
        return self.conn.their_state is h11.IDLE and begun

    def _watch(self) -> None:
        # The clock runs from the first byte and is not wound up by the next: a head that comes byte by byte ends too.
        if self.transport.is_closing() or not self._owes():
            self._forget()
        elif self._owed is None:
            self._owed = self.loop.call_later(self.patience, self._close)

    def _forget(self) -> None:
        if self._owed is not None:
            self._owed.cancel()
            self._owed = None

    def _close(self) -> None:
        if not self.transport.is_closing():
            self.transport.abort()

    def _say(self, status: str, told: dict[str, Any], header: str = "") -> None:
        data = json.dumps(told).encode()
        dressed = {**SAFE, "cache-control": "no-store", "x-request-id": uuid.uuid4().hex[:12]}
        safe = "".join(f"{name}: {value}\r\n" for name, value in dressed.items())
        head = (
            f"HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {len(data)}\r\n{header}{safe}Connection: close\r\n\r\n"
        )
        self.transport.write(head.encode() + data)
        self.transport.close()


def patient(limit: int, patience: float) -> type[Patient]:
    """The connections of one server."""
    return type("Patient", (Patient,), {"limit": limit, "patience": patience})
