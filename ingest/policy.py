"""A document's pages go in; the patches that are worth forming come out: what is formed, and when. `patching.py` does it.

off         nothing
adjacent    at ingest: every page given the page before it in its document, at every pair of DPIs that a plan can give the two
hot         as adjacent, and besides: a page given a set, in every order, once the two have been retrieved together often enough
            to pay for the forming (Kamera, section 6: forming is worth it from about 9 uses on)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Word = Literal["adjacent", "hot", "off"]


@dataclass(frozen=True)
class Policy:
    """`rank`: of every patch that is formed; a page that cannot have as much gets the most it can have. `hot_after`: uses before an orbit."""

    word: Word = "adjacent"
    rank: int = 32
    hot_after: int = 9


@dataclass(frozen=True)
class Wanted:
    """A patch to form: the image key of a page, and those of the pages before it, in their order."""

    page: str
    given: tuple[str, ...]


def adjacent(pages: Sequence[str], dpis: Sequence[int]) -> list[Wanted]:
    """Page keys in reading order -> each page given its predecessor, for all pairs of `dpis`; a pair that stands twice comes once.

    A page that follows its own double at the same DPI is wanted too: it stands behind other content than none.
    """
    wanted: dict[Wanted, None] = {}
    for before, page in zip(pages, pages[1:], strict=False):
        for dpi in dpis:
            for other in dpis:
                wanted[Wanted(f"{page}@{dpi}", (f"{before}@{other}",))] = None
    return list(wanted)
