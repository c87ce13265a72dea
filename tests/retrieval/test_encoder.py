"""Encoders: weights that are whole load quietly, others are refused; the digest tells two of them apart."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from retrieval.encoder import load_encoder, weights_digest
from retrieval.errors import EmbedderUnavailable
from retrieval.minilm import MiniLM, packaged_folder

ROOT = Path(__file__).resolve().parents[2]


def test_the_digest_sees_names_and_contents_but_not_places(tmp_path: Path) -> None:
    def files(folder: str, **contents: str) -> list[Path]:
        (tmp_path / folder).mkdir()
        for name, content in contents.items():
            (tmp_path / folder / name).write_text(content)
        return [tmp_path / folder / name for name in contents]

    first = weights_digest(files("1", a="x", b="y"))
    assert weights_digest(files("2", b="y", a="x")) == first
    assert weights_digest(files("3", a="x", b="z")) != first
    assert weights_digest(files("4", a="y", b="x")) != first
    assert len(first) == 16


@pytest.mark.filterwarnings("ignore:Cannot enable progress bars")
def test_a_load_shows_no_progress_bar_and_leaves_the_next_ones_alone(capfd: pytest.CaptureFixture[str]) -> None:
    from transformers.utils import logging

    before = logging.is_progress_bar_enabled()
    try:
        for shown in (True, False):
            (logging.enable_progress_bar if shown else logging.disable_progress_bar)()
            MiniLM(packaged_folder())
            assert logging.is_progress_bar_enabled() is shown
    finally:
        (logging.enable_progress_bar if before else logging.disable_progress_bar)()
    assert capfd.readouterr() == ("", "")


def test_weights_that_lack_a_layer_or_cannot_be_read_are_refused(tmp_path: Path) -> None:
    from safetensors.torch import load_file, save_file

    shutil.copytree(packaged_folder(), tmp_path / "model")
    weights = tmp_path / "model" / "model.safetensors"
    tensors = {name: tensor for name, tensor in load_file(weights).items() if not name.startswith("pooler.")}
    save_file(tensors, weights, metadata={"format": "pt"})
    load_encoder(weights, "cpu")
    del tensors["embeddings.LayerNorm.weight"]
    save_file(tensors, weights, metadata={"format": "pt"})
    with pytest.raises(EmbedderUnavailable, match=r"has no embeddings\.LayerNorm\.weight"):
        load_encoder(weights, "cpu")
    weights.write_bytes(b"not weights")
    with pytest.raises(EmbedderUnavailable, match="cannot be loaded"):
        load_encoder(weights, "cpu")
