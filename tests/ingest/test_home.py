"""The home folder: one place for everything, one writer at a time."""

import subprocess
import sys
from pathlib import Path

import pytest

from cache_compiler.files import UNFINISHED, write_atomic
from ingest.errors import HomeBusy
from ingest.home import Home


def test_a_second_writer_waits_and_then_is_told(tmp_path: Path) -> None:
    with Home(tmp_path).writing(), pytest.raises(HomeBusy, match=str(tmp_path)), Home(tmp_path).writing(timeout=0.1):
        pass


def test_every_file_of_a_page_image_is_found_whatever_its_model(tmp_path: Path) -> None:
    home = Home(tmp_path)
    key = "ab" * 16
    for name in ("store/one/caches/ab", "store/two/caches/ab", "images/ab"):
        folder = tmp_path / name
        folder.mkdir(parents=True)
        suffix = "png" if name.startswith("images") else "safetensors"
        (folder / f"{key}@72.{suffix}").touch()
        (folder / f"{'ac' * 16}@72.{suffix}").touch()
    assert len(home.derived_files(f"{key}@72")) == 3


def test_sweeping_removes_what_dead_writers_left_anywhere_in_the_home(tmp_path: Path) -> None:
    """A half-written image is somebody's page, too."""
    home = Home(tmp_path / "home")
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait(timeout=60)
    kept = home.images_root / "ab" / "page@72.png"
    write_atomic(kept, b"whole")
    for folder in (home.images_root / "ab", home.store_root / "one" / "caches" / "ab"):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"page@120.1.{dead.pid}{UNFINISHED}").write_bytes(b"half")
    assert home.sweep() == 2
    assert [path for path in home.root.rglob("*") if path.is_file()] == [kept]
