"""The path of a catalogue goes in; a connection to it comes out, with its tables in place and its format checked."""

from __future__ import annotations

import sqlite3
import time
from pathlib import Path

from .errors import CatalogueTooNew, RetrievalError
from .tables import APPLICATION, CHANGES, FORMAT, TABLES
from .words import spaced

# Seconds that a writer waits for another process's transaction.
PATIENCE = 30.0


def connect(path: Path) -> sqlite3.Connection:
    """Open the catalogue at `path`, or make it.

    The connection is in autocommit: transactions are begun and ended in words. A file of an earlier format is brought up to this one.
    Raises CatalogueTooNew for a newer format and RetrievalError for a file that is no catalogue; neither file is touched.
    """
    try:
        connection = sqlite3.connect(path, timeout=PATIENCE, isolation_level=None, check_same_thread=False)
    except sqlite3.Error as reason:
        raise RetrievalError(f"the catalogue {path} does not open: {reason}; its folder must be there and be writable") from reason
    try:
        _check(connection, path)
        _write_ahead(connection)
        # FULL: a commit is on the disk before it is acknowledged. NORMAL would lose the last ones with the power.
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA foreign_keys = ON")
        # What is deleted is written over. Some builds of SQLite do so by default, others leave it in the file's free pages.
        connection.execute("PRAGMA secure_delete = ON")
        if _format(connection) < FORMAT:
            _bring_up(connection)
    except sqlite3.Error as reason:
        connection.close()
        raise RetrievalError(f"the catalogue {path} does not open: {reason}{_cure(reason)}") from reason
    except BaseException:
        connection.close()
        raise
    return connection


def _cure(reason: sqlite3.Error) -> str:
    """What to do, where SQLite's words leave that open."""
    code = getattr(reason, "sqlite_errorcode", 0) & 0xFF
    if code in (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT):
        return "; put a copy of it back, or move the whole home away and ingest the files again"
    if code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM):
        return "; it and its folder must be writable"
    if "fts5" in str(reason):
        return "; use a Python whose SQLite has full-text search (FTS5), as those of python.org, Debian and conda have"
    return ""


def _bring_up(connection: sqlite3.Connection) -> None:
    connection.execute("BEGIN IMMEDIATE")
    # Another process may have made the tables while this one waited for its turn.
    found = _format(connection)
    if found == 0:
        for statement in TABLES.split(";")[:-1]:
            connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {APPLICATION}")
    connection.create_function("spaced", 1, spaced, deterministic=True)
    for older in range(found or FORMAT, FORMAT):
        for statement in CHANGES[older]:
            connection.execute(statement)
    if found < FORMAT:
        connection.execute(f"PRAGMA user_version = {FORMAT}")
    connection.execute("COMMIT")


def _format(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def _check(connection: sqlite3.Connection, path: Path) -> None:
    found = _format(connection)
    application = int(connection.execute("PRAGMA application_id").fetchone()[0])
    tables = int(connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0])
    if application != APPLICATION and (tables or found):
        raise RetrievalError(f"{path} is an SQLite file of another program: give the catalogue a file of its own")
    if found > FORMAT:
        raise CatalogueTooNew(f"{path} has the format {found}, this version reads up to {FORMAT}: use a newer version of Quire")


def _write_ahead(connection: sqlite3.Connection) -> None:
    """Switch to WAL: readers go on while one writes. Two processes that switch at once are told "locked" without any waiting."""
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as reason:
            if reason.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
            time.sleep(0.01)
