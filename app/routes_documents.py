"""Files and texts go in by HTTP; documents and receipts come out."""

from __future__ import annotations

import hashlib
import io
import logging
from typing import Annotated, Any, BinaryIO

from fastapi import APIRouter, Header, Query
from starlette.requests import Request
from starlette.responses import Response

from ingest.errors import TooLarge

from . import bodies, bodies_documents, paging, wire
from .deps import House, HouseDep, PorchDep, SettingsDep
from .errors import BadRequest, known
from .form import read_form
from .replies import internal
from .schema import problems
from .words import COLLECTION, collection_name

router = APIRouter(prefix="/documents", tags=["documents"])
log = logging.getLogger("quire.http")
Collection = Annotated[str, Query(max_length=64, description="The collection's name.")]
Part = Annotated[str | None, Query(max_length=255, description="Only documents with this in their name, in capitals or not.")]

Key = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        min_length=1,
        max_length=255,
        pattern=r"^[\x21-\x7e]+$",
        description="A name of your own for this request. Sent again with the same content within a day, it gives the same jobs (200); "
        "with other content it is refused (409).",
    ),
]
_REPLAY = {
    "headers": {"Idempotent-Replay": {"description": "true: nothing was queued anew.", "schema": {"type": "string", "enum": ["true"]}}},
    "description": "The jobs of the earlier request with this Idempotency-Key.",
}

# The form is read by hand, file by file and counted; so its shape is told by hand as well.
_FORM: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {
            "multipart/form-data": {
                "schema": {
                    "type": "object",
                    "required": ["files"],
                    "additionalProperties": False,
                    "properties": {
                        "files": {"type": "array", "minItems": 1, "items": {"type": "string", "format": "binary"}},
                        "collection": {"type": "string", "default": "default", "pattern": COLLECTION, "maxLength": 64},
                        "replace": {"type": "string", "enum": ["true", "false"], "default": "false"},
                    },
                }
            }
        },
    }
}


@router.post(
    "",
    status_code=202,
    response_model=bodies_documents.Jobs,
    operation_id="upload_documents",
    openapi_extra=_FORM,
    responses={200: {"model": bodies_documents.Jobs, **_REPLAY}, **problems(409, 507)},
)
async def upload(
    request: Request, response: Response, porch: PorchDep, house: HouseDep, settings: SettingsDep, key: Key = None
) -> bodies_documents.Jobs:
    """Keep files and queue them. A file that is refused is a failed job, and the others go on; a single one is the error itself.

    A zip makes one job, which tells what became of each file in it.
    """
    form = await read_form(request, house.workshop.home.spool, settings.request_files, settings.file_bytes)
    try:
        collection = collection_name(form.words.get("collection", "default"))
        replace = _truth(form.words.get("replace", "false"))
        submitted = await porch.change(house.jobs.submit_all, form.files, collection, replace, _key(request, key))
    finally:
        form.close()
    if submitted.replayed:
        _replayed(response)
    return bodies_documents.Jobs(jobs=[wire.job(row) for row in submitted.jobs])


@router.post(
    "/text",
    status_code=202,
    response_model=bodies_documents.Job,
    operation_id="upload_text",
    responses={200: {"model": bodies_documents.Job, **_REPLAY}, **problems(409, 507)},
)
async def text(
    request: Request,
    response: Response,
    porch: PorchDep,
    house: HouseDep,
    settings: SettingsDep,
    sent: bodies_documents.TextRequest,
    key: Key = None,
) -> bodies_documents.Job:
    """Keep a text under its title and queue it."""
    if len(sent.text) > settings.text_chars:
        raise TooLarge(f"the text has {len(sent.text):,} characters, the limit is {settings.text_chars:,} (text_chars); split it")
    files: list[tuple[str, BinaryIO]] = [(_titled(sent), io.BytesIO(sent.text.encode()))]
    submitted = await porch.change(house.jobs.submit_all, files, sent.collection, sent.replace, _key(request, key))
    if submitted.replayed:
        _replayed(response)
    return wire.job(submitted.jobs[0])


