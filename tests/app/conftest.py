"""A house of the command's own: a home with the records in it, made by `quire ingest` once a session; and a server to attack."""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from app.settings import PREFIX, Settings


@pytest.fixture(autouse=True)
def no_settings_of_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """A variable that happens to be set here must not decide a test."""
    for name in list(os.environ):
        if name.startswith(PREFIX):
            monkeypatch.delenv(name)


@pytest.fixture(scope="session")
def house(tmp_path_factory: pytest.TempPathFactory, records: tuple[Path, ...]) -> Iterator[object]:
    """A real house with `records` in its collection "default"."""
    from app.house import House
    from ingest.pipeline import ingest

    opened = House.open(Settings(home=tmp_path_factory.mktemp("house")))
    report = ingest(records, "default", opened.workshop)
    assert len(report.done) == len(records), report
    yield opened
    opened.close()


@dataclass(frozen=True)
class Fort:
    """A server with small limits on a real socket, as `quire serve` would run it: its address, its house, and the folder that its home is in."""

    host: str
    port: int
    house: Any
    ground: Path

    @property
    def url(self) -> str:
        return f"http://{self.host}:{self.port}"


@pytest.fixture(scope="session")
def fort(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fort]:
    """For those who attack: every limit is near, and nobody else uses it."""
    import uvicorn

    from app.main import create_app
    from app.protocol import patient

    ground = tmp_path_factory.mktemp("ground")
    limits: dict[str, Any] = {"file_bytes": 2_000_000, "upload_bytes": 2_000_000, "unpacked_bytes": 4_000_000, "image_pixels": 1_000_000}
    limits |= {"archive_members": 20, "request_files": 20, "parse_seconds": 30.0, "body_seconds": 1.0}
    settings = Settings(home=ground / "home", port=0, rate=0, ask_rate=0, max_tokens=4, patch_policy="off", ocr="off", **limits)
    app = create_app(settings)
    http = patient(settings.connections, settings.body_seconds)
    config = uvicorn.Config(app, http=http, ws="none", log_config=None, access_log=False, server_header=False, proxy_headers=False)
    server = uvicorn.Server(config)
    listener = socket.create_server(("127.0.0.1", 0))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, name="fort", daemon=True)
    thread.start()
    while app.state.porch.house is None and thread.is_alive():
        assert app.state.porch.reason == "the model is being loaded"
        time.sleep(0.02)
    yield Fort("127.0.0.1", listener.getsockname()[1], app.state.porch.house, ground)
    server.should_exit = True
    thread.join(30)
    listener.close()
