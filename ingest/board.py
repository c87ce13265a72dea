"""A catalogue goes in; its jobs come out as they change, to any thread that waits for them."""

from __future__ import annotations

import threading
from collections import OrderedDict

from retrieval.catalogue import Catalogue
from retrieval.errors import UnknownJob
from retrieval.types import JobRow

# Jobs whose last change is remembered. Who was away for longer hears of these alone.
_KEPT = 4096


class Board:
    """The rows of jobs, and a word to all who wait when this process has changed one. `lock` is held over a look and a change that belong
    together."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue
        self.lock = threading.Condition()
        self.mark = 0
        self._last: OrderedDict[str, int] = OrderedDict()
        self._closed = False

    def job(self, job_id: str) -> JobRow:
        """Raises UnknownJob."""
        return self._catalogue.job(job_id)

    def update(self, job_id: str, **fields: object) -> JobRow:
        """Set fields of a job. Raises UnknownJob."""
        row = self._catalogue.update_job(job_id, **fields)
        self.tell(job_id)
        return row

    def tell(self, *jobs: str) -> None:
        """These have changed."""
        with self.lock:
            for job in jobs:
                self.mark += 1
                self._last[job] = self.mark
                self._last.move_to_end(job)
            while len(self._last) > _KEPT:
                self._last.popitem(last=False)
            self.lock.notify_all()

    def close(self) -> None:
        """Nobody need wait any longer."""
        with self.lock:
            self._closed = True
            self.lock.notify_all()

    def wait_change(self, job_id: str, seen: JobRow | None, timeout: float) -> JobRow:
        """The job's row as soon as it differs from `seen`, or as it is after `timeout` seconds. Raises UnknownJob when it has gone with
        its document."""
        with self.lock:
            self.lock.wait_for(lambda: self.job(job_id) != seen or self._closed, timeout)
            return self.job(job_id)

    def changes(self, mark: int, timeout: float, collection: str | None = None) -> tuple[int, tuple[JobRow, ...]]:
        """The jobs that have changed behind `mark`, as they are now and in the order of their last change, and the mark to go on from;
        none after `timeout` seconds without one. A job that has gone with its document is left out."""
        with self.lock:
            self.lock.wait_for(lambda: self.mark != mark or self._closed, timeout)
            names, after = self._behind(mark), self.mark
        rows = []
        for name in names:
            try:
                rows.append(self.job(name))
            except UnknownJob:
                continue
        return after, tuple(row for row in rows if collection in (None, row.collection))

    def _behind(self, mark: int) -> list[str]:
        found = []
        for name, at in reversed(self._last.items()):
            if at <= mark:
                break
            found.append(name)
        return found[::-1]
