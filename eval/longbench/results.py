"""A folder and a run's settings go in; an append-only file of finished samples comes out, which a crash can shorten by no whole line.

`results.jsonl`: first a line with the settings, then one line a finished sample, flushed and synced before the next begins. Each carries
the keys of LongBench's own prediction files (pred, answers, all_classes, length), so that its `eval.py` can score the lines of one task and arm.
The last line of a sample counts.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from filelock import FileLock, Timeout

from .errors import BadResults, ResultsBusy, ResultsUnwritable

FORMAT = 1
Key = tuple[str, str, str]


@dataclass(frozen=True)
class Line:
    """One finished sample. `text` is the raw answer and `pred` the cleaned one; both are empty where `error` says why.

    `again`: the failure was none of the record's own, so the next run does the sample again.
    """

    arm: str
    task: str
    id: str
    digest: str  # of the record
    pred: str
    answers: tuple[str, ...]
    length: int
    text: str = ""
    tokens: int = 0
    rows: int = 0
    first_token_seconds: float | None = None
    seconds: float = 0.0
    error: str | None = None
    again: bool = False
    all_classes: None = None

    @property
    def key(self) -> Key:
        return self.arm, self.task, self.id


class Results:
    """The open file of a run; one at a time writes a folder. `note` says what was found damaged and mended, or is empty."""

    def __init__(self, folder: Path, settings: Mapping[str, Any]) -> None:
        """Raises BadResults on a file of other settings or with a damaged line, ResultsBusy, ResultsUnwritable."""
        prepare(folder)
        self.path = folder / "results.jsonl"
        self.note = ""
        self.done: dict[Key, Line] = {}
        self._writing = threading.Lock()
        self._lock = FileLock(folder / "results.lock")
        try:
            self._lock.acquire(timeout=0)
        except Timeout as error:
            raise ResultsBusy(f"{folder}: another run is writing there; wait for it, or give another --out") from error
        except OSError as error:
            raise _unwritable(folder, error) from error
        try:
            self._file = self._opened({"format": FORMAT, **settings})
        except BaseException:
            self._lock.release()
            raise

    def __enter__(self) -> Results:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        os.close(self._file)
        self._lock.release()

    def append(self, line: Line) -> None:
        """On the disk when it returns. A full disk raises OSError; what it left of the line is dropped at the next start."""
        self._write(asdict(line))
        self.done[line.key] = line

    def _opened(self, settings: Mapping[str, Any]) -> int:
        try:
            whole = self._whole()
            file = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        except OSError as error:
            raise _unwritable(self.path, error) from error
        try:
            for number, line in enumerate(whole, 1):
                self._take(number, line, settings)
            if not whole:
                self._file = file
                self._write({"settings": dict(settings)})
        except BaseException:
            os.close(file)
            raise
        return file

    def _whole(self) -> list[bytes]:
        """The file's whole lines; what stands behind the last newline is cut off, and told."""
        if not self.path.exists():
            return []
        data = self.path.read_bytes()
        end = data.rfind(b"\n") + 1
        if end < len(data):
            os.truncate(self.path, end)
            self.note = f"{self.path}: its last line was half written and is dropped; that sample is done again"
        return data[:end].splitlines()

    def _take(self, number: int, line: bytes, settings: Mapping[str, Any]) -> None:
        place = f"{self.path}, line {number}"
        try:
            row = json.loads(line)
            if number == 1:
                self._require(row["settings"], settings)
                return
            found = Line(**{**row, "answers": tuple(row["answers"])})
        except (ValueError, KeyError, TypeError) as error:
            raise BadResults(
                f"{place}: damaged ({error}); delete that line to have its sample done again, or give another --out"
            ) from error
        self.done[found.key] = found

    def _require(self, stored: Mapping[str, Any], ours: Mapping[str, Any]) -> None:
        # As JSON has it: a tuple that was written is read as a list.
        asked = json.loads(json.dumps(dict(ours)))
        for name in sorted({*stored, *asked}):
            if stored.get(name) != asked.get(name):
                raise BadResults(
                    f"{self.path}: written with {name} = {stored.get(name)!r}, now it is {asked.get(name)!r}; "
                    "run with the same settings, or give another --out"
                )

    def _write(self, row: Mapping[str, Any]) -> None:
        data = json.dumps(row, sort_keys=True).encode() + b"\n"
        with self._writing:
            while data:
                data = data[os.write(self._file, data) :]
            os.fsync(self._file)


def prepare(folder: Path) -> None:
    """Make the folder and try to write in it, before a model is loaded. Raises ResultsUnwritable."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe = folder / "results.lock"
        probe.touch()
        if (folder / "results.jsonl").exists():
            os.close(os.open(folder / "results.jsonl", os.O_WRONLY | os.O_APPEND))
    except OSError as error:
        raise _unwritable(folder, error) from error


def _unwritable(path: Path, error: OSError) -> ResultsUnwritable:
    return ResultsUnwritable(f"{path}: cannot be written ({error.strerror or error}); give an --out that you may write to")
