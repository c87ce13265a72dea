"""One question over two pages goes in; full prefill, blind reuse, patches and every baseline on the same relocated cache come out.

Kamera's section 6, tables 3 to 6 and 8, figures 5 to 7. Page A stands first and is exact; everything is done to page B behind it. A
token method's bytes are those of the rows that it computes again, so that it can be given a patch's budget (table 6).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from cache_compiler import baselines, form
from cache_compiler.condition import deficit
from cache_compiler.isolate import isolate
from cache_compiler.patch import Patch
from cache_compiler.types import Assembly, Canonical

from .divergence import kl, mean
from .kamera import Lab, Leaf, cut_to
from .records import Sample

RANKS = (8, 16, 32, 64)


@dataclass(frozen=True)
class Arm:
    """A linked context, and what it costs: bytes and rows as a share of page B's, seconds to form."""

    context: Assembly
    bytes: float = 0.0
    rows: float = 0.0
    forming: float | None = None


def arms_of(lab: Lab, leaves: list[Leaf]) -> dict[str, Arm]:
    """Every arm of a context, by name; `full` is the judge and comes first, `blind` next."""
    backbone = lab.bench.backbone
    encoded, canonicals = [leaf.encoded for leaf in leaves], [leaf.canonical for leaf in leaves]
    page = canonicals[-1]
    full, blind = lab.prefilled(leaves), lab.linked(canonicals)
    arms = {"full": Arm(full, rows=1.0), "blind": Arm(blind)}
    patches = _patches(lab, leaves)
    for name, (patch, seconds) in patches.items():
        arms[name] = Arm(lab.linked(canonicals, [None, patch]), patch.share(page), forming=seconds)

    rows_at = {rank: _rows_for(patches[f"patch r{rank}"][0], page) for rank in (16, 32)}
    half, n = form.deepest(backbone.layers), page.length
    token: dict[str, tuple[int, Callable[[int], Assembly]]] = {
        "epic 16": (16, lambda k: baselines.epic(backbone, blind, encoded, k)),
        "mpic 32": (32, lambda k: baselines.epic(backbone, blind, encoded, k)),
        "epic = r32": (rows_at[32], lambda k: baselines.epic(backbone, blind, encoded, k)),
        "cacheblend 15 %": (round(0.15 * n), lambda k: baselines.cacheblend(backbone, blind, encoded, full, k)),
        "cacheblend = r32": (rows_at[32], lambda k: baselines.cacheblend(backbone, blind, encoded, full, k)),
        "vlcache 10 %": (round(0.10 * n), lambda k: baselines.vlcache(backbone, blind, encoded, k)),
        "vlcache = r32": (rows_at[32], lambda k: baselines.vlcache(backbone, blind, encoded, k)),
        "oracle = r16": (rows_at[16], lambda k: baselines.oracle_tokens(backbone, blind, encoded, full, k)),
        "oracle = r32": (rows_at[32], lambda k: baselines.oracle_tokens(backbone, blind, encoded, full, k)),
        "oracle 50 %": (round(0.5 * n), lambda k: baselines.oracle_tokens(backbone, blind, encoded, full, k)),
    }
    for name, (count, made) in token.items():
        share = min(count, n) / n
        arms[name] = Arm(made(count), share, share)
    arms["sink 32"] = Arm(baselines.sink(backbone, blind, encoded, 32))
    width = page.rotary.shape[1] * page.rotary.shape[3]
    factors = backbone.layers * 32 * (n + width) * page.rotary.element_size()
    arms["shadow-k r32"] = Arm(baselines.shadow_k(backbone, blind, canonicals, 32), factors / page.bytes)
    deep_share = 1 - half / backbone.layers
    arms["deep re-prefill"] = Arm(baselines.deep(backbone, blind, encoded, half), deep_share, 1.0)
    arms["shallow re-prefill"] = Arm(baselines.shallow(backbone, blind, full, half), 1 - deep_share, 1.0)
    arms["shallow sight"] = Arm(baselines.sighted(backbone, blind, encoded, half), 1.0, 1.0)
    arms["isolated"] = Arm(isolate(backbone, blind, encoded), rows=1.0)
    return arms


def _patches(lab: Lab, leaves: list[Leaf]) -> dict[str, tuple[Patch, float]]:
    """Patches of page B by arm name, each with the seconds of its forming: the conditioned forward and its own truncation."""
    given, page = [leaf.image.key for leaf in leaves[:-1]], leaves[-1].canonical
    basis = lab.basis
    begun = time.perf_counter()
    delta = deficit(lab.conditioned(leaves)[-1], page)
    forward = time.perf_counter() - begun
    half = form.deepest(lab.bench.backbone.layers)
    ways: dict[str, Callable[[], Patch]] = {
        **{f"patch r{rank}": lambda rank=rank: cut_to(delta, given, page, rank) for rank in RANKS},  # type: ignore[misc]
        "patch full": lambda: form.cut(delta, given, page, None),
        "patch r32 deep half": lambda: cut_to(delta, given, page, 32, first_layer=half),
        "patch r32 pooled": lambda: form.cut_pooled(delta, given, page, basis),
    }
    made = {}
    for name, way in ways.items():
        begun = time.perf_counter()
        patch = way()
        made[name] = patch, forward + time.perf_counter() - begun
    return made


def _rows_for(patch: Patch, page: Canonical) -> int:
    """How many rows of the page take as many bytes as the patch does (Kamera, table 6: rank 16 is 31 of its tokens)."""
    return max(1, min(page.length, round(patch.share(page) * page.length)))


class Main:
    """The arms of one context are kept for its further questions, which follow each other."""

    def __init__(self) -> None:
        self._kept: tuple[tuple[tuple[str, ...], ...], dict[str, Arm]] | None = None

    def __call__(self, lab: Lab, sample: Sample, number: int) -> dict[str, Any]:
        if self._kept is None or self._kept[0] != sample.pages:
            self._kept = sample.pages, arms_of(lab, lab.leaves(sample.pages))
        arms = self._kept[1]
        judge = lab.judge(arms["full"].context, sample)
        readings, logits = [], {}
        for name, arm in arms.items():
            reading, logits[name] = lab.read(arm.context, judge)
            readings.append({"arm": name, **reading, "bytes": arm.bytes, "rows": arm.rows, "forming": arm.forming})
        # Both were computed without the antecedent: what is left between them is position alone.
        control = kl(logits["isolated"], logits["blind"])
        return {"readings": readings, "control": {"first": control[0], "answer": mean(control)}}
