"""A file or a folder of LongBench's rows goes in; validated `Record` values come out, task by task, in the rows' own order.

A folder holds, for a task T, one of T.jsonl, data/T.jsonl, T.parquet, T-*.parquet, T/*.parquet or T/*.jsonl; files of other tasks are passed
over. A single file may hold rows of several tasks. No loading script is run and nothing is fetched.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .errors import BadRecord, NoData
from .tasks import TASKS

_PATTERNS = ("{}.jsonl", "data/{}.jsonl", "{}.parquet", "{}-*.parquet", "{}/*.parquet", "{}/*.jsonl")


@dataclass(frozen=True)
class Record:
    """One row: a question over a context with its gold answers. `length` is LongBench's own count of words."""

    task: str
    id: str
    input: str
    context: str = field(repr=False)
    answers: tuple[str, ...]
    length: int

    @property
    def digest(self) -> str:
        """16 hex digits over all that decides answer and score: the same id over other words is another row."""
        facts = json.dumps([self.task, self.input, self.context, self.answers, self.length])
        return hashlib.sha256(facts.encode()).hexdigest()[:16]


def read(data: Path, tasks: Sequence[str] | None = None, limit: int | None = None) -> dict[str, list[Record]]:
    """The rows of each task, at most `limit`. tasks None: those that are there.

    Raises:
        NoData: nothing at `data`, a wanted task is not there, or two files hold it.
        BadRecord: a row lacks a field, has one of the wrong kind, or is of another task than its file.
    """
    if not data.exists():
        raise NoData(f"{data}: no such file or folder; give LongBench's jsonl file, or a folder of jsonl or parquet files")
    found = _of_folder(data, tasks, limit) if data.is_dir() else _of_file(data, tasks, limit)
    missing = [task for task in tasks or () if not found.get(task)]
    if missing or not found:
        raise NoData(
            f"{data}: no rows of {', '.join(missing or TASKS)}; a folder needs a file <task>.jsonl or <task>.parquet for each task"
        )
    return {task: _numbered(found[task]) for task in TASKS if task in found}


def _of_folder(folder: Path, tasks: Sequence[str] | None, limit: int | None) -> dict[str, list[Record]]:
    found: dict[str, list[Record]] = {}
    for task in tasks or TASKS:
        held = [group for pattern in _PATTERNS if (group := sorted(folder.glob(pattern.format(task))))]
        if len(held) > 1:
            raise NoData(f"{folder}: both {held[0][0].name} and {held[1][0].name} hold {task}; leave one of them")
        for path in held[0] if held else []:
            for place, row in _rows(path):
                if len(found.setdefault(task, [])) == limit:
                    break
                found[task].append(_record(row, place, task))
    return found


def _of_file(path: Path, tasks: Sequence[str] | None, limit: int | None) -> dict[str, list[Record]]:
    found: dict[str, list[Record]] = {}
    for place, row in _rows(path):
        record = _record(row, place, None)
        kept = found.setdefault(record.task, [])
        if len(kept) != limit:
            kept.append(record)
    return {task: kept for task, kept in found.items() if tasks is None or task in tasks}


def _rows(path: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """(place, row) of a jsonl or parquet file; lines count from 1."""
    if path.suffix == ".parquet":
        yield from _parquet(path)
        return
    try:
        with path.open(encoding="utf-8-sig") as file:
            for number, line in enumerate(file, 1):
                if line.strip():
                    yield f"{path}, line {number}", _json(line, f"{path}, line {number}")
    except UnicodeDecodeError as error:
        raise BadRecord(f"{path}: not UTF-8 ({error.reason} at byte {error.start}); give LongBench's jsonl as it was published") from error
    except OSError as error:
        raise NoData(f"{path}: cannot be read ({error.strerror})") from error


def _json(line: str, place: str) -> Mapping[str, Any]:
    try:
        row = json.loads(line)
    except ValueError as error:
        raise BadRecord(f"{place}: no whole JSON object ({error}); the file may be cut short, so copy it again") from error
    if not isinstance(row, dict):
        raise BadRecord(f"{place}: a {type(row).__name__}, not a JSON object with LongBench's fields")
    return row


def _parquet(path: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    try:
        import pyarrow.parquet as parquet
        from pyarrow.lib import ArrowException
    except ImportError as error:
        raise NoData(f"{path}: reading parquet needs pyarrow; install quire[eval], or give jsonl files") from error
    try:
        number = 0
        with parquet.ParquetFile(path) as file:
            for batch in file.iter_batches(batch_size=64):
                for row in batch.to_pylist():
                    number += 1
                    yield f"{path}, row {number}", row
    except (ArrowException, OSError) as error:
        raise NoData(f"{path}: not a parquet file that can be read ({error}); copy it again") from error


def _record(row: Mapping[str, Any], place: str, task: str | None) -> Record:
    named = _field(row, "dataset", str, place)
    # The rows of LongBench-E's files carry their task's name, in some copies with their own suffix.
    base = named.removesuffix("_e")
    if base not in TASKS or (task is not None and base != task):
        wanted = repr(task) if task else "one of " + ", ".join(TASKS)
        raise BadRecord(f"{place}: field 'dataset' is {named!r}, not {wanted}")
    answers = _field(row, "answers", list, place)
    if not all(isinstance(answer, str) for answer in answers):
        raise BadRecord(f"{place}: field 'answers' holds something that is no text: {answers!r}")
    length = _field(row, "length", int, place)
    if isinstance(length, bool) or length < 0:
        raise BadRecord(f"{place}: field 'length' is {length!r}, not a count of words")
    words = {name: _field(row, name, str, place) for name in ("_id", "input", "context")}
    return Record(base, words["_id"], words["input"], words["context"], tuple(answers), length)


def _field(row: Mapping[str, Any], name: str, kind: type, place: str) -> Any:
    if name not in row:
        raise BadRecord(f"{place}: field {name!r} is missing; a row has _id, input, context, answers, length and dataset")
    if not isinstance(row[name], kind):
        raise BadRecord(f"{place}: field {name!r} is {_short(row[name])}, not a {kind.__name__}")
    return row[name]


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _numbered(records: Sequence[Record]) -> list[Record]:
    """A row that repeats an id is kept, for the denominator counts it; it gets a number of its own: `id#2`."""
    seen: Counter[str] = Counter()
    kept = []
    for record in records:
        seen[record.id] += 1
        again = seen[record.id]
        name = record.id if again == 1 else f"{record.id}#{again}"
        kept.append(Record(record.task, name, record.input, record.context, record.answers, record.length))
    return kept
