"""Settings go in; a running server comes out, until it is told to stop; then an exit code."""

from __future__ import annotations

import logging
import socket
import sys

import uvicorn

from .errors import BadSettings, RemoteRefused
from .main import create_app
from .settings import Settings

# Streams that are still open when the server stops get this long, in seconds.
GRACE = 5


def serve(settings: Settings, allow_remote: bool = False) -> int:
    """Serve until SIGINT or SIGTERM.

    Raises RemoteRefused for an address beyond this machine without `allow_remote`, BadSettings for one that cannot be had, and
    whatever kept the house from opening: a server that can never be ready does not stay.
    """
    if not settings.loopback:
        if not allow_remote:
            raise RemoteRefused(
                f"{settings.host} can be reached from other machines, and there are no API keys yet: "
                "anybody there could read and delete everything. Say --allow-remote if that is meant"
            )
        print(f"quire: {settings.host} can be reached from other machines; anybody there can read and delete everything", file=sys.stderr)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(levelname)s %(message)s", stream=sys.stderr)
    logging.getLogger("faiss").setLevel(logging.WARNING)  # which instruction set it loads is no news
    failures: list[Exception] = []

    def stop(error: Exception) -> None:
        failures.append(error)
        server.should_exit = True

    listener = _bind(settings)
    app = create_app(settings, on_failure=stop)
    server = uvicorn.Server(
        # Our own log line has no query in it; and the server's name is nobody's business.
        uvicorn.Config(app, log_config=None, access_log=False, server_header=False, timeout_graceful_shutdown=GRACE, lifespan="on")
    )
    host, port = listener.getsockname()[:2]
    print(f"Quire is at http://{f'[{host}]' if ':' in host else host}:{port}  (Ctrl-C stops it); the model is being loaded ...", flush=True)
    try:
        server.run(sockets=[listener])
    except KeyboardInterrupt:
        # uvicorn raises it again once it has shut down in good order.
        return 0
    finally:
        listener.close()
    if failures:
        raise failures[0]
    return 0


def _bind(settings: Settings) -> socket.socket:
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
