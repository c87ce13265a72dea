"""A record goes in; its pages in one medium come out, with the seconds that choosing them takes while a person waits.

Images: one DPI for all, or QV-PIC's allocation by relevance. Text: runs of token ids of one size, cut where they end; QV-PIC's text PIC has
"the original text chunks" and names no size for them.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from eval.arms import Page
from eval.resolution import promoted, uniform
from retrieval.types import Budget

from .house import House
from .records import Record

CHUNK = 512  # tokens; our choice


class Medium(Protocol):
    def pages(self, house: House, record: Record) -> tuple[Sequence[Page], dict[str, float]]:
        """(pages in order, online seconds by name: what choosing them costs). Call under `house.lock`."""
        ...


@dataclass(frozen=True)
class Images:
    """Page images at `dpi`; a `budget` lets relevance decide each page's DPI. Drawing and the passages' vectors are offline."""

    dpi: int
    budget: Budget | None = None

    def pages(self, house: House, record: Record) -> tuple[Sequence[Page], dict[str, float]]:
        sheets = house.sheets(record)
        texts = [sheet.text for sheet in sheets]
        if self.budget is None:
            return house.images(sheets, uniform(texts, self.dpi)), {}
        house.embedder.embed_passages(texts)
        begun = time.perf_counter()
        dpis = promoted(texts, record.input, house.embedder, self.budget)
        planned = {"plan": time.perf_counter() - begun}
        return house.images(sheets, dpis), planned


@dataclass(frozen=True)
class Texts:
    """The context's own tokens in runs of `chunk`; a page of the records world is a run by itself."""

    chunk: int = CHUNK

    def pages(self, house: House, record: Record) -> tuple[Sequence[Page], dict[str, float]]:
        return house.texts(record, self.chunk), {}
