# Triton reads annotations itself, and only `tl.constexpr` means anything to it: typed arguments would be taken for machine types.
# mypy: disable-error-code="no-untyped-def, no-untyped-call, untyped-decorator, no-any-return, misc"
"""A page's un-rotated tensor and its patch go in; its rows of the slab come out: the Triton half of `kernel.py`, imported by it alone.

The decorator looks at TRITON_INTERPRET once, when this module is imported. `tl.zeros` and its like are avoided: they are kernels
themselves, and a Triton that was imported before the variable was set cannot interpret them.
"""

import triton
import triton.language as tl

RANKS = 32  # of the patch at a time: a tile of every rank at once would not fit in the registers


@triton.jit
def _patched(x, left, right, ranks, left_row, right_rank, rows, here, columns, wanted, step: tl.constexpr):
    """x [rows, columns] + U S V^T of these rows and columns, in fp32."""
    # The bound is known at run time only, so one compiled kernel serves every rank, and a layer without a patch has ranks = 0.
    for first in range(0, ranks, step):
        rank = first + tl.arange(0, step)
        real = rank < ranks
        u = tl.load(left + rows[:, None] * left_row + rank[None, :], mask=here[:, None] & real[None, :], other=0.0)
        v = tl.load(right + rank[:, None] * right_rank + columns[None, :], mask=real[:, None] & wanted[None, :], other=0.0)
        # "ieee": the default on a GPU is TF32, which keeps 10 bits. Widened first: the interpreter's bf16 product is garbage.
        x = tl.dot(u.to(tl.float32), v.to(tl.float32), x, input_precision="ieee")
    return x


@triton.jit
def _store(target, x, mask):
    """Round fp32 to the target's dtype, nearest even, and write."""
    if target.dtype.element_ty == tl.bfloat16:
        # By hand, since the interpreter's cast truncates. NaN keeps its bits: a GPU's own is all ones and would carry over to -0.
        bits = x.to(tl.uint32, bitcast=True)
        bits = (bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000
        x = tl.where(x == x, bits.to(tl.float32, bitcast=True), x)
    tl.store(target, x.to(target.dtype.element_ty), mask=mask)


# fmt: off
@triton.jit(do_not_specialize=["tokens", "rank", "first_layer", "patched"])
def place(
    keys, out, cos, sin, left, right,
    tokens, rank, first_layer, patched,
    key_layer, key_head, key_row, out_layer, out_head, out_row, cos_row, sin_row,
    left_layer, left_row, right_layer, right_rank,
    dim: tl.constexpr, half: tl.constexpr, block: tl.constexpr, pairs: tl.constexpr, tail: tl.constexpr, step: tl.constexpr,
    in_pairs: tl.constexpr, out_pairs: tl.constexpr, with_patch: tl.constexpr,
):
    """One (block of tokens, head, layer). Strides in elements; pairs and tail are half and dim - 2 half in powers of two, 16 at least.

    tail may be narrower than what it covers: those columns then come in several tiles.
    """
    rows = tl.program_id(0) * block + tl.arange(0, block)
    # 64 bits: a slab of long contexts has more than 2^31 elements. A row's own offset fits in 32: a page has thousands of rows.
    head = tl.program_id(1).to(tl.int64)
    layer = tl.program_id(2).to(tl.int64)
    here = rows < tokens
    keys += layer * key_layer + head * key_head
    out += layer * out_layer + head * out_head
    # Outside the patched layers `ranks` is 0 and the two pointers are never followed.
    ranks = tl.where((layer >= first_layer) & (layer < first_layer + patched), rank, 0)
    left += (layer - first_layer) * left_layer
    right += (layer - first_layer) * right_layer + head * dim

    if half > 0:
        pair = tl.arange(0, pairs)
        wanted = pair < half
        mask = here[:, None] & wanted[None, :]
        a = pair * 2 if in_pairs else pair
        b = pair * 2 + 1 if in_pairs else pair + half
        x = tl.load(keys + rows[:, None] * key_row + a[None, :], mask=mask, other=0.0).to(tl.float32)
        y = tl.load(keys + rows[:, None] * key_row + b[None, :], mask=mask, other=0.0).to(tl.float32)
        if with_patch:
            x = _patched(x, left, right, ranks, left_row, right_rank, rows, here, a, wanted, step)
            y = _patched(y, left, right, ranks, left_row, right_rank, rows, here, b, wanted, step)
        c = tl.load(cos + rows[:, None] * cos_row + pair[None, :], mask=mask, other=0.0)
        s = tl.load(sin + rows[:, None] * sin_row + pair[None, :], mask=mask, other=0.0)
        a = pair * 2 if out_pairs else pair
        b = pair * 2 + 1 if out_pairs else pair + half
        _store(out + rows[:, None] * out_row + a[None, :], x * c - y * s, mask)
        _store(out + rows[:, None] * out_row + b[None, :], y * c + x * s, mask)

    # Names of their own: a variable that a compiled loop takes in may not change its shape there.
    for first in range(2 * half, dim, tail):
        column = first + tl.arange(0, tail)
        kept = column < dim
        cells = here[:, None] & kept[None, :]
        z = tl.load(keys + rows[:, None] * key_row + column[None, :], mask=cells, other=0.0).to(tl.float32)
        if with_patch:
            z = _patched(z, left, right, ranks, left_row, right_rank, rows, here, column, kept, step)
        _store(out + rows[:, None] * out_row + column[None, :], z, cells)


COMPILED = isinstance(place, triton.JITFunction)  # False where it is interpreted
