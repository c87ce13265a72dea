"""What a deletion, a check or a backup needs of a home: the folder and the catalogue, and no model."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from cache_compiler.store import CacheStore
from retrieval.catalogue import Catalogue
from retrieval.errors import UnknownCollection

from .home import Home


class Shelf(Protocol):
    """A `Workshop` is one. `store` is None where no model is loaded: then no cache is in this process's memory."""

    @property
    def home(self) -> Home: ...

    @property
    def catalogue(self) -> Catalogue: ...

    @property
    def store(self) -> CacheStore | None: ...


@dataclass(frozen=True)
class BareShelf:
    """A home without a model."""

    home: Home
    catalogue: Catalogue
    store: None = None


@contextmanager
def open_shelf(root: Path) -> Iterator[BareShelf]:
    """The home at `root`, which must be there: a mistyped path must not become a new home. Raises UnknownCollection, and CatalogueTooNew."""
    root = Path(root).expanduser()
    if not (root / "catalogue.sqlite").exists():
        raise UnknownCollection(f"{root}: there is no collection yet; `quire ingest PATH` makes one")
    catalogue = Catalogue(root / "catalogue.sqlite")
    try:
        yield BareShelf(Home(root), catalogue)
    finally:
        catalogue.close()
