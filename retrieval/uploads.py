"""Requests with a key of the client's own, and when pages were last read: rows that are no content. Functions run inside a transaction of
their caller."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Mapping

from .errors import KeyReused
from .types import UploadRow

# Seconds for which a request is remembered.
REMEMBERED = 24 * 3600.0


def find(connection: sqlite3.Connection, key: str, digest: str) -> UploadRow | None:
    """What the request was answered with, or None where it is new or was too long ago. Raises KeyReused for another body."""
    found = connection.execute("SELECT key, digest, jobs, at FROM uploads WHERE key = ? AND at >= ?", (key, _oldest())).fetchone()
    if found is None:
        return None
    if found[1] != digest:
        raise KeyReused("this Idempotency-Key came within a day with another body: use a new key for a new request")
    return UploadRow(found[0], found[1], tuple(json.loads(found[2])), found[3])


def insert(connection: sqlite3.Connection, row: UploadRow) -> None:
    at = row.at or time.time()
    connection.execute("INSERT OR REPLACE INTO uploads VALUES (?, ?, ?, ?)", (row.key, row.digest, json.dumps(list(row.jobs)), at))


def expire(connection: sqlite3.Connection) -> int:
    """Forget requests of more than a day ago; returns how many."""
    return connection.execute("DELETE FROM uploads WHERE at < ?", (_oldest(),)).rowcount


def expired(connection: sqlite3.Connection) -> int:
    return int(connection.execute("SELECT count(*) FROM uploads WHERE at < ?", (_oldest(),)).fetchone()[0])


def note_uses(connection: sqlite3.Connection, uses: Mapping[str, float]) -> None:
    """Page-image keys with the time each was last read. One whose page is gone is passed over: it would outlive the deletion."""
    connection.executemany(
        "INSERT INTO uses SELECT ?1, ?2 WHERE EXISTS (SELECT 1 FROM pages WHERE key = ?3) "
        "ON CONFLICT (key) DO UPDATE SET used = max(used, excluded.used)",
        [(key, used, key.partition("@")[0]) for key, used in uses.items()],
    )


def uses(connection: sqlite3.Connection) -> dict[str, float]:
    return dict(connection.execute("SELECT key, used FROM uses").fetchall())


def _oldest() -> float:
    return time.time() - REMEMBERED
