"""A page's un-rotated keys, its patch and its angles go in; the page's rows of a slab are written: one launch for all layers.

Kamera, equation 1 and appendix A: K + U S V^T, rotated to where the page stands. Here the patch is of un-rotated keys, so it is added
first, and the sum is rotated once, in fp32, and rounded once. Torch takes several passes over the page and an fp32 copy of it; the
kernel reads each key once and writes it once.

Tested in Triton's interpreter, which runs the kernel's own code on a CPU, and compiled to a GPU's machine code; it has not been run or
timed on a GPU, and nothing is claimed for its speed. Triton is imported at the first call: this module loads where it is not installed.
"""

from __future__ import annotations

import importlib.util

import torch
from torch import Tensor

from .errors import CacheError

_FLOATS = (torch.float32, torch.bfloat16, torch.float16)


def available(device: torch.device) -> bool:
    """Whether the kernel can run there: a CUDA device, and Triton is installed. Where not, torch does the same sums."""
    return device.type == "cuda" and torch.cuda.is_available() and importlib.util.find_spec("triton") is not None


def place_keys(
    keys: Tensor,
    cos: Tensor,
    sin: Tensor,
    out: Tensor,
    left: Tensor | None,
    right: Tensor | None,
    first_layer: int = 0,
    in_pairs: bool = True,
    out_pairs: bool = True,
) -> None:
    """Add the patch to the keys, rotate them and write them to `out`.

    Args:
        keys: [layers, heads, n, dim], un-rotated, fp32, bf16 or fp16.
        cos, sin: [n, rotary_dim / 2], fp32, of one angle a pair. Columns from rotary_dim on are not rotated.
        out: [layers, heads, n, dim], a slice of the slab; it must not overlap `keys`.
        left: [patched, n, rank], U S of the layers first_layer to first_layer + patched; the others are placed as they are.
        right: [patched, rank, heads * dim], V^T, one head's columns behind the other's.
        in_pairs, out_pairs: whether the two numbers that rotate together are neighbours (GLM) or half a rotary_dim apart (Qwen).

    Strides are free but for the last, which is 1. Raises CacheError when two of these do not fit together, and where Triton cannot run.
    """
    _launch(keys, out, (cos, sin), left, right, first_layer, in_pairs, out_pairs)


def add_patch(plain: Tensor, out: Tensor, left: Tensor | None, right: Tensor | None, first_layer: int = 0) -> None:
    """Add the patch to values, which are not rotated, and write them to `out`. Arguments and errors are those of `place_keys`."""
    _launch(plain, out, None, left, right, first_layer, True, True)


def _launch(
    source: Tensor,
    out: Tensor,
    table: tuple[Tensor, Tensor] | None,
    left: Tensor | None,
    right: Tensor | None,
    first_layer: int,
    in_pairs: bool,
    out_pairs: bool,
) -> None:
    cos, sin = table if table is not None else (None, None)
    _check(source, out, cos, sin, left, right, first_layer)
    layers, heads, tokens, dim = source.shape
    if source.numel() == 0:
        return  # a grid of nothing is an error to CUDA
    try:
        from .kernel_triton import COMPILED, RANKS, place
    except ModuleNotFoundError as error:
        raise CacheError("Triton is not installed, and the placing kernel is written in it: install quire[gpu]") from error
    if COMPILED and source.device.type != "cuda":
        raise CacheError(f"the placing kernel runs on cuda, these caches are on {source.device}: ask `available` first, and use torch")
    rank = 0 if left is None else left.shape[2]
    half = 0 if cos is None else cos.shape[1]
    pairs, tail = _tile(half), min(64, _tile(dim - 2 * half))
    # What is wider does not fit in the registers: read off the compiled kernel (sm_90), not off a clock.
    block = 64 if pairs <= 64 else 16
    grid = ((tokens + block - 1) // block, heads, layers)
    with torch.cuda.device_of(source):  # Triton launches on the current device, which need not be the cache's
        place[grid](
            source, out, *(_or(t, source) for t in (cos, sin, left, right)),
            tokens, rank, first_layer, 0 if left is None else left.shape[0],
            *source.stride()[:3], *out.stride()[:3], _stride(cos, 0), _stride(sin, 0),
            _stride(left, 0), _stride(left, 1), _stride(right, 0), _stride(right, 1),
            dim=dim, half=half, block=block, pairs=pairs, tail=tail, step=RANKS, in_pairs=in_pairs, out_pairs=out_pairs, with_patch=rank > 0,
            # Fused multiply-adds would round the rotation otherwise than torch does.
            enable_fp_fusion=False,
        )  # fmt: skip


def _check(
    source: Tensor, out: Tensor, cos: Tensor | None, sin: Tensor | None, left: Tensor | None, right: Tensor | None, first_layer: int
) -> None:
    """The kernel follows bare pointers: what does not fit would be read or written elsewhere in memory, with no word of it."""
    if source.dim() != 4 or out.shape != source.shape:
        raise CacheError(f"{list(source.shape)} into a slice of {list(out.shape)}: both are [layers, heads, n, dim] of one shape")
    layers, heads, tokens, dim = source.shape
    if cos is not None and sin is not None:
        if cos.dtype != torch.float32 or sin.dtype != torch.float32:
            raise CacheError(f"cos is {cos.dtype}, sin is {sin.dtype}: take the table in float32, a rounded angle turns every key")
        if cos.dim() != 2 or cos.shape != sin.shape or cos.shape[0] != tokens or 2 * cos.shape[1] > dim:
            raise CacheError(
                f"cos {list(cos.shape)} and sin {list(sin.shape)} for keys {list(source.shape)}: give [n, rotary_dim / 2], one angle a pair"
            )
    if (left is None) != (right is None):
        raise CacheError("half a patch: give both its factors, or neither")
    if left is not None and right is not None:
        patched, rank = left.shape[0], left.shape[-1]
        if left.shape != (patched, tokens, rank) or right.shape != (patched, rank, heads * dim):
            raise CacheError(
                f"a patch {list(left.shape)} x {list(right.shape)} for a page {list(source.shape)}: "
                "give [patched, n, rank] and [patched, rank, heads * dim]"
            )
        if first_layer < 0 or first_layer + patched > layers:
            raise CacheError(f"a patch of layers {first_layer} to {first_layer + patched} of {layers}: it was formed for another model")
    for name, tensor in {"source": source, "out": out, "cos": cos, "sin": sin, "left": left, "right": right}.items():
        if tensor is None:
            continue
        if tensor.dtype not in _FLOATS:
            raise CacheError(f"{name} is {tensor.dtype}: cast it to one of {', '.join(map(str, _FLOATS))}")
        if tensor.device != source.device:
            raise CacheError(f"{name} is on {tensor.device}, the page on {source.device}: move it there first")
        if tensor.shape[-1] > 1 and tensor.stride(-1) != 1:
            raise CacheError(f"{name} has last stride {tensor.stride(-1)}, the kernel reads rows of stride 1: call .contiguous()")


def _tile(columns: int) -> int:
    """The power of two that holds so many columns. `tl.arange` takes no other number, and a GPU's `tl.dot` none below 16."""
    return max(16, 1 << (columns - 1).bit_length()) if columns > 0 else 16


def _or(tensor: Tensor | None, stand_in: Tensor) -> Tensor:
    """A pointer that is not followed must still be one."""
    return stand_in if tensor is None else tensor


def _stride(tensor: Tensor | None, axis: int) -> int:
    return 0 if tensor is None else tensor.stride(axis)
