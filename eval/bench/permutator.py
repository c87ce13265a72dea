"""Documents go in, asked about in many orders; what page caches, full prefill and a prefix cache must do for each order comes out.

The workload of long documents that are put together anew for every request. A prefix cache serves a request only as far as its pages
stand in the order of an earlier one; a page cache serves any order.

    caches   every page from memory, placed; the question is prefilled
    prefix   pages up to the first one that stands elsewhere than before are at hand, for nothing; the others are encoded and prefilled
    full     every page is encoded and prefilled

The prefix cache is given the best of it: it keeps every request for ever, finds what it needs at once, and its rows lie where they are
needed. Those rows are computed by the model before the clock starts, and what is timed is a real prefill behind them.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random

import torch

from cache_compiler.assemble import assemble
from cache_compiler.prefill import full_prefill, prefill_encoded
from cache_compiler.types import Assembly
from eval.arms import Bench
from eval.errors import EvalError
from renderer.types import PageImage

from .clock import settle, timed
from .pages import filled_pages, question_of

WAYS = ("caches", "prefix", "full")


@dataclass(frozen=True)
class Ordered:
    """One order one way: seconds to the first token's logits, the pages' cache rows, and those of them that had to be prefilled for it."""

    way: str
    order: tuple[int, ...]
    seconds: float
    prefilled: int
    rows: int


@dataclass(frozen=True)
class Permuted:
    """All orders all ways, and what compiling the page caches took, once."""

    asked: list[Ordered]
    compile_seconds: float
    pages: int


def orders(documents: int, count: int, seed: int = 1) -> list[tuple[int, ...]]:
    """`count` distinct orders of the documents, drawn; all of them where there are no more."""
    every = list(itertools.permutations(range(documents)))
    return Random(seed).sample(every, min(count, len(every)))


def shared_pages(pages: Sequence[int], earlier: Sequence[Sequence[int]]) -> int:
    """How many leading pages stand as in some earlier request: what a prefix cache can serve."""

    def common(other: Sequence[int]) -> int:
        return next((place for place, (a, b) in enumerate(zip(pages, other, strict=False)) if a != b), min(len(pages), len(other)))

    return max((common(other) for other in earlier), default=0)


def permute(
    bench: Bench, documents: int, pages_each: int, count: int, dpi: int, question_tokens: int, report: Callable[[str], None]
) -> Permuted:
    """`documents` of `pages_each` pages, asked about in `count` drawn orders, the ways in turn. One order more warms up.

    Raises EvalError where the bench does not keep so many pages."""
    if documents * pages_each > bench.keep:
        raise EvalError(f"{documents} documents of {pages_each} pages: at most {bench.keep} pages are kept in memory; take fewer")
    images = filled_pages(bench, documents * pages_each, dpi)
    question = question_of(bench, question_tokens)
    # One by one, so that large pages need no more memory than one of them takes.
    compiling = timed(bench.backbone.device, lambda: [bench.canonicals("template", [image]) for image in images])
    for way in WAYS:
        _ask(bench, way, images, 0, question)
    asked: list[Ordered] = []
    earlier: list[tuple[int, ...]] = []
    for number, order in enumerate(orders(documents, count)):
        at = tuple(document * pages_each + page for document in order for page in range(pages_each))
        served = shared_pages(at, earlier)
        turned = number % len(WAYS)
        found = {way: _ask(bench, way, [images[page] for page in at], served, question) for way in (*WAYS[turned:], *WAYS[:turned])}
        asked += [Ordered(way, order, *found[way]) for way in WAYS]
        earlier.append(at)
        report(f"order {number + 1} of {count}: " + ", ".join(f"{way} {1000 * found[way][0]:.1f} ms" for way in WAYS))
    return Permuted(asked, compiling, len(images))


def _ask(bench: Bench, way: str, images: Sequence[PageImage], served: int, question: str) -> tuple[float, int, int]:
    """(seconds, page rows prefilled, page rows) of one order, one way. The template's few rows are not counted."""
    backbone = bench.backbone
    room = len(backbone.question_ids(question)) + 1
    rows = sum(image.tokens + 2 for image in images)
    head = prefill_encoded(backbone, backbone.encode(images[:served]), rows + room) if way == "prefix" else None
    held = head.length if head else 0
    settle(backbone.device)
    begun = time.perf_counter()
    if way == "caches":
        assembly, prefilled = assemble(backbone, bench.prefix("template"), bench.canonicals("template", images), room), 0
    elif head is not None:
        assembly = _behind(bench, head, images[served:])
        prefilled = assembly.length - held
    else:
        assembly = full_prefill(backbone, images, room)
        prefilled = rows
    bench.reply(assembly, question, max_tokens=1)
    settle(backbone.device)
    return time.perf_counter() - begun, prefilled, rows


def _behind(bench: Bench, head: Assembly, images: Sequence[PageImage]) -> Assembly:
    """Encode and prefill further pages behind a context that is there."""
    if not images:
        return head
    backbone, position, positions = bench.backbone, head.next_position, []
    pages = backbone.encode(images)
    for page in pages:
        anchor = page.at(position)
        positions.append(anchor.positions(backbone.axes))
        position = anchor.end
    rows = head.length + sum(page.length for page in pages)
    backbone.forward_encoded(pages, torch.cat(positions, dim=1)[:, None], head.cache, keep=0)
    return Assembly(head.cache, head.segments, rows, position)
