"""The `Workshop`: everything that the offline walk works with; it opens a collection only if that belongs to what is loaded."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from functools import cached_property

from cache_compiler.backbone import Backbone
from cache_compiler.identity import Identity
from cache_compiler.prefix import Prefix, compile_prefix, condition_ids
from cache_compiler.store import CacheStore
from renderer.types import PageStyle
from retrieval.catalogue import Catalogue, require_embedder
from retrieval.embedder import Embedder
from retrieval.errors import UnknownCollection
from retrieval.types import CollectionRow

from .home import Home
from .images import ImageStore
from .policy import Policy
from .types import Evicted, Limits


@dataclass
class Workshop:
    """One model, one page style, one embedder, over one home. `dpis` are the two resolutions of QV-PIC (72 and 120), or of text the one
    that its pages are drawn at."""

    home: Home
    backbone: Backbone
    style: PageStyle
    identity: Identity
    store: CacheStore
    images: ImageStore
    catalogue: Catalogue
    embedder: Embedder
    dpis: tuple[int, ...] = (72, 120)
    # Page images in one forward of the model.
    batch: int = 8
    limits: Limits = field(default_factory=Limits)
    # Which patches are formed, and when.
    policy: Policy = field(default_factory=Policy)
    # What reads PDFs and draws their scans: "pymupdf" or "pypdfium2".
    pdf_engine: str = "pymupdf"
    # "auto": text is looked for on pictures where an engine is installed; "off": never.
    ocr: str = "auto"
    # What caches, images and patches may take on the disk; None: all of it.
    disk_bytes: int | None = None
    # Image keys that running questions have planned, as the keeper knows them: their caches are not evicted.
    planned: Callable[[], Collection[str]] = frozenset
    # Hears of every eviction, whoever asked for it.
    evicted: Callable[[Evicted], object] = lambda _: None

    @cached_property
    def prefix(self) -> Prefix:
        return compile_prefix(self.backbone, condition_ids(self.backbone, self.identity.condition))

    def collection(self, name: str, create: bool = False) -> CollectionRow:
        """The collection, if it was made for the loaded model, style and embedder. Only reads where it is there: every ask comes by
        here, and none may wait for a document that is being committed.

        Raises:
            UnknownCollection: there is none, and `create` is off.
            IdentityMismatch: made by another model, style, template, ...: the message names the field.
            EmbedderMismatch: indexed by another embedder.
        """
        ours = CollectionRow(name, self.identity.as_mapping(), self.embedder.name, self.embedder.dimension, self.backbone.name)
        try:
            row = self.catalogue.collection(name)
        except UnknownCollection:
            if not create:
                raise
            row = self.catalogue.create_collection(ours)
        self.identity.require_match(Identity.from_mapping(row.identity), f"collection {name!r} (made for --model {row.model_name})")
        require_embedder(row, ours)
        return row

    def close(self) -> None:
        self.catalogue.close()
