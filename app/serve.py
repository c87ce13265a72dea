"""Settings go in; a running server comes out, until it is told to stop; then an exit code."""

from __future__ import annotations

import logging
import os
import signal
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

import uvicorn
from fastapi import FastAPI

from . import logs
from .closing import Closing
from .errors import BadSettings, RemoteRefused
from .keys import KeyRing
from .main import create_app
from .protocol import patient
from .settings import Settings

# Answers that ended, or were handed back, get this long to reach their clients; in seconds.
LAST = 5
log = logging.getLogger("quire.http")


def serve(settings: Settings) -> int:
    """Serve until SIGINT or SIGTERM, which let open answers end within `grace`; a second signal ends at once.

    Raises RemoteRefused for an address beyond this machine where there is no API key, BadKeys for a file of keys that cannot be read,
    BadSettings for an address that cannot be had, and whatever kept the house from opening: a server that can never be ready does not stay.
    """
    locked = KeyRing(settings.home).in_force()
    if not settings.loopback and not locked:
        raise RemoteRefused(
            f"{settings.host} can be reached from other machines, and without a key anybody there could read and delete everything: "
            f"make one first, with `quire key create --name NAME --home {settings.home}`"
        )
    logs.begin(settings.log_format)
    failures: list[Exception] = []

    def stop(error: Exception) -> None:
        failures.append(error)
        server.should_exit = True

    listener = listen(settings)
    app = create_app(settings, on_failure=stop)
    server = server_of(app, settings)
    host, port = listener.getsockname()[:2]
    keys = "keys are needed" if locked else "no keys, this machine alone"
    print(
        f"Quire is at http://{f'[{host}]' if ':' in host else host}:{port}  ({keys}; Ctrl-C stops it); the model is being loaded ...",
        flush=True,
    )
    try:
        server.run(sockets=[listener])
    finally:
        listener.close()
    if failures:
        raise failures[0]
    return 0


def server_of(app: FastAPI, settings: Settings) -> Server:
    """The server of an application that `create_app` made; run it on a socket that listens."""
    config = uvicorn.Config(
        app,
        http=patient(settings.connections, settings.body_seconds),
        ws="none",
        # Our own log line has no query in it; and the server's name is nobody's business.
        log_config=None,
        access_log=False,
        server_header=False,
        # Who asks is who is connected: a header that anybody can write would let one client count as many.
        proxy_headers=False,
        timeout_graceful_shutdown=LAST,
        lifespan="on",
    )
    return Server(config, app.state.porch.closing, settings.grace)


class Server(uvicorn.Server):
    """uvicorn, which stops in two steps: it goes on serving while open answers end, and only then closes its doors."""

    def __init__(self, config: uvicorn.Config, closing: Closing, grace: float) -> None:
        super().__init__(config)
        self.closing, self.grace = closing, grace
        self._until = 0.0

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """uvicorn's own raises the signal again when all is done, and so makes a failure of a stop in good order."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {number: signal.signal(number, self.handle_exit) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        if self.closing.begun:
            # What is on the disk is whole at any moment; the next start takes up what was in hand.
            os.write(2, b"quire: ended at once\n")
            os._exit(128 + sig)
        self._until = time.monotonic() + self.grace
        self.closing.begin()

    async def on_tick(self, counter: int) -> bool:
        if self.closing.begun and not self.should_exit and (not self.closing.answers or time.monotonic() >= self._until):
            log.info("stopping; answers handed back: %d", self.closing.answers)
            self.closing.hand_back()
            self.should_exit = True
        return await super().on_tick(counter)


def listen(settings: Settings) -> socket.socket:
    """A listening socket, taken before the model is loaded: a port in use should be told at once."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((settings.host, settings.port))
    except OSError as error:
        listener.close()
        raise BadSettings(
            f"cannot serve at {settings.host}, port {settings.port}: {error.strerror or error}; choose another --port"
        ) from error
    return listener
