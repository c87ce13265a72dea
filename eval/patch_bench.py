"""A model and page sizes go in; what it takes to place a page with and without its patch, to prefill it again, and to form the patch comes out.

    page B of n visual tokens behind page A of as many; the prefix, A and B's own cache are at hand, as when a request is linked
    place            B's rows rotated into the slab; with a patch: its factors multiplied out and added on the way
    re-prefill       one forward of B over [prefix, A]; with the vision encoder, or given its output
    forming          once a patch: that forward with its keys captured, and the truncation to rank

Kamera, figure 11 b and c. Medians in one process, the ways in turn, after one round of warm-up.
"""

from __future__ import annotations

import json
import platform
import resource
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from PIL import Image

from cache_compiler.assemble import assemble
from cache_compiler.backbone import Backbone
from cache_compiler.compile import compile_pages
from cache_compiler.condition import condition, deficit
from cache_compiler.load import load_backbone
from cache_compiler.place import place
from cache_compiler.prefix import Prefix, compile_prefix
from cache_compiler.tiny import random_backbone
from renderer.types import PageImage

from .divergence import break_even
from .kamera import cut_to

WAYS = ("place patched", "place", "re-prefill", "re-prefill, encoder too", "form: forward", "form: truncate")


def measure(model: str, tokens: Sequence[int], rank: int, repeats: int, report: Callable[[str], None]) -> list[dict[str, Any]]:
    """A row a page size: median seconds of each way, bytes, and what comes of them. `model`: reader, small, or a directory."""
    backbone = random_backbone("small") if model == "small" else load_backbone(model)
    prefix = compile_prefix(backbone, backbone.template.prefix)
    return [_row(backbone, prefix, count, rank, repeats, report) for count in tokens]


def _row(backbone: Backbone, prefix: Prefix, tokens: int, rank: int, repeats: int, report: Callable[[str], None]) -> dict[str, Any]:
    images = [_noise(seed, tokens, backbone.cell) for seed in (1, 2)]
    two = backbone.encode(images[1:])[0]
    # One by one, as a batch of two large pages takes twice the memory.
    first, page = (compile_pages(backbone, [image], prefix)[0] for image in images)
    anchor = page.at(first.at(prefix.length).end)
    delta = deficit(condition(backbone, prefix, [two], first)[0], page)
    patch = cut_to(delta, [first.key], page, rank)
    before = assemble(backbone, prefix, [first], page.length).cache
    positions = anchor.positions(backbone.axes)[:, None]
    past = before.rows
    rotary, plain = before.reserve(page.length)
    rows = rotary[:, 0], plain[:, 0]

    def reprefill(encode: bool) -> None:
        taken = backbone.encode(images[1:]) if encode else [two]
        before.truncate(past)
        backbone.forward_encoded(taken, positions, before, keep=0)

    ways: dict[str, Callable[[], object]] = {
        "place patched": lambda: place(backbone, page, anchor, *rows, patch),
        "place": lambda: place(backbone, page, anchor, *rows),
        "re-prefill": lambda: reprefill(False),
        "re-prefill, encoder too": lambda: reprefill(True),
        "form: forward": lambda: condition(backbone, prefix, [two], first),
        "form: truncate": lambda: cut_to(delta, [first.key], page, rank),
    }
    seconds: dict[str, list[float]] = {name: [] for name in WAYS}
    for number in range(repeats + 1):
        for name in WAYS:
            spent = _timed(backbone, ways[name])
            if number:
                seconds[name].append(spent)
        report(f"{tokens} tokens: round {number} of {repeats}{' (warm-up)' if not number else ''}")
    medians = {name: statistics.median(found) for name, found in seconds.items()}
    forming = medians["form: forward"] + medians["form: truncate"]
    return {
        "tokens": tokens,
        "rows": page.length,
        "rank": patch.key.rank,
        "seconds": medians,
        "spread": {name: [min(found), max(found)] for name, found in seconds.items()},
        "page_bytes": page.bytes,
        "patch_bytes": patch.bytes,
        "reprefill_over_placing": medians["re-prefill"] / medians["place patched"],
        "reprefill_with_encoder_over_placing": medians["re-prefill, encoder too"] / medians["place patched"],
        "repaid_after": break_even(forming, medians["re-prefill"], medians["place patched"]),
        "repaid_after_with_encoder": break_even(forming, medians["re-prefill, encoder too"], medians["place patched"]),
        "peak_memory_bytes": _peak(backbone),
    }


def _noise(seed: int, tokens: int, cell: int) -> PageImage:
    """A page of exactly so many visual tokens, as near to a square as their number allows. What is on it changes no time."""
    rows = max(d for d in range(1, int(tokens**0.5) + 1) if tokens % d == 0)
    pixels = np.random.default_rng(seed).integers(0, 255, (cell * rows, cell * (tokens // rows), 3), dtype=np.uint8)
    return PageImage(f"{seed:032x}", 72, cell, Image.fromarray(pixels))


def _timed(backbone: Backbone, way: Callable[[], object]) -> float:
    cuda = backbone.device.type == "cuda"
    if cuda:
        torch.cuda.synchronize()
    begun = time.perf_counter()
    way()
    if cuda:
        torch.cuda.synchronize()
    return time.perf_counter() - begun


def _peak(backbone: Backbone) -> int:
    """The most memory the process has held so far, bytes: of the GPU where the model is on one."""
    if backbone.device.type == "cuda":
        return int(torch.cuda.max_memory_allocated())
    # Linux counts kilobytes, macOS bytes.
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def summarise(model: str, rows: Sequence[dict[str, Any]], repeats: int) -> tuple[str, str]:
    """(a table for people, one line of JSON)."""
    heads = (
        "tokens",
        "patched",
        "place",
        "re-prefill",
        "+ encoder",
        "forward",
        "truncate",
        "ratio",
        "+ encoder",
        "repaid",
        "+ enc.",
        "patch",
        "peak",
    )
    text = [
        f"{model}: medians of {repeats} rounds, milliseconds",
        "ratio: re-prefill of the page / placing it with its patch; repaid: uses after which forming is earned back, to the left of '+ enc.' "
        "against a re-prefill that is given the vision encoder's output; patch: % of the page's bytes; peak: process so far, MB",
        " ".join(f"{head:>10}" for head in heads),
    ]
    for row in rows:
        cells = [f"{row['tokens']}", *(f"{1000 * row['seconds'][name]:.2f}" for name in WAYS)]
        cells += [f"{row[name]:.1f}" for name in ("reprefill_over_placing", "reprefill_with_encoder_over_placing")]
        cells += ["never" if row[name] is None else f"{row[name]:.1f}" for name in ("repaid_after", "repaid_after_with_encoder")]
        cells += [f"{100 * row['patch_bytes'] / row['page_bytes']:.1f}", f"{row['peak_memory_bytes'] / 1e6:.0f}"]
        text.append(" ".join(f"{cell:>10}" for cell in cells))
    facts = {
        "task": "patch",
        "model": model,
        "repeats": repeats,
        "threads": torch.get_num_threads(),
        "versions": {"torch": torch.__version__, "python": platform.python_version()},
        "rows": list(rows),
    }
    return "\n".join(text), json.dumps(facts, sort_keys=True)
