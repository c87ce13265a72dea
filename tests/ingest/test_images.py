"""The image store: PNGs by key, written once, and no string but a key becomes a path."""

from pathlib import Path

import pytest
from PIL import Image

from ingest.images import ImageStore
from renderer import paginate, preset, rasterise
from retrieval.errors import UnknownPage


def test_what_comes_out_is_what_the_model_reads(tmp_path: Path) -> None:
    style = preset("reader")
    image = rasterise(paginate("Brobo tower has staff 899 people.", style)[0], style, 120)
    store = ImageStore(tmp_path)
    store.put(image)
    with Image.open(store.path(image.key)) as found:
        assert found.convert("RGB").tobytes() == image.image.tobytes()


def test_a_page_image_comes_out_as_it_was_put_pixel_for_pixel(tmp_path: Path) -> None:
    style = preset("reader")
    store = ImageStore(tmp_path)
    for dpi in (72, 120):
        image = rasterise(paginate("Brobo tower has staff 899 people.", style)[0], style, dpi)
        store.put(image)
        found = store.get(image.key, style.cell)
        assert found == image
        assert (found.key, found.cells, found.image.mode) == (image.key, image.cells, image.image.mode)
        assert found.image.tobytes() == image.image.tobytes()


@pytest.mark.parametrize("data", [None, b"", b"\x89PNG\r\n\x1a\n", b"no image"])
def test_an_image_that_is_missing_or_damaged_is_named_with_its_cure(tmp_path: Path, data: bytes | None) -> None:
    store, key = ImageStore(tmp_path), f"{'ab' * 16}@72"
    if data is not None:
        store.path(key).parent.mkdir()
        store.path(key).write_bytes(data)
    with pytest.raises(UnknownPage, match=f"{key}: .*quire repair"):
        store.get(key, 16)


@pytest.mark.parametrize("key", ["../../etc/passwd@72", "ab@72", "", "AB" * 16 + "@72", "ab" * 16, "ab" * 16 + "@72/.."])
def test_a_string_that_is_no_key_is_refused(tmp_path: Path, key: str) -> None:
    with pytest.raises(UnknownPage):
        ImageStore(tmp_path).path(key)
