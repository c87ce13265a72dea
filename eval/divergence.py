"""Logits, answers and deficits of several arms go in; the measures of the Kamera paper come out, with their intervals.

    KL          KL(P_full || P_arm), nats: at the first answer token, and as the mean over the full arm's own greedy answer
    eta         the share of the KL between blind reuse and full prefill that an arm closes: 1 - KL_arm / KL_blind
    flips       items where blind reuse answers otherwise than full prefill; recovered: the arm answers as full prefill does

eta is a ratio of means. Beside it stands the median over items whose blind KL is measurable, which a few large items cannot carry.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from random import Random

from torch import Tensor

from cache_compiler.condition import Deficit
from cache_compiler.lowrank import effective_rank
from cache_compiler.types import Canonical

# Nats. Below it a blind KL is not worth a ratio: two ways to the same distribution differ by 1e-11 in fp32, a bfloat16 cache by 1e-5 and more.
FLOOR = 1e-4

Interval = tuple[float, float]


def kl(judge: Tensor, arm: Tensor) -> list[float]:
    """Logits [positions, vocabulary] of both -> KL(judge || arm) at each position, nats, in fp64; never below 0."""
    p, q = (logits.double().log_softmax(-1) for logits in (judge, arm))
    return [max(0.0, value) for value in (p.exp() * (p - q)).sum(-1).tolist()]


def eta(arm: Sequence[float], blind: Sequence[float]) -> float | None:
    """1 - mean KL of the arm / mean KL of blind reuse; None where blind reuse loses nothing. Below 0 an arm does harm."""
    lost = sum(blind)
    return None if lost <= 0 else 1 - sum(arm) / lost


def eta_median(arm: Sequence[float], blind: Sequence[float], floor: float = FLOOR) -> tuple[float | None, int]:
    """(the median over items of 1 - KL_arm / KL_blind, how many items have a blind KL of at least `floor`)."""
    shares = [1 - a / b for a, b in zip(arm, blind, strict=True) if b >= floor]
    return (statistics.median(shares) if shares else None), len(shares)


def flip_recover(blind_same: Sequence[bool], arm_same: Sequence[bool]) -> tuple[int, int]:
    """(recovered, flips), from whether each arm's answer equals full prefill's, item by item."""
    flipped = [arm for blind, arm in zip(blind_same, arm_same, strict=True) if not blind]
    return sum(flipped), len(flipped)


def bootstrap(
    groups: Sequence[Sequence[int]], statistic: Callable[[Sequence[int]], float | None], draws: int = 1000, seed: int = 0
) -> Interval | None:
    """The 95 % interval of a statistic of item indices, by drawing whole groups with replacement; None where it cannot be said.

    A group is the items of one context: they share pages and patch, and drawing them one by one would make the interval too narrow.
    A statistic of two arms stays paired, for it sees the same items of both.
    """
    if len(groups) < 2:
        return None
    draw = Random(seed)
    found = []
    for _ in range(draws):
        value = statistic([index for _ in groups for index in groups[draw.randrange(len(groups))]])
        if value is not None and math.isfinite(value):
            found.append(value)
    if len(found) < draws // 2:
        return None
    found.sort()
    return found[round(0.025 * (len(found) - 1))], found[round(0.975 * (len(found) - 1))]


def relative_norm(delta: Deficit, conditioned: Canonical) -> dict[str, list[float]]:
    """||Delta|| / ||KV(B|A)|| of each layer, Frobenius, for keys and values (Kamera, figure 3 b)."""
    return {
        name: [
            float(part.norm() / whole.float().norm())
            for part, whole in zip(getattr(delta, channel), getattr(conditioned, channel), strict=True)
        ]
        for name, channel in (("keys", "rotary"), ("values", "plain"))
    }


def ranks90(delta: Deficit) -> dict[str, list[int]]:
    """How many components hold 90 % of Delta's energy at each layer, for keys and values (Kamera, section 4: e90). Layer 0 has none."""
    return dict(zip(("keys", "values"), (effective_rank(matrices, 0.9) for matrices in delta.matrices(0)), strict=True))


def break_even(forming: float, reprefill: float, apply: float) -> float | None:
    """After how many uses a patch has repaid its forming: seconds once, against those that each use saves; None where it saves none."""
    saved = reprefill - apply
    return forming / saved if saved > 0 else None


def mean(values: Sequence[float]) -> float:
    return statistics.fmean(values)
