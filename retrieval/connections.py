"""A catalogue's path goes in; read and write transactions come out, from any thread."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .errors import RetrievalError
from .schema import PATIENCE, connect

# Seconds that emptying the log waits for readers: nobody can write meanwhile, and a check or a backup reads for minutes.
_LOG_PATIENCE = 0.5


class Connections:
    """A pool of connections to one file. A connection serves one transaction at a time, so as many are open as ever ran at once.

    Readers see the last commit as of their first statement and never wait; a writer waits for the writer before it, in this process
    or another.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()
        self._closed = False
        # Whether the log could not be emptied the last time.
        self.log_left = False
        # Opening one now says at once, and not at the first question, that the file is unusable.
        self._idle = [connect(path)]

    @contextmanager
    def read(self) -> Iterator[sqlite3.Connection]:
        """One consistent view over several statements."""
        with self._transaction("BEGIN") as connection:
            yield connection

    @contextmanager
    def write(self) -> Iterator[sqlite3.Connection]:
        """All or nothing: an error inside undoes every statement; on leaving, the commit is on the disk."""
        # IMMEDIATE: a transaction that reads first and writes later could be refused in the middle when another has written meanwhile.
        with self._transaction("BEGIN IMMEDIATE") as connection:
            yield connection

    def empty_log(self) -> bool:
        """Write the log into the file and cut it to nothing: until then it, and the file, still hold what was deleted.

        Readers that are under way are waited for, half a second at most. Where that takes longer, or the disk is full, the log stays as it
        is, and False comes back: what was committed is no less so, and the next call empties it, or the last process that closes the file.
        """
        connection = self._take()
        self.log_left = True
        try:
            connection.execute(f"PRAGMA busy_timeout = {round(1000 * _LOG_PATIENCE)}")
            self.log_left = bool(connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0])
            connection.execute(f"PRAGMA busy_timeout = {round(1000 * PATIENCE)}")
        except sqlite3.Error:
            connection.close()
            return False
        self._give_back(connection)
        return not self.log_left

    def rewrite(self) -> bool:
        """Write the whole file anew (VACUUM): where pages of the file were split or joined, they may hold bytes of rows that are gone, and
        `secure_delete` does not reach those. False where another writer, or a full disk, is in the way. Writers wait meanwhile, readers do not.
        """
        connection = self._take()
        try:
            connection.execute("VACUUM")
        except sqlite3.Error:
            connection.close()
            return False
        self._give_back(connection)
        return True

    def copy_to(self, path: Path) -> None:
        """By SQLite's own backup, within one read transaction: the copy is of one moment, and no writer waits for it."""
        for beside in (path, path.with_name(f"{path.name}-wal"), path.with_name(f"{path.name}-shm")):
            beside.unlink(missing_ok=True)
        with self.read() as connection:
            connection.execute("SELECT count(*) FROM sqlite_master").fetchone()  # the moment is that of the first read
            target = sqlite3.connect(path)
            try:
                connection.backup(target)
            finally:
                target.close()

    def close(self) -> None:
        """Close all connections; those in use are closed when their transaction ends. May be called twice."""
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[sqlite3.Connection]:
        connection = self._take()
        try:
            connection.execute(begin)
            yield connection
            connection.execute("COMMIT")
        except sqlite3.Error as reason:
            # Closing undoes the transaction, and a connection that met a full disk is not used again.
            connection.close()
            raise RetrievalError(f"the catalogue {self.path} failed: {reason}") from reason
        except BaseException:
            connection.close()
            raise
        self._give_back(connection)

    def _take(self) -> sqlite3.Connection:
        with self._lock:
            if self._closed:
                raise RetrievalError(f"the catalogue {self.path} is closed: open it again")
            if self._idle:
                return self._idle.pop()
        return connect(self.path)

    def _give_back(self, connection: sqlite3.Connection) -> None:
        with self._lock:
            if not self._closed:
                self._idle.append(connection)
                return
        connection.close()
