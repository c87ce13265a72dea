"""A backbone goes in; what its page caches are worth comes out: `Findings`, and the word that they come to.

refused     a cache is not what the model would have made itself: an oracle is off, or one page, which is exact, says something else
degraded    exact as far as it can be told, but two pages lose too much, an answer went the other way, or an oracle cannot tell
trusted     neither
"""

from __future__ import annotations

import platform
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

import torch

from app.command import version
from cache_compiler.backbone import Backbone
from cache_compiler.identity import Identity
from cache_compiler.oracles import ORACLES, Reading, bound
from cache_compiler.types import Encoded
from cache_compiler.verdict import Verdict, Word
from eval.arms import Bench
from eval.samples import RECORDS, drawn
from renderer.types import PageImage, PageStyle

from .agreement import ONE, PATCHED, Agreement, Progress, agreement, pages_of

# Nats, the mean over the questions, on one page: there nothing is approximated. fp32 leaves 1e-11; bfloat16 3e-4 and float16 1e-5 in the
# embedded reader. Blind reuse of a second page, which is a real loss, begins at 1e-2.
ONE_PAGE = {torch.float32: 1e-6}
ONE_PAGE_COARSE = 1e-2
# Answers on two pages with patches, as ingest forms them, that must be those of full prefill. Of twenty, two may differ.
TWO_PAGES = 0.9

# Cells (rows, columns) that are cut from three sample pages: wide, tall and square, so that rows and positions part ways.
_GRIDS = ((3, 9), (6, 4), (5, 5))
_LINES = (3, 1, 5)  # of text pages: unequal lengths


@dataclass(frozen=True)
class Findings:
    """All that was measured. `bound` is of the oracles' distances, as a share of the logits' spread."""

    dtype: torch.dtype
    dpi: int | None  # None: pages of text
    bound: float
    oracles: Mapping[str, Reading]
    agreement: Mapping[str, Agreement]

    @property
    def one_page(self) -> float:
        """The bound of one page's KL."""
        return ONE_PAGE.get(self.dtype, ONE_PAGE_COARSE)

    def figures(self) -> dict[str, Any]:
        return {
            "bounds": {"oracles": self.bound, "one_page_kl": self.one_page, "two_pages_same": TWO_PAGES},
            "dpi": self.dpi,
            "oracles": {name: asdict(reading) for name, reading in self.oracles.items()},
            "agreement": {arm: found.figures() for arm, found in self.agreement.items()},
        }


def examine(
    backbone: Backbone, style: PageStyle, dpi: int, documents: int = len(RECORDS), progress: Progress = lambda *_: None
) -> Findings:
    """Oracles first, over three small pages, then the answers. The self-check has passed: without it there is no backbone.

    The model must be this process's own meanwhile: one oracle exchanges its attention.
    """
    bench = Bench(backbone, style)
    pages = small_pages(bench, dpi)
    limit = bound(backbone, pages)
    oracles = {}
    for number, (name, oracle) in enumerate(ORACLES.items()):
        oracles[name] = oracle(backbone, pages)
        progress("oracles", number + 1, len(ORACLES))
    answers = agreement(bench, dpi, documents, progress)
    return Findings(backbone.dtype, dpi if backbone.reads_images else None, limit, oracles, answers)


def small_pages(bench: Bench, dpi: int) -> list[Encoded]:
    """Three pieces of the sample pages, of unequal shapes."""
    texts = [drawn(seed, pages)[0].pages[0] for _, seed, pages in RECORDS[: len(_GRIDS)]]
    if not bench.backbone.reads_images:
        return bench.encoded(pages_of(bench, dpi, ["\n".join(lines[:count]) for lines, count in zip(texts, _LINES, strict=True)]))
    whole = bench.images(["\n".join(lines) for lines in texts], [dpi] * len(texts))
    return bench.backbone.encode([_cut(image, grid, number) for number, (image, grid) in enumerate(zip(whole, _GRIDS, strict=True))])


def _cut(page: PageImage, grid: tuple[int, int], number: int) -> PageImage:
    rows, columns = (min(wanted, there) for wanted, there in zip(grid, page.cells, strict=True))
    return PageImage(f"{number:032x}", page.dpi, page.cell, page.image.crop((0, 0, columns * page.cell, rows * page.cell)))


def judged(found: Findings) -> tuple[Word, tuple[str, ...]]:
    """The word, and the reasons for it, the worst first."""
    refusals = [
        f"the oracle {name!r} is {reading.distance:.1e} of the logits' spread off; {found.bound:.1e} is allowed"
        for name, reading in found.oracles.items()
        if not reading.passes(found.bound)
    ]
    one, two = found.agreement[ONE], found.agreement[PATCHED]
    lost = one.figures()["kl_mean"]
    # Written so that a distance or a KL that is no number refuses too.
    if not lost <= found.one_page:
        refusals.append(
            f"one page from its cache is {lost:.1e} nats from full prefill, where nothing is approximated; {found.one_page:.0e} is allowed"
        )
    doubts = [
        f"the oracle {name!r} cannot tell: what is wrong on purpose is only {reading.control:.1e} off, and {found.bound:.1e} is rounding"
        for name, reading in found.oracles.items()
        if reading.passes(found.bound) and reading.blunt(found.bound)
    ]
    if one.share < 1:
        doubts.append(f"on one page {sum(one.same)} of {len(one.same)} answers are those of full prefill")
    if two.share < TWO_PAGES:
        doubts.append(
            f"on two pages with patches {sum(two.same)} of {len(two.same)} answers are those of full prefill; {TWO_PAGES:.0%} are wanted"
        )
    return "refused" if refusals else "degraded" if doubts else "trusted", (*refusals, *doubts)


def verdict(found: Findings, backbone: Backbone, identity: Identity) -> Verdict:
    import transformers

    word, reasons = judged(found)
    versions = {
        "quire": version(),
        "torch": torch.__version__,
        "transformers": transformers.__version__,
        "python": platform.python_version(),
        "device": backbone.device.type,
    }
    when = datetime.now(UTC).isoformat(timespec="seconds")
    return Verdict(word, reasons, found.figures(), identity.as_mapping(), when, versions)
