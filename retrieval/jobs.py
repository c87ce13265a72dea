"""Upload jobs go in and come out of the catalogue's table; the functions run inside a transaction of their caller."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable
from dataclasses import fields, replace
from typing import Any, get_args

from .errors import RetrievalError, UnknownJob
from .types import JobRow, JobState

COLUMNS = "id, collection, name, spool, state, stage, done, total, document, error, detail"
STATES = get_args(JobState)
CHANGEABLE = frozenset(field.name for field in fields(JobRow)) - {"id"}


def insert(connection: sqlite3.Connection, row: JobRow) -> None:
    """Raises RetrievalError where a job has that id already."""
    _check_state(row)
    if connection.execute("SELECT 1 FROM jobs WHERE id = ?", (row.id,)).fetchone():
        raise RetrievalError(f"job {row.id} exists already: give each upload an id of its own")
    connection.execute(f"INSERT INTO jobs ({COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", _values(row))


def update(connection: sqlite3.Connection, job_id: str, changes: dict[str, Any]) -> JobRow:
    """Set the named fields and return the whole row. Raises UnknownJob, and RetrievalError for a field that a job lacks."""
    unknown = sorted(set(changes) - CHANGEABLE)
    if unknown:
        raise RetrievalError(f"a job's fields {unknown} cannot be set: choose among {sorted(CHANGEABLE)}")
    row = replace(find(connection, job_id), **changes)
    _check_state(row)
    connection.execute(
        "UPDATE jobs SET collection = ?, name = ?, spool = ?, state = ?, stage = ?, done = ?, total = ?, document = ?, error = ?, "
        "detail = ? WHERE id = ?",
        (*_values(row)[1:], job_id),
    )
    return row


def find(connection: sqlite3.Connection, job_id: str) -> JobRow:
    found = connection.execute(f"SELECT {COLUMNS} FROM jobs WHERE id = ?", (job_id,)).fetchone()
    if found is None:
        raise UnknownJob(f"no job {job_id}: it was never queued here")
    return _row(found)


def newest_first(connection: sqlite3.Connection, collection: str | None, states: Iterable[str] | None) -> list[JobRow]:
    """Jobs by falling arrival; None leaves a condition out."""
    wanted = None if states is None else json.dumps(list(states))
    found = connection.execute(
        f"SELECT {COLUMNS} FROM jobs WHERE (?1 IS NULL OR collection = ?1) "
        "AND (?2 IS NULL OR state IN (SELECT value FROM json_each(?2))) ORDER BY number DESC",
        (collection, wanted),
    )
    return [_row(values) for values in found]


def _check_state(row: JobRow) -> None:
    if row.state not in STATES:
        raise RetrievalError(f"job {row.id} cannot be {row.state!r}: its state is one of {', '.join(STATES)}")


def _values(row: JobRow) -> tuple[Any, ...]:
    detail = json.dumps(dict(row.detail), sort_keys=True, ensure_ascii=False)
    return (row.id, row.collection, row.name, row.spool, row.state, row.stage, row.done, row.total, row.document, row.error, detail)


def _row(values: tuple[Any, ...]) -> JobRow:
    return replace(JobRow(*values), detail=json.loads(values[-1]))
