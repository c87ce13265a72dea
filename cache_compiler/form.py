"""Pages go in; the patches of Kamera come out: for one order, for every order, for a survivor, for deep layers, over a shared basis.

Forming is offline or in the background: each costs a forward of the model over the page, which every later use saves.
"""

from __future__ import annotations

import hashlib
import itertools
import math
import random
from collections import deque
from collections.abc import Iterator, Sequence

import torch

from .backbone import Backbone
from .condition import Deficit, as_matrices, condition, deficit
from .errors import RankTooHigh
from .lowrank import Method, gram, leading, truncate
from .patch import Basis, Factors, Kind, Patch, PatchKey
from .prefix import Prefix
from .types import Canonical, Encoded

# Kamera, section 5: all orderings up to four antecedents (4! = 24), 24 drawn ones above.
ALL_ORDERS, DRAWN_ORDERS = 4, 24


def exact_deficit(backbone: Backbone, prefix: Prefix, given: Sequence[Encoded], page: Encoded, canonical: Canonical) -> Deficit:
    """Delta of `page` behind `given`, in this order: one forward."""
    return deficit(condition(backbone, prefix, [*given, page])[-1], canonical)


def orbit_deficit(backbone: Backbone, prefix: Prefix, given: Sequence[Encoded], page: Encoded, canonical: Canonical) -> Deficit:
    """The mean of Delta over the orders of an antecedent set (Kamera, section 5, "one orbit-patch for all orderings")."""
    return deque(orbit_means(backbone, prefix, given, page, canonical), maxlen=1).pop()


def orbit_means(backbone: Backbone, prefix: Prefix, given: Sequence[Encoded], page: Encoded, canonical: Canonical) -> Iterator[Deficit]:
    """The mean over the first order, the first two, ..., one forward each; the last one is the orbit's. Who forms behind people's backs
    can let them to the model in between: up to 24 forwards in one go would be a long wait."""
    by_key = {item.key: item for item in given}
    total: Deficit | None = None
    for number, order in enumerate(orderings(list(by_key)), 1):
        found = exact_deficit(backbone, prefix, [by_key[key] for key in order], page, canonical)
        total = found if total is None else total + found
        yield total.scaled(1 / number)


def removal_deficit(
    backbone: Backbone, prefix: Prefix, given: Sequence[Encoded], left: Sequence[str], page: Encoded, canonical: Canonical
) -> Deficit:
    """KV(B|those that stay) - KV(B|all): what a survivor has to lose when `left` leave (Kamera, section 5, sliding-window survival)."""
    stay = [item for item in given if item.key not in left]
    after = exact_deficit(backbone, prefix, stay, page, canonical)
    before = exact_deficit(backbone, prefix, given, page, canonical)
    return after + before.scaled(-1.0)


def orderings(keys: Sequence[str]) -> list[tuple[str, ...]]:
    """All orders of up to four keys; of more, 24 drawn ones: the same ones for the same set, whatever order it is given in."""
    keys = sorted(keys)
    if len(keys) <= ALL_ORDERS:
        return list(itertools.permutations(keys))
    draw = random.Random(hashlib.sha256("\0".join(keys).encode()).hexdigest())
    found: dict[tuple[str, ...], None] = {}
    while len(found) < DRAWN_ORDERS:
        found[tuple(draw.sample(keys, len(keys)))] = None
    return list(found)


def deepest(layers: int, count: int | None = None) -> int:
    """The first layer of a deep patch: it covers the deepest half of the model, or `count` layers (Kamera, table 2)."""
    return max(1, layers - (math.ceil(layers / 2) if count is None else count))


def cut(
    delta: Deficit,
    given: Sequence[str],
    canonical: Canonical,
    rank: int | None = 32,
    *,
    kind: Kind = "exact",
    first_layer: int = 1,
    left: Sequence[str] = (),
    method: Method = "gram",
) -> Patch:
    """Truncate Delta to a patch in the page's own dtype. `rank` None keeps it whole; 0 keeps nothing, which is blind reuse.

    Raises:
        RankTooHigh: more components than the page's rows or its width can have.
    """
    rotary, plain = delta.matrices(first_layer)
    most = max(min(matrix.shape[1:]) for matrix in (rotary, plain))
    if rank is not None and rank > most:
        raise RankTooHigh(
            f"{canonical.key}: rank {rank} is above {most}, the most a page of {canonical.length} rows can have with this model; "
            "give a lower rank, or 'full'"
        )
    m = most if rank is None else rank
    key = PatchKey(canonical.key, tuple(given), kind, m, first_layer, None, tuple(left))
    dtype = canonical.rotary.dtype
    seed = int(key.digest[:8], 16)
    factors = [Factors(*(part.to(dtype) for part in truncate(matrices, m, method, seed))) for matrices in (rotary, plain)]
    return Patch(key, *factors)


def pool(deficits: Sequence[Deficit], rank: int, first_layer: int = 1) -> Basis:
    """One basis a layer over many pages' Deltas: the leading directions of the sum of their Gram matrices (Kamera, section 4)."""
    rotary, plain = (
        leading(total, min(rank, total.shape[-1])).float()
        for total in (
            torch.stack([gram(as_matrices(tensor[first_layer:])) for tensor in channel]).sum(0)
            for channel in ([item.rotary for item in deficits], [item.plain for item in deficits])
        )
    )
    return Basis(first_layer, rotary.contiguous(), plain.contiguous())


def cut_pooled(
    delta: Deficit, given: Sequence[str], canonical: Canonical, basis: Basis, *, kind: Kind = "exact", left: Sequence[str] = ()
) -> Patch:
    """A patch over a shared basis: only the page's coefficients are its own."""
    key = PatchKey(canonical.key, tuple(given), kind, basis.rank, basis.first_layer, basis.digest, tuple(left))
    dtype = canonical.rotary.dtype
    rotary, plain = delta.matrices(basis.first_layer)
    return Patch(
        key,
        Factors((rotary @ basis.rotary.mT).to(dtype), basis.rotary.to(dtype)),
        Factors((plain @ basis.plain.mT).to(dtype), basis.plain.to(dtype)),
    )
