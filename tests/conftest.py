"""Fixtures that several rooms share: the sample data beside the checkout, and a quiet, offline process."""

import json
import os
import signal
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

# Nothing in Quire needs a hub; a test that reached for one would hang or pass by luck.
os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["TRANSFORMERS_OFFLINE"] = "1"
os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of real documents, papers and the reader's card that lies beside the checkout."""
    path = ROOT.parent / "shared"
    if not (path / "data" / "docs" / "MANIFEST.tsv").exists():
        pytest.skip("the sample data folder ../shared is not beside this checkout")
    return path


@dataclass(frozen=True)
class Live:
    """A running server: its address, and the house inside for what HTTP does not tell."""

    url: str
    house: Any


@pytest.fixture(scope="session")
def records(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, ...]:
    """Three files of the small reader's own world, two pages each: the pages of its examples."""
    examples = json.loads((ROOT / "cache_compiler" / "reader" / "examples.json").read_text(encoding="utf-8"))
    pages = ["\n".join(example["lines"]) for example in examples]
    folder = tmp_path_factory.mktemp("records")
    paths = tuple(folder / name for name in ("farms.txt", "temples.txt", "towers.txt"))
    for i, path in enumerate(paths):
        path.write_text("\n\n".join(pages[2 * i : 2 * i + 2]) + "\n", encoding="utf-8")
    return paths


@pytest.fixture(scope="session")
def live(tmp_path_factory: pytest.TempPathFactory, records: tuple[Path, ...]) -> Iterator[Live]:
    """A real server on a free port of this machine, with `records` in the collection "default"."""
    from app.main import create_app
    from app.serve import listen, server_of
    from app.settings import Settings
    from ingest.pipeline import ingest

    settings = Settings(home=tmp_path_factory.mktemp("live"), port=0, queue=2, grace=1)
    app, listener = create_app(settings), listen(settings)
    server = server_of(app, settings)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, name="live-server", daemon=True)
    thread.start()
    porch = app.state.porch
    while porch.house is None and thread.is_alive():
        assert porch.reason == "the model is being loaded"
        time.sleep(0.02)
    report = ingest(records, "default", porch.house.workshop)
    assert len(report.done) == len(records), report
    yield Live(f"http://127.0.0.1:{listener.getsockname()[1]}", porch.house)
    server.handle_exit(signal.SIGTERM, None)
    thread.join(30)
    listener.close()
    assert not thread.is_alive()


@pytest.fixture(scope="session")
def live_server(live: Live) -> str:
    """The address of a running server with a small collection "default"."""
    return live.url
