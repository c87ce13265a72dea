"""Fixtures of the retrieval tests: an empty catalogue, a maker of whole documents, and the real MiniLM, loaded once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from retrieval.catalogue import Catalogue
from retrieval.types import Chunk, CollectionRow, DocumentRow, PageRef, PageRow, Receipt
from retrieval.vectors import Vectors

if TYPE_CHECKING:
    from retrieval.minilm import MiniLM

ROWS = {72: 50, 120: 130}


@dataclass(frozen=True)
class Whole:
    """A document with everything that is stored with it."""

    row: DocumentRow
    chunks: tuple[Chunk, ...]
    vectors: Vectors
    pages: tuple[PageRow, ...]

    def add_to(self, catalogue: Catalogue, replaces: str | None = None) -> Receipt | None:
        return catalogue.add_document(self.row, self.chunks, self.vectors, self.pages, replaces)


def make_whole(
    number: int,
    pages: Sequence[str] = ("p",),
    *,
    collection: str = "default",
    name: str | None = None,
    texts: Sequence[str] | None = None,
    vectors: Vectors | None = None,
    dimension: int = 8,
) -> Whole:
    """Document `number`: a chunk for each page key, with vectors drawn from the number."""
    title = name or f"file-{number}.txt"
    document = f"d{number}"
    row = DocumentRow(document, collection, title, f"/in/{title}", f"{number:064x}", 10 * number, "text/plain", 99, notes=("one note",))
    chunks = tuple(
        Chunk(
            id=number * 1000 + ordinal,
            document=document,
            ordinal=ordinal,
            text=texts[ordinal] if texts else f"text {ordinal} of {number}",
            start=ordinal * 10,
            end=ordinal * 10 + 9,
            heading="Ünïcode 標題",
            source_page=None if ordinal else 3,
            pages=(PageRef(key, ROWS),),
        )
        for ordinal, key in enumerate(pages)
    )
    if vectors is None:
        drawn = np.random.default_rng(number).normal(size=(len(chunks), dimension))
        vectors = (drawn / np.linalg.norm(drawn, axis=1, keepdims=True)).astype(np.float32)
    rows = tuple(PageRow(key, 200.0, 100.5, (("a line", 1.0, 2.0, 3.0, 4.5),), ROWS) for key in dict.fromkeys(pages))
    return Whole(row, chunks, vectors, rows)


@pytest.fixture
def whole() -> Callable[..., Whole]:
    return make_whole


@pytest.fixture
def catalogue(tmp_path: Path) -> Iterator[Catalogue]:
    """An open catalogue with the empty collection `default` of 8 numbers a vector."""
    opened = Catalogue(tmp_path / "catalogue.sqlite")
    opened.create_collection(CollectionRow("default", {"model": "m"}, "drawn", 8))
    yield opened
    opened.close()


@pytest.fixture(scope="session")
def minilm() -> MiniLM:
    # Imported here: it brings torch, which the processes that only need `make_whole` can do without.
    from retrieval.minilm import MiniLM, packaged_folder

    return MiniLM(packaged_folder())
