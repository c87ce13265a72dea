"""A digest of weights is that of the bytes that are there: a memo spares the reading, and is never believed of another file."""

import json
import os
import shutil
import time
from pathlib import Path

import pytest
import torch

from cache_compiler import weights
from cache_compiler.backbone import Backbone
from cache_compiler.load import READER, load_backbone
from cache_compiler.tiny import random_backbone
from cache_compiler.weights import weights_digest

NAME = "model.safetensors"


def test_one_changed_weight_changes_the_digest_of_a_model_in_memory(backbone: Backbone) -> None:
    twin = random_backbone("tiny")
    assert weights_digest(twin) == weights_digest(backbone)
    with torch.no_grad():
        twin.text.layers[1].mlp.down_proj.weight[3, 4] += 1e-6
    assert weights_digest(twin) != weights_digest(backbone)
    assert weights_digest(random_backbone("tiny", seed=1)) != weights_digest(backbone)


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Backbone:
    """The reader in a directory of its own, its files taken as settled however young they are."""
    monkeypatch.setattr(weights, "SETTLED_NS", -(10**15))
    return load_backbone(Path(shutil.copytree(READER, tmp_path / "model")), device="cpu")


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """One entry for each time that the files were read."""
    seen: list[int] = []
    true = weights._files_digest
    monkeypatch.setattr(weights, "_files_digest", lambda files: (seen.append(len(files)), true(files))[1])
    return seen


def file_of(model: Backbone) -> Path:
    assert model.directory is not None
    return model.directory / NAME


def test_files_that_did_not_change_are_read_once(model: Backbone, reads: list[int], tmp_path: Path) -> None:
    memo = tmp_path / "weights.json"
    found = {weights_digest(model, memo) for _ in range(3)}
    assert reads == [1]
    assert found == {weights_digest(model)}
    assert reads == [1, 1]  # without a memo they always are


def test_another_models_note_is_kept_beside_it(model: Backbone, reads: list[int], tmp_path: Path) -> None:
    memo, other = tmp_path / "weights.json", load_backbone(Path(shutil.copytree(READER, tmp_path / "other")), device="cpu")
    for backbone in (model, other, model, other):
        weights_digest(backbone, memo)
    assert reads == [1, 1]


def test_a_changed_byte_is_seen_though_size_and_mtime_were_put_back(model: Backbone, reads: list[int], tmp_path: Path) -> None:
    memo, path = tmp_path / "weights.json", file_of(model)
    before, look = weights_digest(model, memo), path.stat()
    time.sleep(0.05)
    with path.open("r+b") as stream:
        stream.seek(-1, os.SEEK_END)
        last = stream.read(1)[0]
        stream.seek(-1, os.SEEK_END)
        stream.write(bytes([last ^ 1]))
    os.utime(path, ns=(look.st_atime_ns, look.st_mtime_ns))
    assert (path.stat().st_size, path.stat().st_mtime_ns, path.stat().st_ino) == (look.st_size, look.st_mtime_ns, look.st_ino)
    after = weights_digest(model, memo)
    assert after == weights_digest(model) != before


def test_another_file_under_the_name_and_another_shard_are_seen(model: Backbone, reads: list[int], tmp_path: Path) -> None:
    memo, path = tmp_path / "weights.json", file_of(model)
    first = weights_digest(model, memo)
    shutil.copy2(path, tmp_path / "copy")
    (tmp_path / "copy").replace(path)
    assert weights_digest(model, memo) == first
    shutil.copy(path, path.with_name("another.safetensors"))
    assert weights_digest(model, memo) != first
    assert reads == [1, 1, 2]


def test_a_file_that_was_just_written_is_not_noted(reads: list[int], tmp_path: Path) -> None:
    model = load_backbone(Path(shutil.copytree(READER, tmp_path / "model")), device="cpu")
    file_of(model).touch()
    weights_digest(model, tmp_path / "weights.json")
    assert not (tmp_path / "weights.json").exists()


def test_a_file_that_changes_while_it_is_read_is_not_noted(model: Backbone, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    true = weights._files_digest

    def changing(files: list[Path]) -> str:
        found = true(files)
        time.sleep(0.05)
        files[0].touch()
        return found

    monkeypatch.setattr(weights, "_files_digest", changing)
    weights_digest(model, tmp_path / "weights.json")
    assert not (tmp_path / "weights.json").exists()


@pytest.mark.parametrize("text", ["", "{", "[]", "3", '{"x": 1}', '{"x": [[[1]], 2]}'])
def test_a_memo_that_cannot_be_read_is_written_anew(text: str, model: Backbone, reads: list[int], tmp_path: Path) -> None:
    memo = tmp_path / "weights.json"
    memo.write_text(text)
    assert weights_digest(model, memo) == weights_digest(model)
    assert str(file_of(model).parent) in json.loads(memo.read_text(encoding="utf-8"))
