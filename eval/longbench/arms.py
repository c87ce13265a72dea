"""An arm's name goes in; an `Arm` comes out, which answers a record in its own way and says how long its first token took.

    image-full[@DPI]                  every page image encoded and prefilled with the question (72 DPI where none is said)
    image-pic[@DPI][:condition]       page caches of one DPI, compiled under template (where none is said), free or dummy-K
    qv-pic[@LOW-HIGH][:condition]     the same, with the pages of most relevance at the high DPI (72-120; QV-PIC, equations 5 to 8)

Examples: image-pic@120, image-pic@72:dummy-4, qv-pic:free.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from cache_compiler.assemble import assemble
from cache_compiler.prefill import full_prefill
from eval.resolution import promoted, uniform
from retrieval.types import Budget

from .errors import UnknownArm
from .generate import generate
from .house import House
from .pages import Sheet
from .records import Record


@dataclass(frozen=True)
class Reply:
    """What an arm said, raw. `tokens` were generated; `rows` of context stood before the question. `error`: why there is no answer."""

    text: str
    tokens: int = 0
    first_token_seconds: float | None = None
    error: str | None = None
    rows: int = 0


class Arm(Protocol):
    """One way to answer. `answer` may be called from several threads at once; what it raises makes the sample score 0."""

    @property
    def name(self) -> str: ...

    def answer(self, task: str, record: Record) -> Reply: ...


@dataclass(frozen=True)
class ImageArm:
    """Page images before the text. `condition` is `full`, or that of the page caches; a `budget` lets relevance decide each page's DPI.

    The clock of the first token is QV-PIC's (Experiments, Metrics): for `full`, vision encoder, prefill of all and the first token; for page
    caches, placing, prefill of the question and the first token, and for `qv-pic` besides the question's embedding and the plan. Drawing,
    compiling and the passages' vectors are offline.
    """

    name: str
    house: House
    condition: str
    dpi: int
    budget: Budget | None = None

    def answer(self, task: str, record: Record) -> Reply:
        house, full = self.house, self.condition == "full"
        ids = house.question_ids(record)
        with house.lock:
            pages = house.sheets(record)
            dpis, planned = self._dpis(pages, record)
            images = house.images(pages, dpis)
            prefix = house.bench.prefix("template")
            canonicals = [] if full else house.bench.canonicals(self.condition, images)
        begun = time.perf_counter()
        room = len(ids) + min(house.limit(task), 256)  # the slab grows beyond it
        assembly = full_prefill(house.backbone, images, room) if full else assemble(house.backbone, prefix, canonicals, room)
        ready = time.perf_counter() - begun
        rows = assembly.length
        said = generate(house.backbone, assembly, ids, house.limit(task), house.protocol.penalty)
        return Reply(said.text, len(said.ids), planned + ready + said.first, rows=rows)

    def _dpis(self, pages: Sequence[Sheet], record: Record) -> tuple[list[int], float]:
        """(the DPI of each page, the seconds that a waiting person would have spent on it)."""
        texts = [sheet.text for sheet in pages]
        if self.budget is None:
            return uniform(texts, self.dpi), 0.0
        self.house.embedder.embed_passages(texts)
        begun = time.perf_counter()
        return promoted(texts, record.input, self.house.embedder, self.budget), time.perf_counter() - begun


_CONDITION = r"(?::(?P<condition>template|free|dummy-\d{1,3}))?"


def _image_full(name: str, said: re.Match[str], house: House) -> Arm:
    return ImageArm(name, house, "full", int(said["dpi"] or house.budget.low))


def _image_pic(name: str, said: re.Match[str], house: House) -> Arm:
    return ImageArm(name, house, said["condition"] or "template", int(said["dpi"] or house.budget.low))


def _qv_pic(name: str, said: re.Match[str], house: House) -> Arm:
    low, high = (int(said[side] or getattr(house.budget, side)) for side in ("low", "high"))
    if low > high:
        raise UnknownArm(f"arm {name!r}: the low DPI stands first, as in qv-pic@{high}-{low}")
    return ImageArm(name, house, said["condition"] or "template", low, replace(house.budget, low=low, high=high))


Maker = Callable[[str, "re.Match[str]", House], Arm]
# The registry: what a name looks like, and what makes its arm. A further kind of arm is a further row.
MAKERS: list[tuple[re.Pattern[str], Maker]] = [
    (re.compile(r"image-full(?:@(?P<dpi>[1-9]\d{1,2}))?"), _image_full),
    (re.compile(r"image-pic(?:@(?P<dpi>[1-9]\d{1,2}))?" + _CONDITION), _image_pic),
    (re.compile(r"qv-pic(?:@(?P<low>[1-9]\d{1,2})-(?P<high>[1-9]\d{1,2}))?" + _CONDITION), _qv_pic),
]
KNOWN = "image-full[@DPI], image-pic[@DPI][:condition], qv-pic[@LOW-HIGH][:condition]; a condition is template, free or dummy-K"


def make_arm(name: str, house: House) -> Arm:
    """Raises UnknownArm, listing what there is; the backbone's own error where it cannot do what the arm needs."""
    said, maker = _row(name)
    return maker(name, said, house)


def arms_named(text: str) -> tuple[str, ...]:
    """Comma-separated names, each once, checked before any model is loaded. Raises UnknownArm."""
    names = tuple(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))
    for name in names or ("",):
        _row(name)
    return names


def _row(name: str) -> tuple[re.Match[str], Maker]:
    for pattern, maker in MAKERS:
        if said := pattern.fullmatch(name):
            return said, maker
    raise UnknownArm(f"arm {name!r}: it is one of {KNOWN}")
