"""A few batches of pages go in; what a row, a patch and a text cost in seconds comes out, and the bytes a file has besides its tensors.

What is measured is the very walk of ingest, in memory: drawn, compiled, sealed. Only the writing to the disk is left out.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from cache_compiler.condition import condition, deficit
from cache_compiler.form import cut
from cache_compiler.patch_files import facts_for
from cache_compiler.sealed import seal
from cache_compiler.types import Canonical, Encoded
from renderer.types import Page, image_key

from .errors import Cancelled
from .patching import most_rank
from .policy import adjacent
from .reading import compile_batch, encode
from .spread import Amount, evenly
from .workshop import Workshop


@dataclass(frozen=True)
class Specimen:
    """A batch of a document's pages as ingest would make it, and the page it stands behind; `weight`: how many pages it speaks for."""

    pages: tuple[Page, ...]
    before: Page | None
    weight: float

    @property
    def pair(self) -> tuple[Page, Page] | None:
        """A page of the batch with the one before it."""
        if len(self.pages) > 1:
            return self.pages[0], self.pages[1]
        return (self.before, self.pages[0]) if self.before is not None else None


@dataclass(frozen=True)
class Rates:
    """Seconds, each with the lowest and the highest seen: a cache row per DPI, a row of a patch, a text to embed. Headers are bytes a file."""

    row: Mapping[int, Amount] = field(default_factory=dict)
    patch_row: Amount = field(default_factory=Amount)
    text: Amount = field(default_factory=Amount)
    cache_header: float = 0.0
    patch_header: float = 0.0
    pages: int = 0
    patches: int = 0


def draw(specimens: Sequence[Specimen], pages: int) -> list[Specimen]:
    """Of all candidates so many that they hold about `pages` pages, two at least, each as likely as it is heavy and evenly spread."""
    if not specimens:
        return []
    mean = sum(len(one.pages) for one in specimens) / len(specimens)
    count = min(len(specimens), max(2, round(pages / mean)))
    total = sum(one.weight for one in specimens)
    marks = [(number + 0.5) * total / count for number in range(count)]
    drawn: list[Specimen] = []
    passed = 0.0
    for left, one in zip(range(len(specimens), 0, -1), specimens, strict=True):
        passed += one.weight
        # The last ones are taken too where a heavy one has swallowed several marks.
        if len(drawn) < count and (passed >= marks[len(drawn)] or left <= count - len(drawn)):
            drawn.append(one)
    return drawn


def measure(
    specimens: Sequence[Specimen], workshop: Workshop, patched: int, step: Callable[[str, int, int], None], cancelled: Callable[[], bool]
) -> Rates:
    """Compile the batches at every DPI, form the patches of `patched` of their pages as the policy would, embed their texts.

    `step`: stage, done, total. Raises Cancelled between two forwards, and the rooms' errors.
    """
    if not specimens:
        return Rates()
    for dpi in workshop.dpis:
        # Whatever is made ready once must not be counted against every batch.
        compile_batch(workshop, [specimens[0].pages[0]], dpi)
    kept: dict[str, Canonical] = {}
    wanted = {image_key(page.key, dpi) for one in specimens for page in one.pair or () for dpi in workshop.dpis}
    seen: dict[int, list[tuple[float, int]]] = {dpi: [] for dpi in workshop.dpis}
    headers: list[int] = []
    for number, (one, dpi) in enumerate((one, dpi) for one in specimens for dpi in workshop.dpis):
        _stop_if(cancelled)
        begun = time.perf_counter()
        canonicals = compile_batch(workshop, one.pages, dpi)
        headers += [_cache_bytes(canonical) - canonical.bytes for canonical in canonicals]
        seen[dpi].append((time.perf_counter() - begun, sum(canonical.length for canonical in canonicals)))
        kept |= {canonical.key: canonical for canonical in canonicals if canonical.key in wanted}
        step("compile", number + 1, len(specimens) * len(workshop.dpis))
    patches = _patches(specimens, workshop, patched, kept, step, cancelled)
    texts = []
    workshop.embedder.embed_passages([specimens[0].pages[0].text])
    for one in specimens:
        begun = time.perf_counter()
        workshop.embedder.embed_passages([page.text for page in one.pages])
        texts.append((time.perf_counter() - begun, len(one.pages)))
    return Rates(
        row={dpi: _rate(times) for dpi, times in seen.items()},
        patch_row=_rate([(seconds, rows) for seconds, rows, _ in patches]),
        text=_rate(texts),
        cache_header=sum(headers) / len(headers),
        patch_header=_mean([header for *_, found in patches for header in found]),
        pages=sum(len(one.pages) for one in specimens),
        patches=sum(len(found) for *_, found in patches),
    )


