"""A model and a number of pages go in; the time to the first token comes out, with page caches and by full prefill of the very same pages, in one run."""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cache_compiler.assemble import assemble
from cache_compiler.compile import compile_pages
from cache_compiler.prefill import full_prefill
from cache_compiler.store import CacheStore
from renderer.types import PageImage

from .arms import Bench
from .experiment import document

PARTS = ("load", "place", "question")


@dataclass(frozen=True)
class Round:
    """One request each way, seconds. `cached` holds load, place and question; `full` is images to first logits."""

    cached: dict[str, float]
    full: float

    @property
    def ratio(self) -> float:
        return sum(self.cached.values()) / self.full


def measure(
    bench: Bench, images: Sequence[PageImage], question: str, runs: int, warmups: int, report: Callable[[str], None]
) -> list[Round]:
    """Time `runs` requests after `warmups`, the two ways in turn. Caches are in memory; the clock runs from the request to the first token's logits.

    By cache: fetch the canonicals, place them, prefill the question. By full prefill: image processor, vision encoder,
    prefill of all pages and the question. Neither includes retrieval, which is the same for both.
    """
    with tempfile.TemporaryDirectory() as folder:
        store = CacheStore(Path(folder), bench.identity, ram_bytes=1 << 34)
        for image in images:
            for canonical in compile_pages(bench.backbone, [image], bench.prefix("template")):
                store.put(canonical)
            store.get(image.key)  # into memory
        report(f"{len(images)} pages compiled")
        rounds = []
        for number in range(warmups + runs):
            cached = _cached(bench, store, images, question)
            begun = time.perf_counter()
            assembly = full_prefill(bench.backbone, images, room=256)
            bench.reply(assembly, question, max_tokens=1)
            full = time.perf_counter() - begun
            if number >= warmups:
                rounds.append(Round(cached, full))
            report(
                f"round {number + 1} of {warmups + runs}{' (warm-up)' if number < warmups else ''}: {sum(cached.values()):.4f} s against {full:.3f} s"
            )
    return rounds


def _cached(bench: Bench, store: CacheStore, images: Sequence[PageImage], question: str) -> dict[str, float]:
    begun = time.perf_counter()
    canonicals = [store.get(image.key).canonical for image in images]
    loaded = time.perf_counter()
    assembly = assemble(bench.backbone, bench.prefix("template"), canonicals, room=256)
    placed = time.perf_counter()
    bench.reply(assembly, question, max_tokens=1)
    return {"load": loaded - begun, "place": placed - loaded, "question": time.perf_counter() - placed}


def summarise(bench: Bench, rounds: Sequence[Round], settings: dict[str, Any], rows: int, seconds: float) -> tuple[str, str]:
    """(a table for people, one line of JSON): medians, the split of the cached way, and the ratio, paired within each round."""
    medians = {part: statistics.median(r.cached[part] for r in rounds) for part in PARTS}
    cached = statistics.median(sum(r.cached.values()) for r in rounds)
    full = statistics.median(r.full for r in rounds)
    ratio = statistics.median(r.ratio for r in rounds)
    spread = (min(r.ratio for r in rounds), max(r.ratio for r in rounds))
    parameters = sum(p.numel() for p in bench.backbone.model.parameters())
    text = "\n".join(
        [
            f"{bench.backbone.name}: {parameters / 1e6:.1f} M parameters, {settings['pages']} pages at {settings['dpi']} DPI, {rows:,} cache rows, "
            f"question of {settings['question_tokens']} tokens",
            f"  full prefill       {full:9.4f} s   (images to first token)",
            f"  page caches        {cached:9.4f} s   = " + " + ".join(f"{part} {medians[part]:.4f}" for part in PARTS),
            f"  ratio              {ratio:9.4f}     (median of {len(rounds)} pairs, {spread[0]:.4f} to {spread[1]:.4f})",
        ]
    )
    row = {"full": full, "cached": cached, "ratio": ratio, "ratio_range": spread, "split": medians, "rows": rows, "parameters": parameters}
    return text, document("ttft", settings, bench, [row], seconds)
