"""Jobs come out by HTTP, once or at every change; and are cancelled and tried again."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Annotated, Any

from fastapi import APIRouter, Query
from starlette.requests import Request
from starlette.responses import Response

from retrieval.types import JobRow, JobState

from . import bodies_documents, paging, wire
from .deps import House, HouseDep, PorchDep
from .schema import EVENTS, problems
from .stream import BEAT, Walk, stream

router = APIRouter(prefix="/jobs", tags=["jobs"])
Collection = Annotated[str | None, Query(max_length=64, description="Only jobs of this collection.")]
State = Annotated[JobState | None, Query(description="Only jobs in this state.")]
_STREAM: dict[int | str, dict[str, Any]] = {
    200: {"content": {"text/event-stream": EVENTS}, "description": "Events `job`; comments are heartbeats."}
}
# Seconds that a look may wait for a change: a watcher whose client has gone must not stay for long.
LOOK = BEAT / 10
# Changes that wait for a client that does not read: it hears the later ones as they stand when it does.
AHEAD = 64


@router.get("", response_model=bodies_documents.JobList, operation_id="list_jobs")
def jobs(
    house: HouseDep,
    collection: Collection = None,
    state: State = None,
    limit: paging.Limit = paging.DEFAULT,
    after: paging.After = None,
) -> bodies_documents.JobList:
    """Jobs, newest first."""
    rows = house.jobs.jobs(collection, None if state is None else (state,), paging.place(after, int), limit + 1)
    rows, following = paging.part(rows, limit, lambda row: row.number)
    return bodies_documents.JobList(jobs=[wire.job(row) for row in rows], next=following)


@router.get("/events", response_class=Response, operation_id="watch_jobs", responses=_STREAM)
async def events(request: Request, house: HouseDep, collection: Collection = None) -> Response:
    """Server-sent events `job`: one for every job that has not ended, then one at every change of any. It never ends by itself."""
    walk = Walk(lambda cancel: _changes(house, collection, cancel), AHEAD)
    # Where nothing is under way there may be no first event for hours, and a client should see that it is connected.
    return await stream(request, walk, lambda row: ("job", wire.job(row)), first=0.0)


def _changes(house: House, collection: str | None, cancel: threading.Event) -> Iterator[JobRow]:
    # The mark first: a change behind it is told once more, never missed.
    mark = house.jobs.mark
    yield from reversed(house.jobs.jobs(collection, ("queued", "running")))
    while not cancel.is_set():
        mark, rows = house.jobs.changes(mark, LOOK, collection)
        yield from rows


@router.get("/{job}", response_model=bodies_documents.Job, operation_id="get_job", responses=problems(404))
def job(house: HouseDep, job: str) -> bodies_documents.Job:
    """A job as it stands."""
    return wire.job(house.jobs.job(job))


@router.get("/{job}/events", response_class=Response, operation_id="watch_job", responses={**_STREAM, **problems(404)})
async def job_events(request: Request, house: HouseDep, job: str) -> Response:
    """Server-sent events `job` at every change, until a final state."""
    return await stream(request, Walk(lambda cancel: _way(house, job, cancel), AHEAD), lambda row: ("job", wire.job(row)))


def _way(house: House, job: str, cancel: threading.Event) -> Iterator[JobRow]:
    from ingest.jobs import FINAL  # brings torch with it

    seen = None
    while not cancel.is_set():
        row = house.jobs.wait_change(job, seen, LOOK)
        if row != seen:
            yield row
        if row.state in FINAL:
            return
        seen = row


@router.post("/{job}/cancel", response_model=bodies_documents.Job, operation_id="cancel_job", responses=problems(404))
async def cancel(porch: PorchDep, house: HouseDep, job: str) -> bodies_documents.Job:
    """Cancel: at once when it waits, within a batch when it runs. A failed job gives up the upload that was kept for another try."""
    return wire.job(await porch.change(house.jobs.cancel, job))


@router.post("/{job}/retry", response_model=bodies_documents.Job, operation_id="retry_job", responses=problems(404))
async def retry(porch: PorchDep, house: HouseDep, job: str) -> bodies_documents.Job:
    """Queue a failed job again, from the upload that is still kept."""
    return wire.job(await porch.change(house.jobs.retry, job))
