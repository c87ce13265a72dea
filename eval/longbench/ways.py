"""A way to put pages before a question goes in, with the pages; what it has beforehand comes out, and then the context, clocked.

    offline (`prepare`)   page caches compiled, patches formed, pages encoded: reported, and in no first token
    online  (`link`)      full: encode and prefill; else: caches from memory, placed with their patches, then the rows of EPIC

What EPIC computes again starts from the pages' embeddings, which a server would keep of those few rows: the vision encoder is offline.
A patch is what its page absorbs from antecedents behind the same prefix as its own cache (Kamera, equation 2): it brings back what binds the
pages, and not what the native template would have given.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from cache_compiler.condition import condition, deficit
from cache_compiler.form import cut
from cache_compiler.patch import Patch
from cache_compiler.types import Assembly, Canonical, Encoded
from eval.arms import Bench, Page
from eval.bench.clock import settle
from eval.kamera import cut_to

# Rows of a page: more than any has.
ALL = 1_000_000
RANK = 32  # Kamera, section 4: the gap is closed by then on every backbone


@dataclass(frozen=True)
class Patching:
    """Each page's patch: given the page before it, or all pages before it. `rank` None keeps Delta whole."""

    given: Literal["before", "chain"] = "before"
    rank: int | None = RANK


@dataclass(frozen=True)
class Way:
    """`condition` is full, template, free or dummy-K. `epic`: so many rows at each page's head are computed again; 0 of `full`, always."""

    condition: str
    patching: Patching | None = None
    epic: int = 0


@dataclass(frozen=True)
class Ready:
    """What a way has before the question comes.

    `facts`: seconds of "compile" and "form", and how many caches and patches they made ("compiled", "formed"); a cache that is at hand already
    costs nothing and is not counted. "patch_share": bytes of the patches as a share of the caches' (Kamera, table 4).
    """

    way: Way
    pages: Sequence[Page]
    canonicals: Sequence[Canonical] = ()
    patches: Sequence[Patch | None] | None = None
    encoded: Sequence[Encoded] = ()
    facts: Mapping[str, float] = field(default_factory=dict)


def prepare(bench: Bench, way: Way, pages: Sequence[Page]) -> Ready:
    """The offline half. Raises TemplateError on an unknown condition. One thread at a time: it fills the bench's caches."""
    if way.condition == "full":
        return Ready(way, pages)
    facts: dict[str, float] = {"compiled": bench.lacks(way.condition, pages)}
    for under in ("template", way.condition):  # not on the clock, and not by two threads
        bench.prefix(under)
    clock = _Clock(bench)
    canonicals = bench.canonicals(way.condition, pages)
    facts["compile"] = clock.seconds()
    encoded = bench.encoded(pages) if way.epic or way.patching else []
    patches = None
    if way.patching:
        clock = _Clock(bench)
        patches = form(bench, way.condition, way.patching, encoded, canonicals)
        facts["form"], facts["formed"] = clock.seconds(), len(patches) - 1
        facts["patch_share"] = sum(patch.bytes for patch in patches if patch) / sum(page.bytes for page in canonicals)
    return Ready(way, pages, canonicals, patches, encoded if way.epic else (), facts)


def link(bench: Bench, ready: Ready, room: int) -> Assembly:
    """The online half: the context, ready for a question; its `seconds` are all that a waiting person would have spent on it."""
    way = ready.way
    if way.condition == "full":
        return bench.prefilled(ready.pages, room)
    context = bench.linked(ready.canonicals, room, ready.patches)
    return bench.recomputed(context, ready.encoded, way.epic, exact=way.condition == "template") if way.epic else context


def form(bench: Bench, under: str, patching: Patching, pages: Sequence[Encoded], canonicals: Sequence[Canonical]) -> list[Patch | None]:
    """One patch a page, None of the first. A rank above what a page can have is the whole of its Delta.

    `before`: a forward a page, behind its neighbour's own cache. `chain`: one forward over them all.
    """
    prefix, keys = bench.prefix(under), [page.key for page in pages]
    if patching.given == "chain":
        held = condition(bench.backbone, prefix, pages[1:], first=canonicals[0]) if len(pages) > 1 else []
    else:
        held = [condition(bench.backbone, prefix, [page], first=before)[0] for before, page in zip(canonicals[:-1], pages[1:], strict=True)]
    patches: list[Patch | None] = [None]
    for at, (found, own) in enumerate(zip(held, canonicals[1:], strict=True), 1):
        given = keys[:at] if patching.given == "chain" else keys[at - 1 : at]
        delta = deficit(found, own)
        patches.append(cut(delta, given, own, None) if patching.rank is None else cut_to(delta, given, own, patching.rank))
    return patches


class _Clock:
    """From an idle device to an idle device."""

    def __init__(self, bench: Bench) -> None:
        self.device = bench.backbone.device
        settle(self.device)
        self.begun = time.perf_counter()

    def seconds(self) -> float:
        settle(self.device)
        return time.perf_counter() - self.begun
