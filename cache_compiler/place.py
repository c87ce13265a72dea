"""A page's cache, a patch and an anchor go in; the page's rows in a request's slab come out (Kamera, equation 1).

    keys    rotate(K(B|0) + left @ right)     one fp32 rotation, then the cast to the slab's dtype
    values  V(B|0) + left @ right

On a GPU with Triton one kernel a page does the keys of all layers; elsewhere torch does.
"""

from __future__ import annotations

import torch
from torch import Tensor

from . import kernel
from .backbone import Backbone
from .patch import Patch
from .types import Anchor, Canonical


@torch.inference_mode()
def place(backbone: Backbone, page: Canonical, anchor: Anchor, rotary: Tensor, plain: Tensor, patch: Patch | None = None) -> None:
    """Write a page into its rows: `rotary` and `plain` are views of the slab, [layers, heads, n, dim]. The canonical is only read.

    Raises PatchMismatch when the patch does not belong to the page.
    """
    if patch is not None:
        patch.require_fit(page)
    # To the device first, then to fp32: in one step torch would widen on the CPU, and twice the bytes would travel.
    keys, values = page.rotary.to(rotary.device), page.plain.to(plain.device)
    if kernel.available(rotary.device):
        _place_fused(backbone, keys, values, anchor, rotary, plain, patch)
        return
    table = backbone.table(anchor.positions(backbone.axes)[:, None])
    if patch is None:
        rotary.copy_(backbone.rotate(keys.float(), table))
        plain.copy_(values)
        return
    # All layers at once: [layers, heads, n, dim], the table [1, n, d] is the same for each.
    rotary.copy_(backbone.rotate(_added(keys, patch.rotary.product(keys.shape[1]), patch.key.first_layer), table))
    plain.copy_(_added(values, patch.plain.product(values.shape[1]), patch.key.first_layer))


def _added(base: Tensor, delta: Tensor, first: int) -> Tensor:
    """fp32 copy of `base` with `delta` on the layers from `first` on."""
    sum_ = base.to(torch.float32, copy=True)
    sum_[first : first + delta.shape[0]] += delta.to(base.device)
    return sum_


def _place_fused(
    backbone: Backbone, keys: Tensor, values: Tensor, anchor: Anchor, rotary: Tensor, plain: Tensor, patch: Patch | None
) -> None:
    cos, sin = backbone.pair_table(anchor.positions(backbone.axes))
    in_pairs, out_pairs = backbone.layout
    if patch is None:
        kernel.place_keys(keys, cos, sin, rotary, None, None, 0, in_pairs, out_pairs)
        plain.copy_(values)
        return
    first, device = patch.key.first_layer, keys.device
    kernel.place_keys(keys, cos, sin, rotary, patch.rotary.left.to(device), patch.rotary.right.to(device), first, in_pairs, out_pairs)
    kernel.add_patch(values, plain, patch.plain.left.to(device), patch.plain.right.to(device), first)
