"""What the pages of an answer need of the house, as a protocol: the house holds conversations, and they need not know it for that."""

from __future__ import annotations

from typing import Protocol

from cache_compiler.backbone import Backbone
from cache_compiler.prefix import Prefix
from cache_compiler.store import CacheStore
from ingest.keeper import Keeper
from ingest.workshop import Workshop
from retrieval.catalogue import Catalogue

from .settings import Settings


class Stock(Protocol):
    """`House` is one; a test may bring another."""

    settings: Settings
    workshop: Workshop
    keeper: Keeper

    @property
    def backbone(self) -> Backbone: ...

    @property
    def store(self) -> CacheStore: ...

    @property
    def catalogue(self) -> Catalogue: ...

    @property
    def prefix(self) -> Prefix: ...
