"""The page cache: it is dropped for real, or the reason why not is said; never a cold figure of warm files."""

import os
from pathlib import Path

import pytest

from eval.bench.pagecache import drop, resident


def _written(folder: Path) -> Path:
    path = folder / "page.safetensors"
    path.write_bytes(os.urandom(100_000))
    return path


def test_a_file_that_was_just_written_is_resident_whole(tmp_path: Path) -> None:
    assert resident(_written(tmp_path)) >= 100_000


def test_an_empty_file_takes_nothing(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    assert resident(tmp_path / "empty") == 0


def test_what_is_said_to_be_dropped_is_dropped(tmp_path: Path) -> None:
    path = _written(tmp_path)
    before = path.read_bytes()
    reason = drop([path])
    assert (resident(path) == 0) == (reason is None)
    assert path.read_bytes() == before


def test_a_memory_file_system_is_told_by_its_reason() -> None:
    folder = Path("/dev/shm")
    if not os.access(folder, os.W_OK):
        pytest.skip("no /dev/shm here")
    path = folder / f"quire-bench-{os.getpid()}"
    path.write_bytes(bytes(100_000))
    try:
        reason = drop([path])
    finally:
        path.unlink()
    assert reason is not None
    assert "TMPDIR" in reason


def test_a_refusal_is_a_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(1, "Operation not permitted")

    monkeypatch.setattr(os, "posix_fadvise", refuse)
    assert "Operation not permitted" in (drop([_written(tmp_path)]) or "")
