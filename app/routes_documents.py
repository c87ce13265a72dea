"""Files and texts go in by HTTP; documents and receipts come out."""

from __future__ import annotations

import io
from typing import Annotated, Any

from fastapi import APIRouter, Query
from fastapi.concurrency import run_in_threadpool
from starlette.datastructures import FormData, UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser
from starlette.requests import Request

from . import bodies, bodies_documents, paging, wire
from .deps import House, HouseDep, SettingsDep
from .errors import BadRequest, TooManyFiles, known
from .schema import problems
from .words import COLLECTION, collection_name

router = APIRouter(prefix="/documents", tags=["documents"])
Collection = Annotated[str, Query(max_length=64, description="The collection's name.")]
Part = Annotated[str | None, Query(max_length=255, description="Only documents with this in their name, in capitals or not.")]

# The form is read by hand, file by file and counted; so its shape is told by hand as well.
_FORM: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {
            "multipart/form-data": {
                "schema": {
                    "type": "object",
                    "required": ["files"],
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
    responses=problems(409, 415, 507),
)
async def upload(request: Request, house: HouseDep, settings: SettingsDep) -> bodies_documents.Jobs:
    """Keep files and queue them. A file that is refused is a failed job, and the others go on; a single one is the error itself."""
    form = await _form(request, settings.request_files)
    try:
        collection = collection_name(_word(form, "collection", "default"))
        replace = _truth(_word(form, "replace", "false"))
        uploads = [item for item in form.getlist("files") if isinstance(item, UploadFile)]
        if not uploads:
            raise BadRequest("the form has no files: send one or more under the name files", {"files": "missing"})
        return bodies_documents.Jobs(
            jobs=[await run_in_threadpool(_take, house, item, collection, replace, len(uploads) == 1) for item in uploads]
        )
    finally:
        await form.close()


def _take(house: House, item: UploadFile, collection: str, replace: bool, alone: bool) -> bodies_documents.Job:
    try:
        return wire.job(house.jobs.submit(item.filename or "", item.file, collection, replace))
    except Exception as error:
        found = known(error)
        if alone or found is None:
            raise
        return wire.refused(item.filename or "", collection, type(found).__name__, str(found))


async def _form(request: Request, files: int) -> FormData:
    if not request.headers.get("content-type", "").startswith("multipart/form-data"):
        raise BadRequest("send the files as multipart/form-data", {"files": "missing"})
    try:
        return await MultiPartParser(request.headers, request.stream(), max_files=files, max_fields=16).parse()
    except MultiPartException as error:
        if error.message.startswith("Too many files"):
            raise TooManyFiles(f"more than {files} files in one upload, the limit (request_files); send them in several") from error
        raise BadRequest(f"the form cannot be read: {error.message}") from error
    except KeyError as error:
        # The parser takes the boundary for granted.
        raise BadRequest("the form has no boundary in its Content-Type") from error


def _word(form: FormData, name: str, default: str) -> str:
    value = form.get(name, default)
    if not isinstance(value, str):
        raise BadRequest(f"{name} is a word, not a file", {name: "not a file"})
    return value


def _truth(word: str) -> bool:
    if word not in ("true", "false"):
        raise BadRequest(f"replace is true or false, not {word[:20]!a}", {"replace": "true or false"})
    return word == "true"


@router.post(
    "/text",
    status_code=202,
    response_model=bodies_documents.Job,
    operation_id="upload_text",
    responses=problems(409, 507),
)
def text(house: HouseDep, sent: bodies_documents.TextRequest) -> bodies_documents.Job:
    """Keep a text under its title and queue it."""
    return wire.job(house.jobs.submit(_named(sent), io.BytesIO(sent.text.encode()), sent.collection, sent.replace))


def _named(sent: bodies_documents.TextRequest) -> str:
    suffix = ".md" if sent.media == "text/markdown" else ".txt"
    return sent.title if sent.title.endswith(suffix) else sent.title + suffix


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
    pages = {key: catalogue.page(key) for key in {ref.key for chunk in chunks for ref in chunk.pages}}
    return wire.document_pages(catalogue.document(document), chunks, pages)


@router.delete("/{document}", response_model=bodies_documents.RemovalReceipt, operation_id="delete_document", responses=problems(404))
def delete(house: HouseDep, document: str) -> bodies_documents.RemovalReceipt:
    """Remove a document and everything that came of it, in the memory of conversations too; the receipt lists what went."""
    receipt = _remove(house, document)
    house.forget_deleted()
    return receipt


@router.post("/delete", response_model=bodies_documents.Removals, operation_id="delete_documents")
def delete_many(house: HouseDep, sent: bodies_documents.Ids) -> bodies_documents.Removals:
    """Remove documents; one that cannot be removed is told with its reason, and the others go."""
    receipts, failed = [], []
    for document in dict.fromkeys(sent.ids):
        try:
            receipts.append(_remove(house, document))
        except Exception as error:
            found = known(error)
            if found is None:
                raise
            failed.append(bodies_documents.NotRemoved(id=document, error=bodies.Problem(type=type(found).__name__, message=str(found))))
    house.forget_deleted()
    return bodies_documents.Removals(receipts=receipts, failed=failed)


def _remove(house: House, document: str) -> bodies_documents.RemovalReceipt:
    from ingest.remove import remove_document  # brings torch with it

    removal = remove_document(house.workshop, document)
    house.holdings.changed()
    return wire.receipt(removal.receipt, removal.files, removal.bytes)
