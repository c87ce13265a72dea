"""A loaded model and a protocol go in; what all arms share comes out: the bench, the embedder, a record's pages and the ids behind them."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from cache_compiler.backbone import Backbone
from cache_compiler.errors import ContextTooLong
from cache_compiler.identity import Identity, identify
from eval.arms import Bench, TextPage
from renderer import preset, rasterise
from renderer.types import PageImage
from retrieval.embedder import Embedder, load_embedder
from retrieval.types import Budget
from retrieval.vectors import Vectors

from .drawn import DRAWN
from .judge import Judge
from .pages import Sheet, sheets, texts
from .records import Record
from .tasks import Protocol
from .truncate import context_left

# An image page takes two marks and at least one row of cells.
_LEAST_POSITIONS = 3
_KEPT = 8
MAX_LENGTH = 31_500  # LongBench's, of a model of 32 Ki positions


def usual_length(backbone: Backbone) -> int:
    """Tokens that a prompt is cut to where nobody says otherwise: of a model that reads text alone, at most 500 below its positions, as
    LongBench has it (3,500 of 4 Ki, 7,500 of 8 Ki). Pages take fewer rows than their text has tokens."""
    return MAX_LENGTH if backbone.reads_images else max(64, min(MAX_LENGTH, backbone.max_positions - 500))


@dataclass
class House:
    """Arms are made of it (`arms.make_arm`). Workers share it: whoever lays out, draws or compiles pages holds `lock`; decoding needs none.

    `max_tokens` None: the protocol's own limits; a number instead is for trying things out, and stands in the settings.
    `budget` holds alpha, the cap and the two DPIs of `qv-pic`. `kl`: measure each answer's first token against full prefill.
    """

    backbone: Backbone
    protocol: Protocol
    max_length: int = MAX_LENGTH
    max_tokens: int | None = None
    embedder_name: str = "minilm"
    budget: Budget = field(default_factory=Budget)
    kl: bool = False
    lock: threading.RLock = field(default_factory=threading.RLock)
    _laid: OrderedDict[tuple[str, str], list[Sheet]] = field(default_factory=OrderedDict)

    @cached_property
    def bench(self) -> Bench:
        """Images, prefixes and page caches. The style of a model that reads text alone draws nothing."""
        cell = self.backbone.cell if self.backbone.reads_images else None
        return Bench(self.backbone, preset(self.backbone.card.style, cell=cell))

    @cached_property
    def judge(self) -> Judge:
        return Judge(self.bench)

    @cached_property
    def embedder(self) -> Remembering:
        return Remembering(load_embedder(self.embedder_name))

    @cached_property
    def identity(self) -> Identity:
        """Of weights, template, style and libraries; taken once, for it reads all the weights."""
        return self.bench.identity if self.backbone.reads_images else identify(self.backbone, "")

    def settings(self) -> dict[str, Any]:
        """All that decides an answer besides arm and record: a results file is of one such set."""
        facts: dict[str, Any] = {
            "protocol": self.protocol.name,
            "max_length": self.max_length if self.protocol.truncates else None,
            "max_tokens": self.max_tokens,
            "embedder": self.embedder_name,
            "alpha": self.budget.alpha,
            "cap": self.budget.cap,
            "model": self.backbone.name,
        }
        return facts | {f"model.{name}": value for name, value in self.identity.as_mapping().items()}

    def limit(self, task: str) -> int:
        return self.max_tokens or self.protocol.limits[task]

    def question_ids(self, record: Record) -> list[int]:
        """Ids behind the last page: the protocol's text in the template's turn, or bare, to be continued.

        A special token spelt out in a record is read as its letters either way.
        """
        text = self.protocol.behind[record.task].format(input=record.input)
        if record.task not in self.protocol.bare:
            return self.backbone.question_ids(text)
        ids: list[int] = self.backbone.tokenizer(text, add_special_tokens=False, split_special_tokens=True)["input_ids"]
        return ids

    def sheets(self, record: Record) -> list[Sheet]:
        """A record's pages, laid out once for the arms that follow each other. Call under `lock`."""
        key = (record.task, record.digest)
        if key not in self._laid:
            most = self.backbone.max_positions // _LEAST_POSITIONS
            self._laid[key] = sheets(record, self._context(record), self.protocol, self.bench.style, most)
            if len(self._laid) > _KEPT:
                self._laid.popitem(last=False)
        return self._laid[key]

    def texts(self, record: Record, chunk: int) -> list[TextPage]:
        """A record's context as runs of `chunk` token ids. Raises ContextTooLong where they pass the model's last position."""
        pages = texts(record, self._context(record), self.backbone.tokenizer, chunk)
        end = len(self.backbone.template.prefix) + sum(len(page.ids) for page in pages)
        if end >= self.backbone.max_positions:
            raise ContextTooLong(
                f"{record.task} {record.id}: the text ends at position {end:,}, the model has {self.backbone.max_positions:,}; "
                "take a smaller max_length"
            )
        return pages

    def _context(self, record: Record) -> str:
        """What arms read of it: all, or what the cut in the middle leaves. Pages of the records world are never cut."""
        if record.task == DRAWN or not self.protocol.truncates or not record.context.strip():
            return record.context
        return context_left(record, self.backbone.tokenizer, self.max_length)

    def images(self, pages: Sequence[Sheet], dpis: Sequence[int]) -> list[PageImage]:
        """Each page at its DPI. Raises ContextTooLong as soon as they pass the model's last position, before any is encoded."""
        position = len(self.backbone.template.prefix)
        made: list[PageImage] = []
        for sheet, dpi in zip(pages, dpis, strict=True):
            image = rasterise(sheet.page, sheet.style, dpi)
            position += (max(image.cells) if self.backbone.axes > 1 else image.tokens) + 2
            if position >= self.backbone.max_positions:
                raise ContextTooLong(
                    f"{len(pages)} pages, page {len(made) + 1} of which ends at position {position:,}: the model has "
                    f"{self.backbone.max_positions:,}; take a lower DPI or a smaller max_length"
                )
            made.append(image)
        return made


class Remembering:
    """An embedder that keeps its passages' vectors: they are made offline, so the clock of an answer must not run over them."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._kept: dict[str, Vectors] = {}

    @property
    def name(self) -> str:
        return self._embedder.name

    @property
    def dimension(self) -> int:
        return self._embedder.dimension

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        import numpy

        new = [text for text in dict.fromkeys(texts) if text not in self._kept]
        if new:
            if len(self._kept) > 20_000:
                self._kept = {text: self._kept[text] for text in texts if text in self._kept}
            self._kept |= dict(zip(new, self._embedder.embed_passages(new), strict=True))
        return numpy.stack([self._kept[text] for text in texts])

    def embed_question(self, text: str) -> Vectors:
        return self._embedder.embed_question(text)
