"""Arms go in; the same arms come out, each leaving beside its answer what it cost and what it lost: `measures.jsonl`, and a summary of it.

Apart from `results.jsonl`, for times differ from run to run. A line is written before the answer's own; where a sample is done again, its
last line counts.

    online    seconds: the parts of the time to the first token (plan, prefill or place, recompute, question)
    offline   compile, form: seconds spent on the caches that were not at hand and on the patches; compiled, formed: how many; patch_share
    kl        KL(full || arm) at the first answer token, in nats, where it was asked for
"""

from __future__ import annotations

import json
import os
import statistics
import threading
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from .arms import Arm, Reply
from .errors import BadResults
from .records import Record
from .results import Key


@dataclass(frozen=True)
class Measure:
    """One answer's."""

    arm: str
    task: str
    id: str
    online: Mapping[str, float]
    offline: Mapping[str, float]
    kl: float | None = None

    @property
    def key(self) -> Key:
        return self.arm, self.task, self.id


class Measures:
    """The open file. It is opened under the lock of the results beside it, and has their settings."""

    def __init__(self, folder: Path) -> None:
        """A line that a crash cut short is dropped, and with it nothing that an answer was written for. Raises BadResults on a damaged one."""
        path = folder / "measures.jsonl"
        self.done: dict[Key, Measure] = {}
        self._writing = threading.Lock()
        whole = path.read_bytes() if path.exists() else b""
        end = whole.rfind(b"\n") + 1
        for number, line in enumerate(whole[:end].splitlines(), 1):
            try:
                found = Measure(**json.loads(line))
            except (ValueError, TypeError) as error:
                raise BadResults(f"{path}, line {number}: damaged ({error}); delete that line, or give another --out") from error
            self.done[found.key] = found
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        os.ftruncate(self._file, end)

    def __enter__(self) -> Measures:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        os.close(self._file)

    def append(self, measure: Measure) -> None:
        data = json.dumps(asdict(measure), sort_keys=True).encode() + b"\n"
        with self._writing:
            while data:
                data = data[os.write(self._file, data) :]
            os.fsync(self._file)
            self.done[measure.key] = measure


@dataclass(frozen=True)
class Measured:
    """An arm that leaves a line of what it cost."""

    arm: Arm
    measures: Measures

    @property
    def name(self) -> str:
        return self.arm.name

    def answer(self, task: str, record: Record) -> Reply:
        reply = self.arm.answer(task, record)
        self.measures.append(Measure(self.name, task, record.id, dict(reply.online), dict(reply.offline), reply.kl))
        return reply


def summarise(arms: Sequence[str], records: Mapping[str, Sequence[Record]], measures: Measures) -> dict[str, Any]:
    """arm -> task -> the means over its answered samples. Compile and form are seconds a cache and a patch, over all that were made."""
    summary: dict[str, Any] = {}
    for arm in arms:
        for task, rows in records.items():
            found = [measure for row in rows if (measure := measures.done.get((arm, task, row.id)))]
            losses = [measure.kl for measure in found if measure.kl is not None]
            names = sorted({name for measure in found for name in measure.online})
            shares = [measure.offline["patch_share"] for measure in found if "patch_share" in measure.offline]
            summary.setdefault(arm, {})[task] = {
                "n": len(found),
                "online": {name: round(statistics.fmean(measure.online.get(name, 0.0) for measure in found), 5) for name in names},
                "first_token_median": round(statistics.median(sum(m.online.values()) for m in found), 5) if found else None,
                "compile_seconds_a_page": _each(found, "compile", "compiled"),
                "form_seconds_a_patch": _each(found, "form", "formed"),
                "patch_share": round(statistics.fmean(shares), 4) if shares else None,
                "kl_n": len(losses),
                "kl_mean": statistics.fmean(losses) if losses else None,
                "kl_median": statistics.median(losses) if losses else None,
            }
    return summary


def _each(found: Sequence[Measure], seconds: str, count: str) -> float | None:
    made = sum(measure.offline.get(count, 0) for measure in found)
    return round(sum(measure.offline.get(seconds, 0.0) for measure in found) / made, 5) if made else None


def text(summary: Mapping[str, Any]) -> str:
    """KL an arm and task, for a terminal; empty where none was measured."""
    rows = [(arm, task, facts) for arm, tasks in summary.items() for task, facts in tasks.items() if facts["kl_n"]]
    if not rows:
        return ""
    wide, long = (max(len(row[place]) for row in rows) for place in (0, 1))
    lines = ["KL(full || arm) at the first answer token, nats; full prefill of the same pages"]
    lines += [f"{arm:<{wide}} {task:<{long}} mean {f['kl_mean']:.3e}, median {f['kl_median']:.3e}, n {f['kl_n']}" for arm, task, f in rows]
    return "\n".join(lines)


def write(folder: Path, summary: Mapping[str, Any]) -> None:
    """Whole, or as it was before."""
    draft = folder / "measures.json.draft"
    draft.write_text(json.dumps(summary, indent=1, sort_keys=True) + "\n", encoding="utf-8", newline="\n")
    os.replace(draft, folder / "measures.json")
