"""One small corpus for all tests of the bench: the reader over two pages at 72 DPI, really taken in."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from eval.bench.corpus import Corpus, open_corpus


@pytest.fixture(scope="session")
def corpus() -> Iterator[Corpus]:
    with open_corpus("reader", 2, "72") as opened:
        yield opened
