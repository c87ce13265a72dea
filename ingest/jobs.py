"""Uploads go in; they come out as jobs that a background thread takes through ingest, one at a time, with progress and real cancel.

An upload is acknowledged when its bytes and its row are on the disk. A process that dies takes up its unfinished jobs
when it starts again.
"""

from __future__ import annotations

import logging
import os
import threading
import uuid
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import BinaryIO

from filelock import BaseFileLock

from cache_compiler.errors import CacheError
from renderer.errors import RendererError
from retrieval.errors import RetrievalError, UnknownJob
from retrieval.types import JobRow

from .errors import Cancelled, IngestError, TooLarge
from .names import document_name
from .pipeline import failure, finish_run, ingest_file
from .remove import remove_orphans
from .types import Progress
from .workshop import Workshop

FINAL = ("done", "failed", "cancelled")
log = logging.getLogger("quire.ingest")


class JobQueue:
    """The uploads of one server. One worker: the model is one, and so is the writer."""

    def __init__(self, workshop: Workshop, heard: Callable[[Progress], None] = lambda _: None) -> None:
        """`heard` is told of every step, in the worker's thread."""
        self.workshop, self._heard = workshop, heard
        self._changed = threading.Condition()
        self._cancelled: set[str] = set()
        self._stopping = threading.Event()
        self._worker: threading.Thread | None = None
        self._claim: BaseFileLock | None = None

    # -- a life ------------------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Take up what an earlier process left, then work in the background. Raises HomeBusy when another server works on this home."""
        self._claim = self.workshop.home.claim()
        self.workshop.home.sweep()
        for row in self.workshop.catalogue.jobs(states=("running",)):
            self._update(row.id, state="queued", stage="", done=0, total=0)
        self._sweep_spool()
        self._worker = threading.Thread(target=self._work, name="quire-ingest", daemon=True)
        self._worker.start()

    def stop(self, timeout: float = 30.0) -> None:
        """Stop after the current batch; the job in hand is queued again and goes on when the next process starts."""
        self._stopping.set()
        with self._changed:
            self._changed.notify_all()
        if self._worker is not None:
            self._worker.join(timeout)
        if self._claim is not None:
            self._claim.release()

    @property
    def working(self) -> bool:
        """Whether the worker is there: from `start` to `stop`."""
        return self._worker is not None and self._worker.is_alive()

    # -- what a person does ------------------------------------------------------------------------------------------

    def submit(self, name: str, data: BinaryIO, collection: str, replace: bool = False) -> JobRow:
        """Keep an upload and queue it.

        Raises:
            BadName: the name steps out of its folder, or has no letters.
            TooLarge: more bytes than `Limits.file_bytes`; nothing of it is kept.
            IdentityMismatch, EmbedderMismatch: the collection was made for another model.
        """
        name = document_name(name)
        self.workshop.collection(collection, create=True)
        job = uuid.uuid4().hex
        spool = self.workshop.home.spool / f"{job}{_suffix(name)}"
        try:
            _keep(data, spool, name, self.workshop.limits.file_bytes)
        except BaseException:
            spool.unlink(missing_ok=True)
            raise
        row = JobRow(id=job, collection=collection, name=name, spool=spool.name, detail={"replace": replace})
        self.workshop.catalogue.add_job(row)
        with self._changed:
            self._changed.notify_all()
        return row

    def job(self, job_id: str) -> JobRow:
        """Raises UnknownJob."""
        return self.workshop.catalogue.job(job_id)

    def jobs(self, collection: str | None = None) -> list[JobRow]:
        return self.workshop.catalogue.jobs(collection=collection)

    def cancel(self, job_id: str) -> JobRow:
        """Cancel a job: at once when it waits, within a batch when it runs. A failed one gives up its upload; others stay as they are."""
        with self._changed:
            row = self.job(job_id)
            if row.state in ("queued", "failed"):
                row = self._update(job_id, state="cancelled")
                self._drop_spool(row)
            elif row.state == "running":
                self._cancelled.add(job_id)
            return row

    def retry(self, job_id: str) -> JobRow:
        """Queue a failed job again, from the upload that is still kept. Raises UnknownJob when it is not there any more."""
        with self._changed:
            row = self.job(job_id)
            if row.state != "failed":
                return row
            if not (self.workshop.home.spool / row.spool).exists():
                raise UnknownJob(f"{row.name}: the upload is no longer kept; upload the file again")
            return self._update(job_id, state="queued", stage="", done=0, total=0, error="")

    def wait_change(self, job_id: str, seen: JobRow | None, timeout: float) -> JobRow:
        """The job's row as soon as it differs from `seen`, or as it is after `timeout` seconds."""
        with self._changed:
            self._changed.wait_for(lambda: self.job(job_id) != seen or self._stopping.is_set(), timeout)
            return self.job(job_id)

    # -- the worker --------------------------------------------------------------------------------------------------

    def _work(self) -> None:
        while not self._stopping.is_set():
            try:
                waiting = self.workshop.catalogue.jobs(states=("queued",))
                if waiting:
                    self._run(waiting[-1])  # newest first: the last has waited longest
                    continue
            except Exception:
                # The catalogue could not be read or written just now (a full disk, another process's long commit). A worker that
                # ended here would leave every later upload queued for ever.
                log.exception("the queue could not go on; it tries again")
            with self._changed:
                self._changed.wait(1.0)

    def _run(self, row: JobRow) -> None:
        with self._changed:
            if self.job(row.id).state != "queued":
                return  # cancelled between the look and the take
            self._update(row.id, state="running")
        spool = self.workshop.home.spool / row.spool

        def listen(at: Progress) -> None:
            self._heard(at)
            self._update(row.id, stage=at.stage, done=at.done, total=at.total)

        def stop() -> bool:
            return row.id in self._cancelled or self._stopping.is_set()

        try:
            replace = bool(row.detail.get("replace"))
            outcome = ingest_file(spool, row.name, "upload", row.collection, self.workshop, listen, stop, replace)
        except Cancelled:
            if row.id not in self._cancelled:
                self._update(row.id, state="queued", stage="", done=0, total=0)  # the process stops, the job does not
                return
            self._finish(row, state="cancelled")
            remove_orphans(self.workshop)
        except (IngestError, RendererError, CacheError, RetrievalError, OSError) as error:
            told = failure(row.name, error)
            self._update(row.id, state="failed", error=told.reason, detail={**row.detail, "type": told.kind})
            remove_orphans(self.workshop)
        except Exception as error:
            # A defect of ours. The person still gets an end to the job, and the queue goes on.
            log.exception("job %s: an unexpected error", row.id)
            self._update(row.id, state="failed", error=f"{row.name}: an unexpected error ({type(error).__name__}); it was logged")
        else:
            document = self.workshop.catalogue.document_named(row.collection, row.name)
            detail = {**row.detail, **(asdict(outcome) if outcome is not None else {"skipped": True})}
            self._finish(row, state="done", document=document.id if document else "", detail=detail)
            # Behind the job's end: the document is in, and a question would bring the index up to it by itself.
            finish_run(self.workshop, row.collection)
        finally:
            self._cancelled.discard(row.id)

    def _finish(self, row: JobRow, **fields: object) -> None:
        # In this order: a process that dies in between leaves a file to sweep, not an unfinished job whose upload is gone.
        with self._changed:
            self._update(row.id, **fields)
            self._drop_spool(row)

    def _update(self, job_id: str, **fields: object) -> JobRow:
        row = self.workshop.catalogue.update_job(job_id, **fields)
        with self._changed:
            self._changed.notify_all()
        return row

    def _sweep_spool(self) -> None:
        """Remove uploads that no job waits for: a process died before it had acknowledged them, or behind a job's end."""
        wanted = {row.spool for row in self.workshop.catalogue.jobs(states=("queued", "running", "failed"))}
        for path in self.workshop.home.spool.iterdir():
            if path.name not in wanted:
                path.unlink(missing_ok=True)

    def _drop_spool(self, row: JobRow) -> None:
        (self.workshop.home.spool / row.spool).unlink(missing_ok=True)


def _suffix(name: str) -> str:
    """The kind of file, for the parser's choice: letters and digits only, so that nothing else of a name reaches the disk."""
    suffix = Path(name).suffix.lower()
    return suffix if suffix[1:].isalnum() and len(suffix) <= 10 and suffix.isascii() else ""


def _keep(data: BinaryIO, spool: Path, name: str, limit: int) -> None:
    size = 0
    with spool.open("wb") as stream:
        while block := data.read(1 << 20):
            size += len(block)
            if size > limit:
                raise TooLarge(f"{name}: more than {limit:,} bytes, the limit (file_bytes); split the file or raise the limit")
            stream.write(block)
        stream.flush()
        os.fsync(stream.fileno())
