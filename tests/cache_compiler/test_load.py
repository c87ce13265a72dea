"""Loading: a local directory that is whole and known, or an error that names what is wrong with it."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from cache_compiler.card import Card
from cache_compiler.errors import ModelNotFound, TemplateError, UnsupportedFamily
from cache_compiler.families import FAMILIES
from cache_compiler.load import READER, load_backbone
from cache_compiler.tiny import random_backbone

Change = Callable[[Path], object]


@pytest.fixture
def copied(tmp_path: Path) -> Callable[[Change], Path]:
    """The reader's directory, copied and changed."""

    def copy(change: Change) -> Path:
        directory = tmp_path / "model"
        directory.mkdir()
        for path in READER.iterdir():
            if path.suffix == ".safetensors":
                (directory / path.name).symlink_to(path)  # large, and replaced as a whole or not at all
            else:
                shutil.copy(path, directory)
        change(directory)
        return directory

    return copy


def edit(name: str, part: str | None = None, **facts: object) -> Change:
    def change(directory: Path) -> None:
        path = directory / name
        config = json.loads(path.read_text(encoding="utf-8"))
        (config[part] if part else config).update(facts)
        path.write_text(json.dumps(config), encoding="utf-8")

    return change


def replace(name: str, data: bytes) -> Change:
    def change(directory: Path) -> None:
        (directory / name).unlink()
        (directory / name).write_bytes(data)

    return change


# -- loading --------------------------------------------------------------------------------------------------------


def test_the_embedded_reader_loads_by_its_name_and_knows_itself() -> None:
    reader = load_backbone("reader", device="cpu")
    assert (reader.name, reader.directory, reader.card.style) == ("reader", READER, "reader")
    assert (reader.layers, reader.rotary_shape, reader.plain_shape, reader.cell) == (6, (8, 32), (8, 32), 16)
    assert (reader.dtype, reader.device.type, reader.max_positions) == (torch.float32, "cpu", 8192)
    assert reader.stop_ids == {reader.tokenizer.eos_token_id}
    assert not reader.model.training


def test_a_directory_without_a_card_is_taken_with_the_defaults_and_its_own_name(copied: Callable[[Change], Path]) -> None:
    backbone = load_backbone(copied(lambda directory: (directory / "quire.json").unlink()), device="cpu")
    assert (backbone.name, backbone.card) == ("model", Card())


@pytest.mark.parametrize(
    "name", ["config.json", "preprocessor_config.json", "tokenizer_config.json", "tokenizer.json", "model.safetensors"]
)
def test_a_directory_that_lacks_a_file_is_refused(name: str, copied: Callable[[Change], Path]) -> None:
    with pytest.raises(ModelNotFound, match="model"):
        load_backbone(copied(lambda directory: (directory / name).unlink()), device="cpu")


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (replace("model.safetensors", b"no weights"), "cannot be loaded"),
        (replace("config.json", b"{"), "no model type"),
        (replace("config.json", b"[]"), "no model type"),
        (replace("preprocessor_config.json", b"{"), "cannot be loaded"),
        (edit("config.json", "text_config", num_hidden_layers=7), "no weights for .*layers.6"),
        (edit("config.json", "text_config", intermediate_size=256), "cannot be loaded"),
    ],
)
def test_a_model_that_is_broken_or_half_there_is_refused_not_completed_with_random_numbers(
    change: Change, reason: str, copied: Callable[[Change], Path]
) -> None:
    with pytest.raises(ModelNotFound, match=reason):
        load_backbone(copied(change), device="cpu")


@pytest.mark.parametrize("where", ["no/such/directory", "some-organisation/some-model"])
def test_a_name_that_is_no_directory_is_never_looked_up_elsewhere(where: str) -> None:
    with pytest.raises(ModelNotFound, match="local directory"):
        load_backbone(where)


@pytest.mark.parametrize("kind", ["bert", "qwen2_vl", "nobody-knows-this"])
def test_an_architecture_without_an_adapter_is_refused_by_name(kind: str, copied: Callable[[Change], Path]) -> None:
    with pytest.raises(UnsupportedFamily, match=f"'{kind}'.*glm4v"):
        load_backbone(copied(edit("config.json", model_type=kind)))


def test_a_model_without_a_chat_template_is_refused(copied: Callable[[Change], Path]) -> None:
    with pytest.raises(TemplateError):
        load_backbone(copied(lambda directory: (directory / "chat_template.jinja").unlink()), device="cpu")


# -- other families ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_loads_from_its_directory_as_it_was_saved(family: str, tmp_path: Path) -> None:
    made = random_backbone("tiny", family=family)
    for part in (made.model, made.tokenizer, made.image_processor):
        if part is not None:
            part.save_pretrained(tmp_path)
    found = load_backbone(tmp_path, device="cpu")
    assert (found.family, found.axes, found.layout) == (made.family, made.axes, made.layout)
    assert found.template == made.template
    ids, positions = torch.tensor([[20, 21, 22, 23]]), torch.arange(4).expand(made.axes, 1, -1)
    ours, theirs = (one.forward(ids, positions, one.empty_cache(4)) for one in (found, made))
    assert torch.allclose(ours, theirs, atol=1e-5)  # weights that lie elsewhere in memory are summed in another order
    assert (tmp_path / "preprocessor_config.json").exists() == made.reads_images
    if made.reads_images:
        (tmp_path / "preprocessor_config.json").unlink()
        with pytest.raises(ModelNotFound, match=r"preprocessor_config\.json"):
            load_backbone(tmp_path)
