"""A home, a loaded model and an embedder go in; a `Workshop` comes out, with deletions that a crash interrupted finished."""

from __future__ import annotations

from cache_compiler.backbone import Backbone
from cache_compiler.identity import identify
from cache_compiler.store import CacheStore
from renderer import preset
from retrieval.catalogue import Catalogue
from retrieval.embedder import Embedder

from .home import Home
from .images import ImageStore
from .policy import Policy
from .remove import finish_removals
from .types import Limits
from .workshop import Workshop


def open_workshop(
    home: Home,
    backbone: Backbone,
    embedder: Embedder,
    style: str | None = None,
    dpis: tuple[int, ...] = (72, 120),
    batch: int = 8,
    ram_bytes: int = 0,
    limits: Limits | None = None,
    policy: Policy | None = None,
    pdf_engine: str = "pymupdf",
    ocr: str = "auto",
    disk_bytes: int | None = None,
) -> Workshop:
    """Open a home for a loaded model. `style` None: the one that the model's card names. Unfinished deletions are finished.

    Text has one resolution: of a model that reads text alone the highest of `dpis` is taken, at which its pages are drawn for people.
    """
    page_style = preset(style or backbone.card.style, cell=backbone.cell if backbone.reads_images else None)
    identity = identify(backbone, page_style.fingerprint, memo=home.weights_memo)
    workshop = Workshop(
        home=home,
        backbone=backbone,
        style=page_style,
        identity=identity,
        store=CacheStore(home.store_root, identity, ram_bytes),
        images=ImageStore(home.images_root),
        catalogue=Catalogue(home.catalogue_path),
        embedder=embedder,
        dpis=dpis if backbone.reads_images else (max(dpis),),
        batch=batch,
        limits=limits or Limits(),
        policy=policy or Policy(),
        pdf_engine=pdf_engine,
        ocr=ocr,
        disk_bytes=disk_bytes,
    )
    for before in workshop.store.before:
        workshop.catalogue.change_identity(before.as_mapping(), identity.as_mapping())
    finish_removals(workshop)
    return workshop
