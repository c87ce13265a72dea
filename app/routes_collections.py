"""Collections go in and out by HTTP: made, pinned, listed, and removed with everything in them."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path

from retrieval.types import CollectionRow

from . import bodies_documents, paging, wire
from .deps import House, HouseDep, PorchDep
from .schema import problems
from .words import COLLECTION

router = APIRouter(prefix="/collections", tags=["collections"])
Name = Annotated[str, Path(pattern=COLLECTION, max_length=64, description="The collection's name.")]


@router.get("", response_model=bodies_documents.Collections, operation_id="list_collections")
def collections(house: HouseDep, limit: paging.Limit = paging.DEFAULT, after: paging.After = None) -> bodies_documents.Collections:
    """Collections by name, each with its numbers."""
    rows, following = paging.part(house.catalogue.collections(paging.place(after, str), limit + 1), limit, lambda row: row.name)
    return bodies_documents.Collections(collections=[_told(house, row) for row in rows], next=following)


@router.get("/{name}", response_model=bodies_documents.Collection, operation_id="get_collection", responses=problems(404))
def collection(house: HouseDep, name: Name) -> bodies_documents.Collection:
    """One collection with its numbers."""
    return _told(house, house.catalogue.collection(name))


@router.put("/{name}", response_model=bodies_documents.Collection, operation_id="put_collection", responses=problems(409))
async def put(
    porch: PorchDep, house: HouseDep, name: Name, wish: bodies_documents.CollectionWish | None = None
) -> bodies_documents.Collection:
    """Make a collection for the loaded model, if it is not there; and say whether it is pinned: then its caches stay when others must go."""
    return await porch.change(_put, house, name, wish)


def _put(house: House, name: str, wish: bodies_documents.CollectionWish | None) -> bodies_documents.Collection:
    row = house.workshop.collection(name, create=True)
    if wish is not None and wish.pinned is not None:
        row = house.catalogue.pin(name, wish.pinned)
    return _told(house, row)


@router.delete("/{name}", response_model=bodies_documents.CollectionRemoval, operation_id="delete_collection", responses=problems(404))
async def delete(porch: PorchDep, house: HouseDep, name: Name) -> bodies_documents.CollectionRemoval:
    """Remove a collection with all its documents and everything that came of them; a receipt for each."""
    return await porch.change(_delete, house, name)


def _delete(house: House, name: str) -> bodies_documents.CollectionRemoval:
    from ingest.remove import remove_collection  # brings torch with it

    removals = remove_collection(house.workshop, name)
    house.forget_deleted()
    house.holdings.changed()
    documents = [wire.receipt(removal.receipt, removal.files, removal.bytes, removal.artefacts, removal.left) for removal in removals]
    return bodies_documents.CollectionRemoval(collection=name, documents=documents, bytes=sum(one.bytes for one in documents))


def _told(house: House, row: CollectionRow) -> bodies_documents.Collection:
    counts = house.catalogue.counts(row.name)
    return wire.collection(row, counts.documents, counts.pages, house.holdings.collection(row.name))
