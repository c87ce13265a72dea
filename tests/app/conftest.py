"""A house of the command's own: a home with the records in it, made by `quire ingest` once a session."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

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
