"""Everything that makes a cache what it is is in its identity, and a difference is refused by its name."""

import hashlib
import json
import shutil
from dataclasses import fields, replace
from pathlib import Path

import pytest
import torch

from cache_compiler.backbone import Backbone
from cache_compiler.card import Card
from cache_compiler.errors import IdentityMismatch, ModelNotFound
from cache_compiler.families import FAMILIES
from cache_compiler.identity import Identity, identify
from cache_compiler.load import READER, load_backbone
from cache_compiler.tiny import random_backbone
from cache_compiler.weights import weights_digest

STYLE = "5" * 64


@pytest.fixture(scope="module")
def identity(backbone: Backbone) -> Identity:
    return identify(backbone, STYLE)


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Path(shutil.copytree(READER, tmp_path_factory.mktemp("elsewhere") / "another-name"))


@pytest.mark.parametrize("name", [field.name for field in fields(Identity)])
def test_a_difference_in_any_field_is_refused_by_its_name(name: str, identity: Identity) -> None:
    other = replace(identity, **{name: "something else"})
    assert other.fingerprint != identity.fingerprint
    with pytest.raises(IdentityMismatch, match=f"another {name} ") as caught:
        identity.require_match(other, "the store")
    assert (caught.value.field, caught.value.stored, caught.value.loaded) == (name, "something else", getattr(identity, name))
    assert "the store" in str(caught.value)


def test_two_identities_of_one_thing_match_and_survive_storing(identity: Identity, backbone: Backbone) -> None:
    again = identify(backbone, STYLE)
    identity.require_match(again, "here")
    assert again.fingerprint == identity.fingerprint
    assert Identity.from_mapping(identity.as_mapping()) == identity
    assert all(isinstance(value, str) and value for value in identity.as_mapping().values())


def test_fields_of_another_version_are_refused_by_name(identity: Identity) -> None:
    more = {**identity.as_mapping(), "kernel": "x"}
    less = {name: value for name, value in identity.as_mapping().items() if name != "dtype"}
    with pytest.raises(IdentityMismatch, match="kernel"):
        Identity.from_mapping(more)
    with pytest.raises(IdentityMismatch, match="dtype"):
        Identity.from_mapping(less)


def test_style_and_condition_are_part_of_it(identity: Identity, backbone: Backbone) -> None:
    assert replace(identity, style="6" * 64) == identify(backbone, "6" * 64)
    assert replace(identity, condition="free") == identify(backbone, STYLE, "free")
    assert (identity.model, identity.dtype, identity.transformers) == ("glm4v", "float32", "5")


def test_another_image_processor_is_another_identity(identity: Identity) -> None:
    made = random_backbone("tiny")
    made.image_processor.image_mean = [0.4, 0.5, 0.5]
    found = identify(made, STYLE)
    assert found == replace(identity, processor=found.processor)
    assert found.processor != identity.processor


def test_of_a_model_that_reads_text_another_tokenizer_is_another_identity_and_of_one_that_reads_images_it_is_not() -> None:
    """It makes every id of a text page; of an image page only the prefix, which the template names."""
    for family, other in (("llama", True), ("glm4v", False)):
        made = random_backbone("tiny", family=family)
        before = identify(made, STYLE)
        assert identify(made, STYLE) == before
        made.tokenizer.backend_tokenizer.pre_tokenizer = None
        found = identify(made, STYLE)
        assert found == replace(before, processor=found.processor)
        assert (found.processor != before.processor) is other


def test_another_chat_template_is_another_identity(identity: Identity) -> None:
    made = random_backbone("tiny")
    made.tokenizer.chat_template = made.tokenizer.chat_template.replace("[gMASK]<sop>", "[gMASK]<sop>{{ '\n' }}")
    found = identify(Backbone(made.model, made.tokenizer, made.image_processor, made.family, made.name, Card(), None), STYLE)
    assert found == replace(identity, template=found.template)
    assert found.template != identity.template


def test_another_dtype_is_another_identity(identity: Identity) -> None:
    half = random_backbone("tiny")
    half.model.to(torch.bfloat16)
    assert identify(half, STYLE).dtype == "bfloat16"


def test_another_rotation_of_the_same_weights_is_another_identity(copy: Path, identity: Identity) -> None:
    """No weight tells of it, yet every key behind layer 0 is another one."""
    before = identify(load_backbone(copy, device="cpu"), STYLE)
    path = copy / "config.json"
    config = json.loads(path.read_text(encoding="utf-8"))
    config["transformers_version"] = "5.99.0"
    path.write_text(json.dumps(config), encoding="utf-8")
    assert identify(load_backbone(copy, device="cpu"), STYLE) == before
    config["text_config"]["rope_parameters"]["rope_theta"] = 500000.0
    path.write_text(json.dumps(config), encoding="utf-8")
    found = identify(load_backbone(copy, device="cpu"), STYLE)
    assert found == replace(before, config=found.config)
    assert found.config != before.config
    shutil.copy(READER / "config.json", path)
    other = random_backbone("tiny")
    other.model.config.text_config.rms_norm_eps = 1e-3
    assert identify(other, STYLE).config != identity.config


def test_a_copied_directory_is_the_same_model_and_one_with_a_changed_weight_is_not(copy: Path) -> None:
    reader, moved = load_backbone("reader", device="cpu"), load_backbone(copy, device="cpu")
    assert identify(moved, STYLE) == identify(reader, STYLE)
    weights = copy / "model.safetensors"
    data = bytearray(weights.read_bytes())
    data[-1] ^= 1
    weights.write_bytes(data)
    changed = identify(load_backbone(copy, device="cpu"), STYLE)
    assert changed == replace(identify(reader, STYLE), weights=changed.weights)
    assert changed.weights != weights_digest(reader)
    weights.rename(copy / "model.bin")
    with pytest.raises(ModelNotFound, match="pickled weights are not read"):
        weights_digest(moved)


def test_every_family_has_an_identity_of_its_own_with_or_without_an_image_processor() -> None:
    found = {family: identify(random_backbone("tiny", family=family), STYLE) for family in FAMILIES}
    assert {family: identity.model for family, identity in found.items()} == {family: family for family in FAMILIES}
    assert len({identity.fingerprint for identity in found.values()}) == len(FAMILIES)
    assert Identity.from_mapping(found["llama"].as_mapping()) == found["llama"]
    assert found["llama"].processor == found["deepseek_v2"].processor != found["glm4v"].processor  # one tokenizer reads their texts


def test_nothing_in_an_identity_hangs_on_this_process() -> None:
    """No address and no salted hash: each field is a digest that anyone can take again from the reader's files."""
    reader = load_backbone("reader", device="cpu")
    found = identify(reader, STYLE)
    weights = hashlib.sha256(b"model.safetensors" + (READER / "model.safetensors").read_bytes())
    assert found.weights == weights.hexdigest()
    assert found.template == "f622e9c01412d3f3705dd7a7efef7f1178a853e43aa42056ba5a5ce88c55c293"
    # Plain JSON, without a fallback for objects: their text would hold an address.
    processor = json.dumps(reader.image_processor.to_dict(), sort_keys=True)
    assert found.processor == hashlib.sha256(processor.encode()).hexdigest()
    assert found.fingerprint == hashlib.sha256(json.dumps(found.as_mapping(), sort_keys=True).encode()).hexdigest()
