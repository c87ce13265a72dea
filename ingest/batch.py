"""An upload goes in, a file or a zip of files; what became of it comes out, of a zip member by member."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from retrieval.jobs import DELETED, mark
from retrieval.types import JobRow

from .archive import Member, is_archive, unpack
from .errors import Cancelled, IngestError, UnsupportedType
from .load import KINDS
from .pipeline import FAILURES, Listener, Stop, digest_of, document_id, failure, ingest_file
from .workshop import Workshop

# Members that a sentence names.
_NAMED = 3
# Seconds between two notes of what became of members: each is a commit of all their lines.
_PACE = 1.0


@dataclass(frozen=True)
class Outcome:
    """What became of an upload: the state its job ends in, the document (of a single file), the error, and facts for its detail."""

    state: Literal["done", "failed"]
    document: str = ""
    error: str = ""
    detail: Mapping[str, Any] = field(default_factory=dict)


def take_in(
    path: Path, row: JobRow, workshop: Workshop, listen: Listener, stop: Stop, told: Callable[[list[dict[str, str]]], None]
) -> Outcome:
    """Take the upload at `path` through ingest. Of a zip, `told` hears of its members before the first, every second, and at the end,
    however that comes.

    Raises Cancelled, and of a single file whatever ingest raises; of a zip, what keeps it from being opened at all.
    """
    replace = bool(row.detail.get("replace"))
    if is_archive(path, row.name):
        return _archive(path, row, workshop, listen, stop, told, replace)
    done = ingest_file(path, row.name, "upload", row.collection, workshop, listen, stop, replace)
    return Outcome("done", _document(workshop, row.collection, row.name), "", asdict(done) if done else {"skipped": True})


def _archive(
    path: Path, row: JobRow, workshop: Workshop, listen: Listener, stop: Stop, told: Callable[[list[dict[str, str]]], None], replace: bool
) -> Outcome:
    """Every member is a file of its own: one that fails keeps no other out."""
    folder = workshop.home.spool / "unpacked"
    folder.mkdir(exist_ok=True)
    members: list[dict[str, str]] = []
    # What an earlier try has told stays until it is told anew: by these lines a deletion finds this archive.
    earlier = {member["name"]: member for member in row.detail.get("members", ())}
    told([*earlier.values()])
    at = time.monotonic()
    try:
        for member in unpack(path, row.name, workshop.limits, folder, stop):
            try:
                line = _member(member, row, workshop, listen, stop, replace)
            finally:
                if member.path is not None:
                    member.path.unlink(missing_ok=True)
            earlier.pop(member.name, None)
            if line is not None:
                members.append(line)
            if time.monotonic() - at >= _PACE:
                told([*members, *earlier.values()])
                at = time.monotonic()
    finally:
        told([*members, *earlier.values()])
    failed = [member for member in members if member["state"] == "failed"]
    if not failed:
        return Outcome("done", detail={"members": members})
    reasons = "; ".join(member["error"] for member in failed[:_NAMED])
    more = f"; and {len(failed) - _NAMED} more" if len(failed) > _NAMED else ""
    return Outcome(
        "failed", error=f"{row.name}: {len(failed)} of {len(members)} files did not go in: {reasons}{more}", detail={"members": members}
    )


def _member(member: Member, row: JobRow, workshop: Workshop, listen: Listener, stop: Stop, replace: bool) -> dict[str, str] | None:
    """One member's line: {name, state, error, document}. Of a kind that is not read it is skipped, as in a folder. None for one that has been
    deleted since the archive was begun: it is not taken in again, and nothing tells of it."""
    try:
        if member.path is None:
            raise member.error or IngestError(f"{member.name}: it could not be unpacked")
        if _is_deleted(member.path, member.name, row, workshop):
            return None
        done = ingest_file(member.path, member.name, "upload", row.collection, workshop, listen, stop, replace)
    except Cancelled:
        raise
    except FAILURES as error:
        found = failure(member.name, error)
        passed = isinstance(error, UnsupportedType) and Path(member.name).suffix.lower() not in KINDS
        return {"name": member.name, "state": "skipped" if passed else "failed", "error": found.reason, "document": ""}
    document = done.document if done else _document(workshop, row.collection, member.name)
    if not document:
        return None  # unchanged, and deleted before this line
    return {"name": member.name, "state": "done" if done else "skipped", "error": "", "document": document}


def _is_deleted(path: Path, name: str, row: JobRow, workshop: Workshop) -> bool:
    """Looked up for each member: it may be deleted while this very archive is taken in once more."""
    marks = workshop.catalogue.job(row.id).detail.get(DELETED, ())
    return bool(marks) and mark(document_id(row.collection, name, digest_of(path, workshop.limits.file_bytes))) in marks


def _document(workshop: Workshop, collection: str, name: str) -> str:
    found = workshop.catalogue.document_named(collection, name)
    return found.id if found else ""
