"""Files go in by HTTP; jobs, collections, documents and receipts come out."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

from fastapi import APIRouter
from fastapi.concurrency import run_in_threadpool
from starlette.datastructures import FormData, UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser
from starlette.requests import Request
from starlette.responses import Response

from retrieval.types import JobRow

from . import bodies, wire
from .deps import House, HouseDep, SettingsDep
from .errors import BadRequest, TooManyFiles, known
from .stream import BEAT, Walk, stream
from .words import COLLECTION, collection_name

router = APIRouter(tags=["documents"])

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
                        "files": {"type": "array", "items": {"type": "string", "format": "binary"}},
                        "collection": {"type": "string", "default": "default", "pattern": COLLECTION},
                        "replace": {"type": "string", "enum": ["true", "false"], "default": "false"},
                    },
                }
            }
        },
    }
}


@router.post("/documents", status_code=202, response_model=bodies.Jobs, openapi_extra=_FORM)
async def upload(request: Request, house: HouseDep, settings: SettingsDep) -> bodies.Jobs:
    """Keep files and queue them. A file that is refused is a failed job, and the others go on; a single one is the error itself."""
    form = await _form(request, settings.request_files)
    try:
        collection = collection_name(_word(form, "collection", "default"))
        replace = _truth(_word(form, "replace", "false"))
        uploads = [item for item in form.getlist("files") if isinstance(item, UploadFile)]
        if not uploads:
            raise BadRequest("the form has no files: send one or more under the name files", {"files": "missing"})
        return bodies.Jobs(jobs=[await run_in_threadpool(_take, house, item, collection, replace, len(uploads) == 1) for item in uploads])
    finally:
        await form.close()


def _take(house: House, item: UploadFile, collection: str, replace: bool, alone: bool) -> bodies.Job:
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


# -- jobs --------------------------------------------------------------------------------------------------------------------


@router.get("/jobs", response_model=bodies.Jobs)
def jobs(house: HouseDep, collection: str | None = None) -> bodies.Jobs:
    """Jobs, newest first."""
    return bodies.Jobs(jobs=[wire.job(row) for row in house.jobs.jobs(collection)])


@router.get("/jobs/{job}", response_model=bodies.Job)
def job(house: HouseDep, job: str) -> bodies.Job:
    return wire.job(house.jobs.job(job))


@router.get("/jobs/{job}/events", response_class=Response, responses={200: {"content": {"text/event-stream": {}}}})
async def job_events(request: Request, house: HouseDep, job: str) -> Response:
    """Server-sent events `job` at every change, until a final state."""

    from ingest.jobs import FINAL  # brings torch with it

    def changes(cancel: threading.Event) -> Iterator[JobRow]:
        seen = None
        while not cancel.is_set():
            # A short wait: a watcher whose client has gone must not sit here for long.
            row = house.jobs.wait_change(job, seen, BEAT / 10)
            if row != seen:
                yield row
            if row.state in FINAL:
                return
            seen = row

    return await stream(request, Walk(changes), lambda row: ("job", wire.job(row)))


@router.post("/jobs/{job}/cancel", response_model=bodies.Job)
def cancel(house: HouseDep, job: str) -> bodies.Job:
    """Cancel: at once when it waits, within a batch when it runs. A failed job gives up the upload that was kept for another try."""
    return wire.job(house.jobs.cancel(job))


@router.post("/jobs/{job}/retry", response_model=bodies.Job)
def retry(house: HouseDep, job: str) -> bodies.Job:
    """Queue a failed job again, from the upload that is still kept."""
    return wire.job(house.jobs.retry(job))


# -- collections and documents -----------------------------------------------------------------------------------------------


@router.get("/collections", response_model=bodies.Collections)
def collections(house: HouseDep) -> bodies.Collections:
    catalogue = house.catalogue
    return bodies.Collections(
        collections=[
            wire.collection(row, len(catalogue.documents(row.name)), len(catalogue.page_keys(row.name))) for row in catalogue.collections()
        ]
    )


@router.get("/documents", response_model=bodies.Documents)
def documents(house: HouseDep, collection: str = "default") -> bodies.Documents:
    return bodies.Documents(documents=[wire.document(row) for row in house.catalogue.documents(collection)])


@router.get("/documents/{document}", response_model=bodies.DocumentPages)
def document(house: HouseDep, document: str) -> bodies.DocumentPages:
    """A document with its pages in reading order."""
    catalogue = house.catalogue
    chunks = catalogue.chunks_of(document)
    pages = {key: catalogue.page(key) for key in {ref.key for chunk in chunks for ref in chunk.pages}}
    return wire.document_pages(catalogue.document(document), chunks, pages)


@router.delete("/documents/{document}", response_model=bodies.RemovalReceipt)
def delete(house: HouseDep, document: str) -> bodies.RemovalReceipt:
    """Remove a document and everything that came of it, in the memory of conversations too; the receipt lists what went."""
    from ingest.remove import remove_document

    removal = remove_document(house.workshop, document)
    house.forget_deleted()
    return wire.receipt(removal.receipt, removal.files, removal.bytes)
