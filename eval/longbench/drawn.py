"""A file of the records world in LongBench's form goes in; rows that the same arms and the same run can answer come out, as the task `records`.

It is no task of LongBench: it is asked for by name, gets its own table, and is in no mean. Its pages are those that were drawn
(`eval.records`), its prompt is the bare question in the model's own turn, and its answer has at most 24 tokens, as in `quire eval records`.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from eval.records import RecordsError
from eval.records import read as read_samples

from . import records
from .errors import BadRecord, NoData
from .records import Record
from .tasks import Protocol, tasks_named

DRAWN = "records"
TOKENS = 24


def with_drawn(protocol: Protocol) -> Protocol:
    """The protocol, knowing the task."""
    return replace(protocol, behind={**protocol.behind, DRAWN: "{input}"}, limits={**protocol.limits, DRAWN: TOKENS})


def chosen(text: str | None) -> tuple[str, ...] | None:
    """Names of tasks, `records` behind the six; None where none are said. Raises UnknownTask."""
    if text is None:
        return None
    names = [name.strip() for name in text.split(",") if name.strip()]
    six = ",".join(name for name in names if name != DRAWN)
    drawn = (DRAWN,) if DRAWN in names else ()
    return (tasks_named(six) if six or not drawn else ()) + drawn


def read(data: Path, tasks: Sequence[str] | None = None, limit: int | None = None) -> dict[str, list[Record]]:
    """`records.read`, and behind its tasks the rows of `records`: of DATA/records.jsonl where asked for, or of a file that holds nothing else.

    Raises what `records.read` does.
    """
    held = data.is_file() and _is_drawn(data)
    if held and tasks is None:
        tasks = (DRAWN,)
    six = None if tasks is None else [task for task in tasks if task != DRAWN]
    found = records.read(data, six, limit) if six is None or six else {}
    if tasks is not None and DRAWN in tasks:
        path = data / f"{DRAWN}.jsonl" if data.is_dir() else data
        if not path.is_file() or not (held or data.is_dir()):
            raise NoData(f"{path}: no rows of {DRAWN}; `quire eval records --write {DRAWN}.jsonl` draws them")
        found[DRAWN] = _rows(path)[:limit]
    return found


def _rows(path: Path) -> list[Record]:
    try:
        samples = read_samples(path)
    except (RecordsError, OSError, UnicodeDecodeError) as error:
        raise BadRecord(str(error)) from error
    rows = [Record(DRAWN, s.id, s.question, s.context, (s.answer,), len(s.context.split())) for s in samples]
    if not rows:
        raise NoData(f"{path}: no rows of {DRAWN}; `quire eval records --write {DRAWN}.jsonl` draws them")
    return rows


def _is_drawn(path: Path) -> bool:
    """By the first row; whatever is wrong with it is told by the one who reads the file."""
    try:
        with path.open(encoding="utf-8") as file:
            row = json.loads(file.readline())
    except (OSError, ValueError):
        return False
    return isinstance(row, dict) and row.get("dataset") == DRAWN