def patch_bytes(workshop: Workshop, rows: int) -> int:
    """Bytes of the factors of a page's patch at the policy's rank (Kamera, equation 1): U S and V, of every layer but the first."""
    backbone, rank = workshop.backbone, workshop.policy.rank
    numbers = 0
    for heads, width in (backbone.rotary_shape, backbone.plain_shape):
        numbers += min(rank, rows, heads * width) * (rows + heads * width)
    return (backbone.layers - 1) * numbers * int(backbone.dtype.itemsize)


def _patches(
    specimens: Sequence[Specimen],
    workshop: Workshop,
    patched: int,
    kept: dict[str, Canonical],
    step: Callable[[str, int, int], None],
    cancelled: Callable[[], bool],
) -> list[tuple[float, int, list[int]]]:
    """Of each page that is patched: seconds, rows over all its patches, and the bytes that each patch's file has besides its factors."""
    pairs = [pair for one in specimens if (pair := one.pair) is not None]
    if workshop.policy.word == "off" or not pairs:
        return []
    chosen = [pairs[number] for number in evenly(max(1, patched), len(pairs))]
    for page in {page.key: page for pair in chosen for page in pair}.values():
        for dpi in workshop.dpis:
            if (key := image_key(page.key, dpi)) not in kept:
                kept[key] = compile_batch(workshop, [page], dpi)[0]
    _pair(chosen[0], workshop, kept)
    found = []
    for number, pair in enumerate(chosen):
        _stop_if(cancelled)
        begun = time.perf_counter()
        rows, headers = _pair(pair, workshop, kept)
        found.append((time.perf_counter() - begun, rows, headers))
        step("patch", number + 1, len(chosen))
    return found


def _pair(pair: tuple[Page, Page], workshop: Workshop, kept: Mapping[str, Canonical]) -> tuple[int, list[int]]:
    """Form every patch that ingest forms of the second page given the first."""
    backbone, prefix = workshop.backbone, workshop.prefix
    encoded: dict[str, Encoded] = {}
    rows, headers = 0, []
    for want in adjacent([page.key for page in pair], workshop.dpis):
        if want.page not in encoded:
            encoded[want.page] = encode(workshop, pair[1], int(want.page.rpartition("@")[2]))
        canonical = kept[want.page]
        conditioned = condition(backbone, prefix, [encoded[want.page]], first=kept[want.given[0]])[-1]
        rank = min(workshop.policy.rank, most_rank(workshop, canonical.length))
        patch = cut(deficit(conditioned, canonical), want.given, canonical, rank)
        tensors = {f"{name}_{side}": getattr(getattr(patch, name), side) for name in ("rotary", "plain") for side in ("left", "right")}
        headers.append(len(seal({"patch": facts_for(patch.key), "identity": workshop.identity.fingerprint}, tensors)) - patch.bytes)
        rows += canonical.length
    return rows, headers


def _cache_bytes(canonical: Canonical) -> int:
    facts = {"key": canonical.key, "rows": canonical.rows, "columns": canonical.columns}
    return len(seal(facts, {"rotary": canonical.rotary, "plain": canonical.plain}))


def _rate(times: Sequence[tuple[float, float]]) -> Amount:
    """(seconds, size) of each measurement -> seconds for a size of one: over all, and the lowest and highest seen."""
    if not times:
        return Amount()
    each = [seconds / size for seconds, size in times]
    return Amount(sum(seconds for seconds, _ in times) / sum(size for _, size in times), min(each), max(each))


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0


def _stop_if(cancelled: Callable[[], bool]) -> None:
    if cancelled():
        raise Cancelled("stopped on request; nothing was kept")
