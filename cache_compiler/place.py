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
    place_keys(backbone, page, anchor, rotary, patch)
    values = page.plain.to(plain.device)
    if patch is None:
        plain.copy_(values)
    elif kernel.available(plain.device):
        kernel.add_patch(values, plain, patch.plain.left.to(values.device), patch.plain.right.to(values.device), patch.key.first_layer)
    else:
        plain.copy_(_added(values, patch.plain.product(values.shape[1]), patch.key.first_layer))


@torch.inference_mode()
def place_keys(backbone: Backbone, page: Canonical, anchor: Anchor, rotary: Tensor, patch: Patch | None = None) -> None:
    """The keys alone: all that a page needs when it moves and keeps its patch. They come from the un-rotated each time; a rotated key
    that were turned on would lose a bit a move."""
    # To the device first, then to fp32: in one step torch would widen on the CPU, and twice the bytes would travel.
    keys = page.rotary.to(rotary.device)
    if kernel.available(rotary.device):
        cos, sin = backbone.pair_table(anchor.positions(backbone.axes))
        left, right, first = None, None, 0
        if patch is not None:
            left, right, first = patch.rotary.left.to(keys.device), patch.rotary.right.to(keys.device), patch.key.first_layer
        kernel.place_keys(keys, cos, sin, rotary, left, right, first, *backbone.layout)
        return
    whole = keys.float() if patch is None else _added(keys, patch.rotary.product(keys.shape[1]), patch.key.first_layer)
    # All layers at once: [layers, heads, n, dim], the table [1, n, d] is the same for each.
    rotary.copy_(backbone.rotate(whole, backbone.table(anchor.positions(backbone.axes)[:, None])))


def _added(base: Tensor, delta: Tensor, first: int) -> Tensor:
    """fp32 copy of `base` with `delta` on the layers from `first` on."""
    whole = base.to(torch.float32, copy=True)
    whole[first : first + delta.shape[0]] += delta.to(base.device)
    return whole
