"""Bytes: what is counted is what lies on the disk."""

import torch

from eval.bench import memory
from eval.bench.corpus import Corpus


def test_stored_bytes_are_those_of_the_files(corpus: Corpus) -> None:
    (row,) = memory.stored(corpus.house)
    files = list((corpus.house.store.folder / "caches").rglob("*.safetensors"))
    assert (row.dpi, row.pages) == (72, len(files))
    assert row.cache_bytes == sum(file.stat().st_size for file in files)
    assert row.bytes_a_page == row.cache_bytes / row.pages
    # Six layers of keys and values, eight heads of 32, fp32, and a header.
    assert 6 * 2 * 256 * 4 < row.bytes_a_row < 1.05 * 6 * 2 * 256 * 4
    assert 0 < row.png_bytes < row.cache_bytes
    assert memory.patch_bytes(corpus.house) == 0


def test_the_peak_is_at_least_what_is_held_now() -> None:
    held = memory.resident()
    assert held is None or memory.peak() > 0.9 * held
    assert memory.device_peak(torch.device("cpu")) is None
