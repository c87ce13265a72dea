"""Pages in context order go in; what each holds when it has read those before it comes out: KV(B|A), and Delta against KV(B|0).

    one forward over      [prefix, A1, ..., Ak, B]     the vision encoder's output is given: a page is encoded once, however often
    Delta                 KV(B|A1 ... Ak) - KV(B|0)    it is conditioned

The first page stands where it was compiled, right behind the prefix: there its canonical is exact, and is used as it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from .backbone import Backbone
from .errors import PatchMismatch
from .place import place
from .prefix import Prefix
from .types import Canonical, Encoded, end_to_end

# Layer 0 of Delta, as a share of the layer's largest key: rounding stays far below, other pixels or another model far above.
_SAME_PAGE = 2e-2


@dataclass(frozen=True)
class Deficit:
    """Delta of one page, all layers (Kamera, equation 2)."""

    page: str
    rotary: Tensor  # [layers, heads, n, dim], keys before rotation
    plain: Tensor  # [layers, heads, n, dim]

    def __add__(self, other: Deficit) -> Deficit:
        return Deficit(self.page, self.rotary + other.rotary, self.plain + other.plain)

    def scaled(self, by: float) -> Deficit:
        return Deficit(self.page, self.rotary * by, self.plain * by)

    def matrices(self, first_layer: int = 1) -> tuple[Tensor, Tensor]:
        """Keys and values of the layers from `first_layer` on, a matrix a layer: each [layers, n, heads * dim]."""
        return as_matrices(self.rotary[first_layer:]), as_matrices(self.plain[first_layer:])


def as_matrices(tensor: Tensor) -> Tensor:
    """[layers, heads, n, dim] -> [layers, n, heads * dim]."""
    return tensor.transpose(1, 2).flatten(2)


@torch.inference_mode()
def condition(backbone: Backbone, prefix: Prefix, pages: Sequence[Encoded], first: Canonical | None = None) -> list[Canonical]:
    """What every page of a context holds when it stands there: un-rotated keys and values, in the canonical's own form, one a page.

    `first`: the canonical of a page that stands before `pages`, right behind the prefix; it costs no forward.
    """
    segments, rows, _ = end_to_end(pages if first is None else [first, *pages], prefix.length)
    placed = segments[len(segments) - len(pages) :]
    past = placed[0].first
    cache = backbone.empty_cache(rows)
    rotary, plain = cache.reserve(past)
    rotary[:, 0, :, : prefix.length] = prefix.rotary
    plain[:, 0, :, : prefix.length] = prefix.plain
    if first is not None:
        place(backbone, first, segments[0].anchor, rotary[:, 0, :, prefix.length :], plain[:, 0, :, prefix.length :])
    positions = torch.cat([segment.anchor.positions(backbone.axes) for segment in placed], dim=1)[:, None]
    with backbone.capture() as taken:
        backbone.forward_encoded(pages, positions, cache, keep=0)
    keys = torch.stack([layer[0] for layer in taken])  # [layers, heads, rows, dim]
    return [
        Canonical(
            key=page.key,
            rotary=keys[:, :, segment.first - past : segment.last - past].clone(),
            plain=cache.plain_slab[:, 0, :, segment.first : segment.last].clone(),
            rows=page.rows,
            columns=page.columns,
        )
        for page, segment in zip(pages, placed, strict=True)
    ]


def deficit(conditioned: Canonical, canonical: Canonical) -> Deficit:
    """Delta of a page: what it holds in a context, less what it holds alone (Kamera, equation 2).

    Raises:
        PatchMismatch: the two are not the same page of the same model: layer 0, which depends on the page's own rows alone, differs; or
            numbers have overflowed, as they do in float16.
    """
    if conditioned.key != canonical.key or conditioned.rotary.shape != canonical.rotary.shape:
        raise PatchMismatch(
            f"page {conditioned.key} {tuple(conditioned.rotary.shape)} was conditioned, its canonical is {canonical.key} "
            f"{tuple(canonical.rotary.shape)}",
            key=canonical.key,
        )
    rotary = conditioned.rotary.float() - canonical.rotary.to(conditioned.rotary.device).float()
    plain = conditioned.plain.float() - canonical.plain.to(conditioned.plain.device).float()
    if float(rotary[0].abs().max()) > _SAME_PAGE * float(canonical.rotary[0].abs().max()):
        raise PatchMismatch(
            f"{canonical.key}: layer 0 of the page has changed since its cache was compiled: its pixels or its model are others; "
            "`quire repair` compiles it again",
            key=canonical.key,
        )
    if not (torch.isfinite(rotary).all() and torch.isfinite(plain).all()):
        raise PatchMismatch(
            f"{canonical.key}: what the page holds is not finite in {str(canonical.rotary.dtype).removeprefix('torch.')}, and no patch can "
            "be formed of it; load the model in another number type (dtype), and ingest again",
            key=canonical.key,
        )
    # What is left there is the rounding of another matrix shape.
    rotary[0], plain[0] = 0.0, 0.0
    return Deficit(canonical.key, rotary, plain)
