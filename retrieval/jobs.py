"""Upload jobs go in and come out of the catalogue's table; the functions run inside a transaction of their caller."""

from __future__ import annotations

import hashlib
import json
import sqlite3
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, get_args

from .errors import RetrievalError, UnknownJob
from .types import DocumentRow, JobRow, JobState

COLUMNS = "id, collection, name, spool, state, stage, done, total, document, error, detail, created, updated, number"
_NAMES = tuple(COLUMNS.split(", "))[:11]
STATES = get_args(JobState)
# Of these nothing more comes.
FINAL = ("done", "failed", "cancelled")
# Of these the upload is kept: it is needed yet, or may be tried again.
KEEPING = ("queued", "running", "failed")
CHANGEABLE = frozenset(field.name for field in fields(JobRow)) - {"id", "created", "updated", "number"}
# In an unfinished archive's detail: marks of the members that were deleted since it was begun. They are not taken in again.
DELETED = "deleted"


@dataclass(frozen=True)
class Forgotten:
    """Rows that a deletion took: ids of jobs, names of uploaded files that they still kept, and how many remembered requests."""

    jobs: tuple[str, ...] = ()
    spools: tuple[str, ...] = ()
    uploads: int = 0


def insert(connection: sqlite3.Connection, row: JobRow) -> JobRow:
    """Returns the row as it stands, with its times. Raises RetrievalError where a job has that id already."""
    _check_state(row)
    if connection.execute("SELECT 1 FROM jobs WHERE id = ?", (row.id,)).fetchone():
        raise RetrievalError(f"job {row.id} exists already: give each upload an id of its own")
    now = time.time()
    row = replace(row, created=row.created or now, updated=row.updated or now)
    added = connection.execute(
        "INSERT INTO jobs (id, collection, name, spool, state, stage, done, total, document, error, detail, created, updated) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (*_values(row), row.created, row.updated),
    )
    return replace(row, number=int(added.lastrowid or 0))


def update(connection: sqlite3.Connection, job_id: str, changes: dict[str, Any]) -> JobRow:
    """Set the named fields and return the whole row. Raises UnknownJob, and RetrievalError for a field that a job lacks.

    What was noted of deleted members stays until the job is through, and no `detail` brings a line of one back: its writer may have it from an
    older row.
    """
    unknown = sorted(set(changes) - CHANGEABLE)
    if unknown:
        raise RetrievalError(f"a job's fields {unknown} cannot be set: choose among {sorted(CHANGEABLE)}")
    before = find(connection, job_id)
    row = replace(before, **changes, updated=time.time())
    _check_state(row)
    row = replace(row, detail=_without_deleted(row.detail, before.detail.get(DELETED, ()), row.state))
    values = dict(zip(_NAMES, _values(row), strict=True))
    # An archive's detail grows with its members, and stages follow each other fast: it is written where it changed alone.
    names = [name for name in _NAMES if name in changes or (name == "detail" and row.detail != before.detail)]
    columns = ", ".join(f"{name} = ?" for name in [*names, "updated"])
    connection.execute(f"UPDATE jobs SET {columns} WHERE id = ?", (*(values[name] for name in names), row.updated, job_id))
    return row


def find(connection: sqlite3.Connection, job_id: str) -> JobRow:
    found = connection.execute(f"SELECT {COLUMNS} FROM jobs WHERE id = ?", (job_id,)).fetchone()
    if found is None:
        raise UnknownJob(f"no job {job_id}: it was never queued here, or went with its document; list the jobs for those there are")
    return _row(found)


def newest_first(
    connection: sqlite3.Connection,
    collection: str | None,
    states: Iterable[str] | None,
    before: int | None = None,
    limit: int | None = None,
) -> list[JobRow]:
    """Jobs by falling arrival; None leaves a condition out. `before`: only those that arrived before the job of that `number`."""
    wanted = None if states is None else json.dumps(list(states))
    found = connection.execute(
        f"SELECT {COLUMNS} FROM jobs WHERE (?1 IS NULL OR collection = ?1) "
        "AND (?2 IS NULL OR state IN (SELECT value FROM json_each(?2))) AND (?3 IS NULL OR number < ?3) ORDER BY number DESC LIMIT ?4",
        (collection, wanted, before, -1 if limit is None else limit),
    )
    return [_row(values) for values in found]


def oldest_waiting(connection: sqlite3.Connection) -> JobRow | None:
    """The queued job that has waited longest, or None."""
    found = connection.execute(f"SELECT {COLUMNS} FROM jobs WHERE state = 'queued' ORDER BY number LIMIT 1").fetchone()
    return None if found is None else _row(found)


def by_state(connection: sqlite3.Connection, collection: str | None = None) -> dict[str, int]:
    """How many jobs are in each state; every state is there."""
    found = connection.execute("SELECT state, count(*) FROM jobs WHERE ?1 IS NULL OR collection = ?1 GROUP BY state", (collection,))
    return dict.fromkeys(STATES, 0) | dict(found.fetchall())


# -- going -------------------------------------------------------------------------------------------------------------


def forget(connection: sqlite3.Connection, row: DocumentRow) -> Forgotten:
    """Remove every finished job that has to do with a document: that brought it in, alone or in an archive; that brought the same bytes
    under its name; and those of before jobs knew their digest. An upload that still waits is none of them: it came after. An archive that was
    begun and is not through is told that this member has gone."""
    _mark(connection, row)
    return _remove(connection, [*_refused(connection, row), *_bringing(connection, row)])


def forget_refused(connection: sqlite3.Connection, row: DocumentRow) -> Forgotten:
    """The same for a document that another one replaces: only jobs that did not go in, for they may still keep its bytes."""
    return _remove(connection, _refused(connection, row))


