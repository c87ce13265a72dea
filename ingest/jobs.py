"""Uploads go in; they come out as jobs that a background thread takes through ingest, one at a time, with progress and real cancel.

An upload is acknowledged when its bytes and its row are on the disk. A process that dies takes up its unfinished jobs
when it starts again.
"""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import BinaryIO

from filelock import BaseFileLock

from retrieval.errors import UnknownCollection, UnknownJob
from retrieval.jobs import DELETED, FINAL, KEEPING
from retrieval.types import JobRow, UploadRow

from .board import Board
from .errors import BadName, QueueFull, TooLarge
from .intake import Intake
from .names import document_name
from .spool import Spool, digest_of_request
from .types import Progress
from .workshop import Workshop

__all__ = ["FINAL", "JobQueue", "Submitted"]


@dataclass(frozen=True)
class Submitted:
    """The jobs of a request; `replayed`: those of an earlier one with the same key and body."""

    jobs: tuple[JobRow, ...]
    replayed: bool = False


class JobQueue:
    """The uploads of one server. One worker: the model is one, and so is the writer. `waiting`: how many jobs may wait."""

    def __init__(self, workshop: Workshop, waiting: int = 1000, heard: Callable[[Progress], None] = lambda _: None) -> None:
        self.workshop, self.waiting = workshop, waiting
        self.spool = Spool(workshop.home.spool)
        self.board = Board(workshop.catalogue)
        self._intake = Intake(workshop, self.board, self.spool, heard)
        self._claim: BaseFileLock | None = None

    # -- a life ------------------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Take up what an earlier process left, then work in the background. Raises HomeBusy when another server works on this home."""
        self._claim = self.workshop.home.claim()
        self.workshop.home.sweep()
        for row in self.workshop.catalogue.jobs(states=("running",)):
            self.board.update(row.id, state="queued", stage="", done=0, total=0)
            self._intake.untidy = True  # what it had compiled may be of a file that fails now
        self.spool.sweep(row.spool for row in self.workshop.catalogue.jobs(states=KEEPING))
        self._intake.start()

    def stop(self, timeout: float = 30.0) -> None:
        """Stop after the current batch; the job in hand is queued again and goes on when the next process starts."""
        self._intake.stop(timeout)
        # A worker that is still at its batch keeps the home to itself: another server would take up the very same job.
        if self._claim is not None and not self._intake.working:
            self._claim.release()

    @property
    def working(self) -> bool:
        """Whether the worker is there: from `start` to `stop`."""
        return self._intake.working

    # -- what a person does ------------------------------------------------------------------------------------------

    def submit(self, name: str, data: BinaryIO, collection: str, replace: bool = False) -> JobRow:
        """Keep an upload and queue it.

        Raises:
            BadName: the name steps out of its folder, or has no letters.
            TooLarge: more bytes than `Limits.file_bytes`; nothing of it is kept.
            QueueFull: as many jobs wait as may wait.
            IdentityMismatch, EmbedderMismatch: the collection was made for another model.
        """
        return self.submit_all([(name, data)], collection, replace).jobs[0]

    def submit_all(self, files: Sequence[tuple[str, BinaryIO]], collection: str, replace: bool = False, key: str = "") -> Submitted:
        """Keep the uploads of one request and queue them, all in one transaction.

        `key`: the client's own name for the request. The same key with the same files within a day gives the jobs of then, and nothing
        is queued. A file that is refused (BadName, TooLarge) is a failed job beside the others; alone, it is the error itself.

        Raises as `submit`, and KeyReused for a key that came with other files.
        """
        # Before anything is kept; made is a collection only behind all refusals.
        with contextlib.suppress(UnknownCollection):
            self.workshop.collection(collection)
        if not key:
            self._require_room(len(files))
        rows: list[JobRow] = []
        said: list[tuple[str, str]] = []
        try:
            for name, data in files:
                rows.append(self._keep(name, data, collection, replace, alone=len(files) == 1))
                said.append((name, str(rows[-1].detail.get("sha256", ""))))
            upload = UploadRow(key, digest_of_request(collection, replace, said), tuple(row.id for row in rows)) if key else None
            if upload is not None and self.workshop.catalogue.upload(key, upload.digest) is None:
                self._require_room(len(files))
            self.workshop.collection(collection, create=True)
            added, replayed = self.workshop.catalogue.add_jobs(rows, upload)
        except BaseException:
            self._drop(rows)
            raise
        if replayed:
            self._drop(rows)
            return Submitted(added, True)
        self.board.tell(*(row.id for row in added))
        return Submitted(added)

    def job(self, job_id: str) -> JobRow:
        """Raises UnknownJob."""
        return self.workshop.catalogue.job(job_id)

    def jobs(
        self, collection: str | None = None, states: Iterable[str] | None = None, before: int | None = None, limit: int | None = None
    ) -> list[JobRow]:
        """Newest first, as `Catalogue.jobs` has them."""
        return self.workshop.catalogue.jobs(collection, states, before, limit)

    def cancel(self, job_id: str) -> JobRow:
        """Cancel a job: at once when it waits, within a batch when it runs. A failed one gives up its upload; others stay as they are."""
        with self.board.lock:
            row = self.job(job_id)
            if row.state in ("queued", "failed"):
                row = self.board.update(job_id, state="cancelled")
                self.spool.drop(row.spool)
            elif row.state == "running":
                self._intake.cancel(job_id)
            return row

    def retry(self, job_id: str) -> JobRow:
        """Queue a failed job again, from the upload that is still kept. Raises UnknownJob when it is not there any more, and QueueFull."""
        with self.board.lock:
            row = self.job(job_id)
            if row.state != "failed":
                return row
            if not self.spool.has(row.spool):
                raise UnknownJob(f"{row.name}: the upload is no longer kept; upload the file again")
            self._require_room(1)
            detail = {name: value for name, value in row.detail.items() if name in ("replace", "sha256", "members", DELETED)}
            return self.board.update(job_id, state="queued", stage="", done=0, total=0, error="", detail=detail)

    def wait_change(self, job_id: str, seen: JobRow | None, timeout: float) -> JobRow:
        """As `Board.wait_change`."""
        return self.board.wait_change(job_id, seen, timeout)

    @property
    def mark(self) -> int:
        """Where `changes` goes on from now."""
        return self.board.mark

    def changes(self, mark: int, timeout: float, collection: str | None = None) -> tuple[int, tuple[JobRow, ...]]:
        """As `Board.changes`."""
        return self.board.changes(mark, timeout, collection)

    # -- keeping -----------------------------------------------------------------------------------------------------

    def _keep(self, raw: str, data: BinaryIO, collection: str, replace: bool, alone: bool) -> JobRow:
        try:
            name = document_name(raw)
            kept = self.spool.keep(name, data, self.workshop.limits.file_bytes)
        except (BadName, TooLarge) as error:
            if alone:
                raise
            shown = raw if isinstance(error, TooLarge) else ascii(raw[:60])[1:-1]
            detail = {"replace": replace, "type": type(error).__name__}
            return JobRow(uuid.uuid4().hex, collection, shown, "", "failed", error=str(error), detail=detail)
        return JobRow(kept.job, collection, name, kept.file, detail={"replace": replace, "sha256": kept.sha256})

    def _require_room(self, more: int) -> None:
        waiting = self.workshop.catalogue.job_counts()["queued"]
        if waiting + more > self.waiting:
            raise QueueFull(
                f"{waiting:,} uploads wait already and {more:,} would come, the limit is {self.waiting:,} (upload_queue); try later"
            )

    def _drop(self, rows: Iterable[JobRow]) -> None:
        for row in rows:
            self.spool.drop(row.spool)
