"""The patch: what a page would have absorbed from pages before it, as low-rank factors a layer (Kamera, equations 1 and 2).

    Delta = KV(B|A) - KV(B|0)       [layers, heads, n, dim], keys before rotation, values as they are
    Delta of one layer as a matrix  [n, heads * dim]  ~  left [n, m] @ right [m, heads * dim]

In the un-rotated frame Delta needs no rotation of its own: it is added to the page's keys before their one rotation, so the same
patch serves at every place. Layer 0 is never stored: its keys and values depend on the page's own rows alone, its Delta is zero.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from .errors import PatchMismatch
from .types import Canonical

Kind = Literal["exact", "orbit", "removal"]


@dataclass(frozen=True)
class PatchKey:
    """What a patch is of: a page at a DPI, what it was conditioned on, and how it was cut down.

    `given` is in context order for `exact`; sorted for `orbit` (one patch for every order). For `removal` it is what the page stood
    behind before, and `left` are those of them that went. `first_layer` and above are covered ("deep": from the middle); `basis`
    names a pooled basis.
    """

    page: str
    given: tuple[str, ...]
    kind: Kind = "exact"
    rank: int = 32
    first_layer: int = 1
    basis: str | None = None
    left: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.kind == "orbit":
            object.__setattr__(self, "given", tuple(sorted(self.given)))

    @property
    def digest(self) -> str:
        """Names the patch among all patches of its page: 32 hexadecimal digits."""
        facts = [self.page, self.given, self.kind, self.rank, self.first_layer, self.basis, self.left]
        return hashlib.sha256(json.dumps(facts).encode()).hexdigest()[:32]

    @property
    def pages(self) -> frozenset[str]:
        """Every page image the patch knows something of, its own included: it must go when any of them goes."""
        return frozenset([self.page, *self.given, *self.left])

    def __str__(self) -> str:
        deep = f" from layer {self.first_layer}" if self.first_layer > 1 else ""
        pooled = " pooled" if self.basis else ""
        return f"{self.kind}{pooled} r{self.rank}{deep}"


@dataclass(frozen=True)
class Factors:
    """Delta of one channel over the covered layers."""

    left: Tensor  # [layers, n, m]: U S
    right: Tensor  # [layers, m, heads * dim]: V transposed

    @property
    def bytes(self) -> int:
        return _bytes(self.left) + _bytes(self.right)

    def product(self, heads: int) -> Tensor:
        """Delta itself, in fp32: [layers, heads, n, dim]."""
        delta = self.left.float() @ self.right.float()  # [layers, n, heads * dim]
        return delta.view(*delta.shape[:2], heads, -1).transpose(1, 2)


@dataclass(frozen=True)
class Patch:
    """A patch in memory. `rotary` is for the keys (MLA: the k_pe band), `plain` for the values (MLA: c_KV)."""

    key: PatchKey
    rotary: Factors
    plain: Factors

    @property
    def layers(self) -> int:
        """How many layers it covers, from `key.first_layer` on."""
        return int(self.rotary.left.shape[0])

    @property
    def bytes(self) -> int:
        """What the patch itself takes. A pooled basis is shared by all patches of its model and counted once, by `Basis.bytes`."""
        if self.key.basis is not None:
            return _bytes(self.rotary.left) + _bytes(self.plain.left)
        return self.rotary.bytes + self.plain.bytes

    def share(self, page: Canonical) -> float:
        """Its bytes as a share of the page's own KV (Kamera, table 4: 6 % at rank 16, 25 % at rank 64 on its backbones)."""
        return self.bytes / page.bytes

    def require_fit(self, page: Canonical) -> None:
        """Raises PatchMismatch when the patch is another page's, or of another shape: adding it would be noise that reads fluently."""
        if self.key.page != page.key:
            raise PatchMismatch(f"a patch of page {self.key.page} cannot be added to page {page.key}", key=self.key.page)
        for name, factors, tensor in (("keys", self.rotary, page.rotary), ("values", self.plain, page.plain)):
            layers, heads, n, dim = tensor.shape
            found = (self.key.first_layer + factors.left.shape[0], factors.left.shape[1], factors.right.shape[2])
            if found != (layers, n, heads * dim):
                raise PatchMismatch(
                    f"{page.key}: the patch for {name} covers (layers, rows, width) {found}, the page has {(layers, n, heads * dim)}; "
                    "form the patch again with the loaded model",
                    key=page.key,
                )


@dataclass(frozen=True)
class Basis:
    """Directions of Delta pooled over many pages, a layer: they are the model's, only the coefficients are a page's (Kamera, section 4)."""

    first_layer: int
    rotary: Tensor  # [layers, m, heads * dim], orthonormal rows
    plain: Tensor  # [layers, m, heads * dim]

    @property
    def rank(self) -> int:
        return int(max(self.rotary.shape[1], self.plain.shape[1]))

    @property
    def bytes(self) -> int:
        return _bytes(self.rotary) + _bytes(self.plain)

    @property
    def digest(self) -> str:
        """Content hash: 32 hexadecimal digits."""
        digest = hashlib.sha256(str(self.first_layer).encode())
        for tensor in (self.rotary, self.plain):
            digest.update(f"{tuple(tensor.shape)} {tensor.dtype}".encode())
            digest.update(tensor.detach().cpu().contiguous().flatten().view(torch.uint8).numpy().data)
        return digest.hexdigest()[:32]


def stacked(base: Patch, more: Patch) -> Patch:
    """Both patches as one: their factors side by side. A survivor's removal patch is added to what the page was given before.

    Raises PatchMismatch when the two are of different pages or layers.
    """
    if (base.key.page, base.key.first_layer, base.layers) != (more.key.page, more.key.first_layer, more.layers):
        raise PatchMismatch(
            f"{base.key} of {base.key.page} and {more.key} of {more.key.page} do not cover the same layers of one page", key=base.key.page
        )
    factors = [
        Factors(torch.cat([a.left, b.left], dim=2), torch.cat([a.right, b.right], dim=1))
        for a, b in ((base.rotary, more.rotary), (base.plain, more.plain))
    ]
    return Patch(base.key, *factors)


def _bytes(tensor: Tensor) -> int:
    return tensor.numel() * tensor.element_size()
