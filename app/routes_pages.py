"""Pages come out by HTTP: their images as the model reads them, their lines, and the patches that they are placed with."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from fastapi import APIRouter, Header, Query
from starlette.responses import Response

from retrieval.errors import UnknownPage

from . import bodies_documents, paging, wire
from .deps import House, HouseDep, SettingsDep
from .schema import problems

router = APIRouter(tags=["pages"])


@router.get(
    "/pages/{key}.png",
    response_class=Response,
    operation_id="get_page_image",
    responses={
        200: {"content": {"image/png": {"schema": {"type": "string", "format": "binary"}}}},
        304: {"description": "The client has it."},
        **problems(404),
    },
)
def image(
    house: HouseDep,
    settings: SettingsDep,
    key: str,
    dpi: Annotated[int | None, Query(description="Left out: the higher of the two.")] = None,
    if_none_match: Annotated[str, Header()] = "",
) -> Response:
    """The very image that the model reads."""
    wanted = settings.high if dpi is None else dpi
    if wanted not in house.workshop.dpis:
        raise UnknownPage(f"pages are kept at {' and '.join(map(str, house.workshop.dpis))} DPI, not at {wanted}")
    house.catalogue.page(key)
    path = house.workshop.images.path(f"{key}@{wanted}")
    # The key is a hash of what is on the page, so an image under it never changes; but it goes with its document, and a browser that kept
    # it without asking would show it for a year after. Private: it is somebody's.
    headers = {"ETag": f'"{key}@{wanted}"', "Cache-Control": "private, no-cache"}
    if headers["ETag"] in if_none_match:
        return Response(status_code=304, headers=headers)
    try:
        return Response(path.read_bytes(), media_type="image/png", headers=headers)
    except FileNotFoundError:
        raise UnknownPage(f"{key} at {wanted} DPI: the image is missing from the home; `quire repair` draws it again") from None


@router.get("/pages/{key}", response_model=bodies_documents.Page, operation_id="get_page", responses=problems(404))
def page(house: HouseDep, key: str) -> bodies_documents.Page:
    """A page's lines with their boxes in points, and the documents it stands in."""
    row = house.catalogue.page(key)
    owners = house.catalogue.chunks(house.catalogue.chunk_ids_of_page(key))
    return wire.page(row, sorted({chunk.document for chunk in owners}))


@router.get("/patches", response_model=bodies_documents.Patches, operation_id="list_patches", responses=problems(404, 409))
def patches(
    house: HouseDep,
    collection: Annotated[str, Query(max_length=64)] = "default",
    limit: paging.Limit = paging.DEFAULT,
    after: paging.After = None,
) -> bodies_documents.Patches:
    """The patches of a collection's pages, by page."""
    house.workshop.collection(collection)
    found = _patches(house, collection, paging.place(after, str) or "")
    rows: list[tuple[str, bodies_documents.PatchRow]] = []
    for row in found:
        rows.append(row)
        if len(rows) > limit:
            break
    shown, following = paging.part(rows, limit, lambda row: row[0])
    return bodies_documents.Patches(patches=[row for _, row in shown], next=following)


def _patches(house: House, collection: str, after: str) -> Iterator[tuple[str, bodies_documents.PatchRow]]:
    """(place, row) of each patch behind `after`, by place: its page image and its digest."""
    files, page = house.store.patches.files, after.partition("@")[0]
    for key in sorted(key for key in house.catalogue.page_keys(collection) if key >= page):
        # As words: a place is compared as one, and "120" comes before "72".
        for image_key in sorted(f"{key}@{dpi}" for dpi in house.workshop.dpis):
            for patch in sorted(files.listing(image_key).keys, key=lambda patch: patch.digest):
                where = f"{image_key}/{patch.digest}"
                if where > after:
                    try:
                        size = files.path(image_key, patch.digest).stat().st_size
                    except FileNotFoundError:
                        continue  # removed since it was listed
                    yield where, wire.patch(patch, house.backbone.layers, size)