def _key(request: Request, key: str | None) -> str:
    """Two callers' requests never meet, whatever names they choose; and what they chose is not kept as it came."""
    return hashlib.sha256(f"{getattr(request.state, 'key', '')} {key}".encode()).hexdigest() if key else ""


def _replayed(response: Response) -> None:
    response.status_code = 200
    response.headers["Idempotent-Replay"] = "true"


def _truth(word: str) -> bool:
    if word not in ("true", "false"):
        raise BadRequest(f"replace is true or false, not {word[:20]!a}", {"replace": "true or false"})
    return word == "true"


def _titled(sent: bodies_documents.TextRequest) -> str:
    suffix = ".md" if sent.media == "text/markdown" else ".txt"
    return sent.title if sent.title.lower().endswith(suffix) else sent.title + suffix


@router.get("", response_model=bodies_documents.Documents, operation_id="list_documents", responses=problems(404))
def documents(
    house: HouseDep,
    collection: Collection = "default",
    name: Part = None,
    limit: paging.Limit = paging.DEFAULT,
    after: paging.After = None,
) -> bodies_documents.Documents:
    """A collection's documents by name."""
    rows = house.catalogue.documents(collection, paging.place(after, str), limit + 1, name)
    rows, following = paging.part(rows, limit, lambda row: row.name)
    return bodies_documents.Documents(documents=[wire.document(row) for row in rows], next=following)


@router.get("/{document}", response_model=bodies_documents.DocumentPages, operation_id="get_document", responses=problems(404))
def document(house: HouseDep, document: str) -> bodies_documents.DocumentPages:
    """A document with its pages in reading order."""
    catalogue = house.catalogue
    chunks = catalogue.chunks_of(document)
    pages = {page.key: page for page in catalogue.pages({ref.key for chunk in chunks for ref in chunk.pages})}
    # The document last: where it was deleted meanwhile, it is that which is told.
    return wire.document_pages(catalogue.document(document), chunks, pages)


@router.delete("/{document}", response_model=bodies_documents.RemovalReceipt, operation_id="delete_document", responses=problems(404))
async def delete(porch: PorchDep, house: HouseDep, document: str) -> bodies_documents.RemovalReceipt:
    """Remove a document and everything that came of it, in the memory of conversations too; the receipt lists what went."""
    return await porch.change(_delete, house, document)


def _delete(house: House, document: str) -> bodies_documents.RemovalReceipt:
    receipt = _remove(house, document)
    if (talks := house.forget_deleted()) is not None:
        receipt.artefacts["conversations"] = talks
    return receipt


@router.post("/delete", response_model=bodies_documents.Removals, operation_id="delete_documents")
async def delete_many(request: Request, porch: PorchDep, house: HouseDep, sent: bodies_documents.Ids) -> bodies_documents.Removals:
    """Remove documents; one that cannot be removed is told with its reason, and the others go."""
    return await porch.change(_delete_many, house, sent, getattr(request.state, "request_id", ""))


def _delete_many(house: House, sent: bodies_documents.Ids, number: str) -> bodies_documents.Removals:
    receipts, failed = [], []
    for document in dict.fromkeys(sent.ids):
        try:
            receipts.append(_remove(house, document))
        except Exception as error:
            found = known(error)
            if found is None:
                # Told as one of several: raised, it would take the receipts of what is gone with it.
                log.exception("a document could not be removed")
            told = (type(found).__name__, str(found)) if found else ("InternalError", internal(number))
            failed.append(bodies_documents.NotRemoved(id=document, error=bodies.Problem(type=told[0], message=told[1])))
    house.forget_deleted()
    return bodies_documents.Removals(receipts=receipts, failed=failed)


def _remove(house: House, document: str) -> bodies_documents.RemovalReceipt:
    from ingest.remove import remove_document  # brings torch with it

    removal = remove_document(house.workshop, document)
    house.holdings.changed()
    return wire.receipt(removal.receipt, removal.files, removal.bytes, removal.artefacts, removal.left)
