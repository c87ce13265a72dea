"""Jobs go in, the longest waiting first; they come out done, failed or cancelled: the one thread that takes uploads through ingest."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

from retrieval.errors import UnknownJob
from retrieval.jobs import DELETED
from retrieval.types import JobRow

from .batch import Outcome, take_in
from .board import Board
from .errors import Cancelled
from .pipeline import FAILURES, Listener, failure, finish_run
from .remove import remove_orphans
from .spool import Spool
from .types import Progress
from .workshop import Workshop

# Seconds between two notes of progress within a stage: each one is a commit.
_PACE = 0.2
log = logging.getLogger("quire.ingest")


class Intake:
    """One worker: the model is one, and so is the writer."""

    def __init__(self, workshop: Workshop, board: Board, spool: Spool, heard: Listener = lambda _: None) -> None:
        """`heard` is told of every step, in the worker's thread."""
        self.workshop, self.board, self.spool, self._heard = workshop, board, spool, heard
        # Whether a job has left pages that no document owns.
        self.untidy = False
        self._cancelled: set[str] = set()
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        self._thread = threading.Thread(target=self._work, name="quire-ingest", daemon=True)
        self._thread.start()

    def stop(self, timeout: float) -> None:
        """Stop after the current batch; the job in hand is queued again."""
        self._stopping.set()
        self.board.close()
        if self._thread is not None:
            self._thread.join(timeout)

    @property
    def working(self) -> bool:
        """Whether the worker is there: from `start` to `stop`."""
        return self._thread is not None and self._thread.is_alive()

    def cancel(self, job_id: str) -> None:
        """Stop the job that runs, within a batch. Call it under the board's lock, having seen the job run."""
        self._cancelled.add(job_id)

    # -- one after another -------------------------------------------------------------------------------------------

    def _work(self) -> None:
        while not self._stopping.is_set():
            try:
                waiting = self.workshop.catalogue.oldest_waiting()
                if waiting is not None:
                    self._run(waiting)
                    continue
                if self.untidy:
                    # Once, when all is through: to look at every file behind each job that failed would take longer than the jobs.
                    remove_orphans(self.workshop)
                    self.untidy = False
            except Exception:
                # The catalogue could not be read or written just now (a full disk, another process's long commit). A worker that
                # ended here would leave every later upload queued for ever.
                log.exception("the queue could not go on; it tries again")
            with self.board.lock:
                self.board.lock.wait(1.0)

    def _run(self, row: JobRow) -> None:
        try:
            with self.board.lock:
                if self.board.job(row.id).state != "queued":
                    return  # cancelled between the look and the take
                row = self.board.update(row.id, state="running")
            self._take_in(row)
        except UnknownJob:
            # Its collection was deleted meanwhile, and the job with it: nothing of it stays.
            self.untidy = True
            self.spool.drop(row.spool)
        finally:
            self._cancelled.discard(row.id)

    def _take_in(self, row: JobRow) -> None:
        try:
            outcome = take_in(
                self.spool.path(row.spool), row, self.workshop, self._listener(row), lambda: self._stop(row), self._teller(row)
            )
        except Cancelled:
            self.untidy = True
            if row.id in self._cancelled:
                self._finish(row, state="cancelled")
            else:
                # The process stops, the job does not; nor what it has told of an archive's members.
                self.board.update(row.id, state="queued", stage="", done=0, total=0)
        except UnknownJob:
            raise
        except FAILURES as error:
            told = failure(row.name, error)
            self._fail(row, told.reason, told.kind)
        except Exception as error:
            # A defect of ours. The person still gets an end to the job, and the queue goes on.
            log.exception("job %s: an unexpected error", row.id)
            self._fail(row, f"{row.name}: an unexpected error ({type(error).__name__}); it was logged", "InternalError")
        else:
            self._end(row, outcome)

    def _fail(self, row: JobRow, reason: str, kind: str, found: Mapping[str, Any] | None = None) -> None:
        """`found`: facts for its detail. What it has told of an archive's members stays: by that a deletion of one finds the upload."""
        self.untidy = True
        detail = {**self.board.job(row.id).detail, **(found or {}), "type": kind}
        with self.board.lock:
            ended = self.board.update(row.id, state="failed", error=reason, detail=detail)
            if ended.detail.get(DELETED):
                # A document that this archive brought was deleted before it was through: what is kept of it must not outlive it.
                self.spool.drop(row.spool)

    def _end(self, row: JobRow, outcome: Outcome) -> None:
        if outcome.state == "done":
            self._finish(row, state="done", document=outcome.document, detail={**row.detail, **outcome.detail})
        else:
            self._fail(row, outcome.error, "PartlyFailed", outcome.detail)
        # Behind the job's end: the documents are in, and a question would bring the index up to them by itself.
        finish_run(self.workshop, row.collection)

    def _finish(self, row: JobRow, **fields: object) -> None:
        # In this order: a process that dies in between leaves a file to sweep, not an unfinished job whose upload is gone.
        with self.board.lock:
            self.board.update(row.id, **fields)
            self.spool.drop(row.spool)

    def _stop(self, row: JobRow) -> bool:
        """Raises UnknownJob where the job has gone with its collection: what it is making must not bring that back."""
        self.board.job(row.id)
        return row.id in self._cancelled or self._stopping.is_set()

    def _listener(self, row: JobRow) -> Listener:
        seen: tuple[str, str, float] = ("", "", 0.0)

        def listen(at: Progress) -> None:
            nonlocal seen
            self._heard(at)
            now = time.monotonic()
            if (at.name, at.stage) != seen[:2] or at.done == at.total or now - seen[2] >= _PACE:
                seen = (at.name, at.stage, now)
                self.board.update(row.id, stage=at.stage, done=at.done, total=at.total)

        return listen

    def _teller(self, row: JobRow) -> Callable[[list[dict[str, str]]], None]:
        def told(members: list[dict[str, str]]) -> None:
            # `row` is of the job's beginning; that a member was deleted since is kept by the catalogue.
            self.board.update(row.id, detail={**row.detail, "members": members})

        return told
