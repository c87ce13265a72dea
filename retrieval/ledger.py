"""A path goes in; what the catalogue keeps besides content comes out: jobs, requests that may come twice, and when pages were read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from . import jobs, uploads
from .connections import Connections
from .jobs import Forgotten
from .types import JobRow, UploadRow


class Ledger:
    """The catalogue's part that two runs over the same files need not have in common. Each method is one transaction."""

    def __init__(self, path: Path) -> None:
        self._connections = Connections(Path(path))

    @property
    def path(self) -> Path:
        return self._connections.path

    def close(self) -> None:
        self._connections.close()

    def copy_to(self, path: Path) -> None:
        """Write the catalogue, as it is at one moment, to another file, over what is there; readers and writers go on meanwhile."""
        self._connections.copy_to(Path(path))

    # --- jobs -------------------------------------------------------------------------------------------------------------------

    def add_job(self, row: JobRow) -> JobRow:
        """Returns the row as it stands, with its times. Raises RetrievalError where a job has that id already."""
        with self._connections.write() as connection:
            return jobs.insert(connection, row)

    def add_jobs(self, rows: Sequence[JobRow], upload: UploadRow | None = None) -> tuple[tuple[JobRow, ...], bool]:
        """Queue jobs, all or none; and with `upload`, remember for a day that its request was answered with them.

        Returns the jobs, and whether they are those of an earlier request with the same key: then nothing is added. Raises KeyReused
        where that key came with another body.
        """
        with self._connections.write() as connection:
            earlier = uploads.find(connection, upload.key, upload.digest) if upload is not None else None
            if earlier is not None:
                return tuple(jobs.find(connection, job) for job in earlier.jobs), True
            added = tuple(jobs.insert(connection, row) for row in rows)
            if upload is not None:
                uploads.insert(connection, upload)
        return added, False

    def upload(self, key: str, digest: str) -> tuple[JobRow, ...] | None:
        """The jobs that a request with this key was answered with within a day; None where it is new. Raises KeyReused as `add_jobs`."""
        with self._connections.read() as connection:
            found = uploads.find(connection, key, digest)
            return None if found is None else tuple(jobs.find(connection, job) for job in found.jobs)

    def update_job(self, job_id: str, **fields: Any) -> JobRow:
        """Set fields of a job by name and return it. Raises UnknownJob, and RetrievalError for a field or state that there is not."""
        with self._connections.write() as connection:
            return jobs.update(connection, job_id, fields)

    def job(self, job_id: str) -> JobRow:
        """Raises UnknownJob."""
        with self._connections.read() as connection:
            return jobs.find(connection, job_id)

    def jobs(
        self,
        collection: str | None = None,
        states: Iterable[str] | None = None,
        before: int | None = None,
        limit: int | None = None,
    ) -> list[JobRow]:
        """Jobs, newest first; only those of a collection, in one of `states`, that arrived before the job of that `number`, and `limit` of
        them, where given."""
        with self._connections.read() as connection:
            return jobs.newest_first(connection, collection, states, before, limit)

    def oldest_waiting(self) -> JobRow | None:
        """The queued job that has waited longest, or None."""
        with self._connections.read() as connection:
            return jobs.oldest_waiting(connection)

    def job_counts(self, collection: str | None = None) -> dict[str, int]:
        """How many jobs are in each state, of all or of one collection."""
        with self._connections.read() as connection:
            return jobs.by_state(connection, collection)

    def forget_finished(self, before: float) -> Forgotten:
        """Remove the rows of finished jobs that have not changed since that time, and those of requests of more than a day ago."""
        with self._connections.write() as connection:
            gone = jobs.forget_finished(connection, before)
            return replace(gone, uploads=gone.uploads + uploads.expire(connection))

    def expired(self) -> int:
        """How many requests of more than a day ago are still remembered."""
        with self._connections.read() as connection:
            return uploads.expired(connection)

    # --- when pages were read ---------------------------------------------------------------------------------------------------

    def note_uses(self, uses: Mapping[str, float]) -> None:
        """Page-image keys with the time (seconds since 1970) at which each was last read. A batch is one commit: never within an ask."""
        with self._connections.write() as connection:
            uploads.note_uses(connection, uses)

    def uses(self) -> dict[str, float]:
        """When each page image was last read; one that is not there never was."""
        with self._connections.read() as connection:
            return uploads.uses(connection)