def forget_collection(
    connection: sqlite3.Connection, name: str, documents: Iterable[DocumentRow]
) -> tuple[dict[str, Forgotten], Forgotten]:
    """Remove every job of a collection, those that wait and the one under way too. Comes back by the id of the document that a job had to do
    with, the first of an archive's, and the rest. Jobs are walked once, however many documents there are."""
    rows = newest_first(connection, name, None)
    dealt = _dealt(rows, {row.id: row for row in documents})
    requests: Counter[str] = Counter()
    for (told,) in connection.execute("SELECT jobs FROM uploads"):
        of = [dealt[job] for job in json.loads(told) if job in dealt]
        requests.update(of[:1])
    _remove(connection, rows)
    shares: dict[str, list[JobRow]] = defaultdict(list)
    for row in rows:
        shares[dealt[row.id]].append(row)
    parts = {
        document: Forgotten(tuple(row.id for row in share), tuple(row.spool for row in share if row.spool), requests[document])
        for document, share in shares.items()
    }
    rest = parts.pop("", Forgotten())
    return parts, replace(rest, uploads=requests[""])


def forget_finished(connection: sqlite3.Connection, before: float) -> Forgotten:
    """Remove finished jobs whose last change was before that time."""
    return _remove(connection, [row for row in newest_first(connection, None, FINAL) if row.updated < before])


def _bringing(connection: sqlite3.Connection, row: DocumentRow) -> list[JobRow]:
    found = connection.execute(
        f"SELECT {COLUMNS} FROM jobs WHERE state IN ('done', 'failed', 'cancelled') AND (document = ?1 OR EXISTS "
        "(SELECT 1 FROM json_each(detail, '$.members') WHERE json_extract(value, '$.document') = ?1))",
        (row.id,),
    )
    return [_row(values) for values in found]


def mark(document_id: str) -> str:
    """What stands for a deleted document in the detail of an archive. Not its id itself: of that nothing is to be found any more."""
    return hashlib.sha256(document_id.encode()).hexdigest()[:16]


def _mark(connection: sqlite3.Connection, row: DocumentRow) -> None:
    # By name too: a member is told a while after it went in, and a process may have died in between.
    found = connection.execute(
        f"SELECT {COLUMNS} FROM jobs WHERE state IN ('queued', 'running') AND collection = ?1 AND json_type(detail, '$.members') = 'array' "
        "AND (substr(?2, 1, length(name) + 1) = name || '/' OR EXISTS "
        "(SELECT 1 FROM json_each(detail, '$.members') WHERE json_extract(value, '$.document') = ?3))",
        (row.collection, row.name, row.id),
    )
    for job in [_row(values) for values in found]:
        detail = _without_deleted(job.detail, {*job.detail.get(DELETED, ()), mark(row.id)}, job.state)
        connection.execute("UPDATE jobs SET detail = ? WHERE id = ?", (_values(replace(job, detail=detail))[-1], job.id))


def _without_deleted(detail: Mapping[str, Any], marks: Iterable[str], state: JobState) -> Mapping[str, Any]:
    gone = set(marks)
    kept = {name: value for name, value in detail.items() if name != DELETED}
    if gone and "members" in kept:
        kept["members"] = [member for member in kept["members"] if mark(member.get("document", "")) not in gone]
    return kept | {DELETED: sorted(gone)} if gone and state not in ("done", "cancelled") else kept


def _dealt(rows: Iterable[JobRow], documents: Mapping[str, DocumentRow]) -> dict[str, str]:
    """The document, or "", of each finished job, as `forget` would find it for a document alone."""
    named = {row.name: row for row in documents.values()}
    dealt = {}
    for row in rows:
        brought = [row.document, *(member.get("document", "") for member in row.detail.get("members", ()))] if row.state in FINAL else []
        of = next((document for document in brought if document in documents), "")
        if not of and row.state in ("failed", "cancelled") and row.name in named:
            same = named[row.name]
            of = same.id if row.detail.get("sha256", same.sha256) == same.sha256 else ""
        dealt[row.id] = of
    return dealt


def _refused(connection: sqlite3.Connection, row: DocumentRow) -> list[JobRow]:
    found = connection.execute(
        f"SELECT {COLUMNS} FROM jobs WHERE collection = ?1 AND name = ?2 AND state IN ('failed', 'cancelled') "
        "AND coalesce(json_extract(detail, '$.sha256'), ?3) = ?3",
        (row.collection, row.name, row.sha256),
    )
    return [_row(values) for values in found]


def _remove(connection: sqlite3.Connection, rows: Iterable[JobRow]) -> Forgotten:
    gone = {row.id: row.spool for row in rows}
    connection.executemany("DELETE FROM jobs WHERE id = ?", [(job,) for job in gone])
    # A request is remembered with all of its jobs or not at all: half a list would tell a client that its other files never came.
    taken = connection.execute(
        "DELETE FROM uploads WHERE EXISTS (SELECT 1 FROM json_each(jobs) WHERE value IN (SELECT value FROM json_each(?)))",
        (json.dumps(list(gone)),),
    )
    return Forgotten(tuple(gone), tuple(spool for spool in gone.values() if spool), taken.rowcount)


def _check_state(row: JobRow) -> None:
    if row.state not in STATES:
        raise RetrievalError(f"job {row.id} cannot be {row.state!r}: its state is one of {', '.join(STATES)}")


def _values(row: JobRow) -> tuple[Any, ...]:
    detail = json.dumps(dict(row.detail), sort_keys=True, ensure_ascii=False)
    return (row.id, row.collection, row.name, row.spool, row.state, row.stage, row.done, row.total, row.document, row.error, detail)


def _row(values: tuple[Any, ...]) -> JobRow:
    return replace(JobRow(*values), detail=json.loads(values[10]))
