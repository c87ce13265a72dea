"""A sealed file says of itself whether it is whole, and what it is of without being read whole."""

from pathlib import Path

import pytest
import torch

from cache_compiler.sealed import BrokenSeal, facts_of, seal, unseal

FACTS = {"name": "a page", "numbers": [1, 2]}
TENSORS = {"b": torch.arange(6.0).reshape(2, 3), "a": torch.empty(3, 0, dtype=torch.bfloat16)}


def test_facts_and_tensors_come_out_as_they_went_in_and_the_facts_alone_too(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(seal(FACTS, TENSORS))
    facts, tensors = unseal(path)
    assert facts == facts_of(path) == FACTS
    assert {name: (tensor.shape, tensor.dtype) for name, tensor in tensors.items()} == {
        name: (tensor.shape, tensor.dtype) for name, tensor in TENSORS.items()
    }
    assert torch.equal(tensors["b"], TENSORS["b"])


def test_the_order_of_what_goes_in_changes_no_byte() -> None:
    assert seal(FACTS, TENSORS) == seal(dict(reversed(FACTS.items())), dict(reversed(TENSORS.items())))


@pytest.mark.parametrize("read", [unseal, facts_of])
def test_what_is_no_sealed_file_is_a_broken_seal_and_a_missing_one_is_missing(tmp_path: Path, read) -> None:  # type: ignore[no-untyped-def]
    path = tmp_path / "file"
    with pytest.raises(FileNotFoundError):
        read(path)
    for data in (b"", b"\xff" * 64, (2).to_bytes(8, "little") + b"{}", (2).to_bytes(8, "little") + b"[]"):
        path.write_bytes(data)
        with pytest.raises(BrokenSeal):
            read(path)


def test_a_byte_that_changed_breaks_the_seal(tmp_path: Path) -> None:
    path = tmp_path / "file"
    whole = seal(FACTS, TENSORS)
    path.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    with pytest.raises(BrokenSeal, match="was written"):
        unseal(path)
    path.write_bytes(whole.replace(b"a page", b"b page"))
    with pytest.raises(BrokenSeal, match="was written"):
        unseal(path)
