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


@pytest.mark.parametrize("key", ["../../etc/passwd@72", "ab@72", "", "AB" * 16 + "@72", "ab" * 16, "ab" * 16 + "@72/.."])
def test_a_string_that_is_no_key_is_refused(tmp_path: Path, key: str) -> None:
    with pytest.raises(UnknownPage):
        ImageStore(tmp_path).path(key)
