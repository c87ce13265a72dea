"""The home folder: one place for everything, one writer at a time."""

from pathlib import Path

import pytest

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
