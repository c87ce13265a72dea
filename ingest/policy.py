"""A document's pages go in; the patches that are worth forming come out: what is formed, and when. `patching.py` does it.

off         nothing
adjacent    at ingest: every page given the page before it in its document, at every pair of DPIs that a plan can give the two
hot         as adjacent, and besides: a page given a set, in every order, once the two have been retrieved together often enough
            to pay for the forming (Kamera, section 6: forming is worth it from about 9 uses on)
"""

from __future__ import annotations

import itertools
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

    A page that follows its own double is wanted too: there it stands behind something, and alone behind nothing.
    """
    wanted: dict[Wanted, None] = {}
    for before, page in itertools.pairwise(pages):
        for dpi in dpis:
            for other in dpis:
                wanted[Wanted(f"{page}@{dpi}", (f"{before}@{other}",))] = None
    return list(wanted)


def neighbours(pages: Sequence[str], dpis: Sequence[int], together: int) -> list[Wanted]:
    """Page keys in reading order -> for every run of `together` of them, each page given the others, all at one DPI: for orbit patches.

    A run in which a page stands twice is left out: an order of it would be no order of a set. Mixed DPIs would be 2 to the power of
    `together` sets a run; those that are really retrieved together the policy `hot` finds.
    """
    wanted: dict[Wanted, None] = {}
    for first in range(len(pages) - together + 1):
        run = pages[first : first + together]
        if len(set(run)) < together:
            continue
        for dpi in dpis:
            for page in run:
                wanted[Wanted(f"{page}@{dpi}", tuple(sorted(f"{other}@{dpi}" for other in run if other != page)))] = None
    return list(wanted)
