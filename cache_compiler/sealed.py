"""Facts and tensors go in; the bytes of a safetensors file come out that says of itself whether it is whole. And back again.

One metadata entry holds the facts and a checksum over facts and tensors: it guards against decay, not against malice.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
import xxhash
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

Facts = dict[str, Any]
Tensors = dict[str, Tensor]

# Far above what any file here says of itself, far below what would fill memory.
_LONGEST_HEADER = 1 << 20


class BrokenSeal(Exception):
    """The bytes are not those that were written, or no file of ours. Whoever reads names the page and the cure."""


def seal(facts: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> bytes:
    """Equal facts and tensors are equal bytes, in every process and on every machine."""
    plain = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    # One metadata entry: safetensors does not promise an order for several.
    header = json.dumps({**facts, "checksum": _checksum(facts, plain)}, sort_keys=True)
    return save(plain, metadata={"quire": header})


def unseal(path: Path) -> tuple[Facts, Tensors]:
    """Facts and tensors of a sealed file, checked; the tensors hang on the mapped file.

    Raises FileNotFoundError, and BrokenSeal for everything else that can be wrong with it.
    """
    try:
        with safe_open(path, framework="pt") as file:  # memory-mapped
            facts = json.loads((file.metadata() or {})["quire"])
            tensors = {name: file.get_tensor(name) for name in sorted(file.keys())}
        written = facts.pop("checksum")
        found = _checksum(facts, tensors)
    except FileNotFoundError:
        raise
    except (SafetensorError, ValueError, KeyError, TypeError, AttributeError, OSError) as error:
        raise BrokenSeal(f"cannot be read ({error})") from error
    if written != found:
        raise BrokenSeal(f"checksum {found} where {written} was written")
    return facts, tensors


def facts_of(path: Path) -> Facts:
    """The facts alone, from the header and unchecked: to know what a file is of, without reading what it holds.

    Raises as `unseal` does.
    """
    try:
        with path.open("rb") as stream:
            length = int.from_bytes(stream.read(8), "little")
            if length > _LONGEST_HEADER:
                raise BrokenSeal(f"a header of {length:,} bytes")
            facts = json.loads(json.loads(stream.read(length))["__metadata__"]["quire"])
        facts.pop("checksum")
    except FileNotFoundError:
        raise
    except (ValueError, KeyError, TypeError, AttributeError, OSError) as error:
        raise BrokenSeal(f"cannot be read ({error})") from error
    return dict(facts)


def _checksum(facts: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> str:
    """XXH3-128 over the facts and every tensor's name, shape, type and bytes."""
    digest = xxhash.xxh3_128(json.dumps(facts, sort_keys=True).encode())
    for name in sorted(tensors):
        tensor = tensors[name]
        digest.update(f"{name} {tuple(tensor.shape)} {tensor.dtype}".encode())
        digest.update(tensor.flatten().view(torch.uint8).numpy().data)
    return digest.hexdigest()
