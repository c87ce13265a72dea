"""A model's name and a number of pages go in; a temporary home comes out with a drawn document really taken in, its house open, and questions."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from PIL import Image

from app.house import House
from app.settings import Settings
from app.types import Question
from eval.errors import EvalError
from ingest.home import Home
from ingest.opening import open_workshop
from ingest.pipeline import ingest
from renderer import preset
from renderer.types import PageImage
from retrieval.embedder import load_embedder

from .clock import SettledTurns, settle
from .pages import backbone_for, drawn, full_text

COLLECTION = "bench"
# Memory for all page caches of a run: the disk is measured by taking the memory away.
RAM_BYTES = 1 << 35
# Pages of the collection for each page of a context: retrieval has to choose.
SPARE = 1.5


@dataclass(frozen=True)
class Corpus:
    """An open house over `held` pages of which a question takes `pages`, its questions, and every page image as pixels, by image key."""

    house: House
    model: str
    pages: int
    held: int
    questions: tuple[str, ...]
    images: dict[str, PageImage]
    ingest_seconds: float

    def question(self, number: int, max_tokens: int = 1) -> Question:
        """The questions in turn, each over `pages` pages."""
        return self.house.question(self.questions[number % len(self.questions)], COLLECTION, top_k=self.pages, max_tokens=max_tokens)


def dpis(dpi: str) -> tuple[int, int]:
    """ "72" -> (72, 72): one DPI for all pages. "promote" -> (72, 120): QV-PIC's two. Raises EvalError on another word."""
    if dpi == "promote":
        return 72, 120
    if not (dpi.isdecimal() and 36 <= int(dpi) <= 600):
        raise EvalError(f"--dpi {dpi!r}: a whole number from 36 to 600, or 'promote' for 72 and 120 by relevance")
    return int(dpi), int(dpi)


@contextmanager
def open_corpus(model: str, pages: int, dpi: str, patches: str = "off", seed: int = 1) -> Iterator[Corpus]:
    """Take the document in and open the house; both are gone at the end. `patches` is the policy under which patches are formed.

    Raises EvalError where the document became too few pages, or could not be taken in.
    """
    low, high = dpis(dpi)
    with tempfile.TemporaryDirectory(prefix="quire-bench-") as folder:
        choices: dict[str, Any] = {"home": Path(folder) / "home", "model": model, "low": low, "high": high, "patch_policy": patches}
        settings = Settings(**choices, ram_bytes=RAM_BYTES, top_k=pages, search="dense")
        backbone = backbone_for(model)
        style = preset(backbone.card.style, cell=backbone.cell)
        held = int(pages * SPARE) + 1
        samples = drawn(style, held, seed, each=None)
        contexts = {sample.pages: sample for sample in samples}
        document = Path(folder) / "records.txt"
        texts = [full_text(style, sample, seed + number) for number, sample in enumerate(contexts.values())]
        document.write_text("\n\n".join(texts) + "\n", encoding="utf-8")
        workshop = open_workshop(
            Home(settings.home),
            backbone,
            load_embedder(settings.embedder),
            style=style.name,
            dpis=(low, high) if low != high else (low,),
            batch=settings.batch,
            ram_bytes=settings.ram_bytes,
            limits=settings.limits(),
            policy=settings.policy(),
        )
        house = House(settings, workshop)
        try:
            if backbone.device.type == "cuda":
                house.conversations = SettledTurns(house.conversations, lambda: settle(backbone.device))  # type: ignore[assignment]
            begun = time.perf_counter()
            report = ingest([document], COLLECTION, workshop)
            seconds = time.perf_counter() - begun
            if report.failed:
                raise EvalError(f"the drawn document could not be taken in: {report.failed[0].reason}")
            taken = sum(done.pages for done in report.done)
            if taken < pages:
                raise EvalError(f"--pages {pages}: the drawn document became {taken} pages; ask for fewer")
            images = {key: _image(house, key) for key in list(workshop.store.keys())}
            for key in images:
                workshop.store.get(key)  # into memory
            yield Corpus(house, model, pages, taken, tuple(sample.question for sample in samples), images, seconds)
        finally:
            house.close()


def _image(house: House, key: str) -> PageImage:
    """The kept page image, decoded: a system without page caches would have it in memory."""
    page, _, dpi = key.rpartition("@")
    with Image.open(house.workshop.images.path(key)) as file:
        return PageImage(page, int(dpi), house.workshop.style.cell, file.copy())
