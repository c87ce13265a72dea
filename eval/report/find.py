"""A folder goes in; the results of the questions, of Kamera's runs and of the time to the first token that lie in it come out, and what could not be read."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

# In the page's order.
TASKS = ("q1", "q2", "q3", "q4", "kamera", "ttft")
# Folders below the one that is given; deeper lie a run's own journals.
DEPTH = 3
LARGEST = 256 << 20


@dataclass(frozen=True)
class Result:
    """A document of one task. `place` is the file's path below the folder that was searched, for people; plots lie beside the file."""

    task: str
    place: str
    folder: Path
    facts: dict[str, Any]


@dataclass(frozen=True)
class Found:
    """`missing`: tasks of which there is no document. `unreadable`: files that should hold one, each with what is wrong."""

    results: tuple[Result, ...]
    missing: tuple[str, ...]
    unreadable: tuple[str, ...]


def find(root: Path) -> Found:
    """Every JSON document below `root` whose `task` is one of ours, in the page's order."""
    results: list[Result] = []
    unreadable = []
    for path in _files(root):
        place = path.relative_to(root).as_posix()
        if path.stat().st_size > LARGEST:
            unreadable.append(f"{place}: larger than {LARGEST >> 20} MB")
            continue
        try:
            facts = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            unreadable.append(f"{place}: {error}")
            continue
        if isinstance(facts, dict) and facts.get("task") in TASKS:
            results.append(Result(facts["task"], place, path.parent, facts))
    results.sort(key=lambda result: (TASKS.index(result.task), result.place))
    held = {result.task for result in results}
    return Found(tuple(results), tuple(task for task in TASKS if task not in held), tuple(unreadable))


def _files(root: Path) -> Iterator[Path]:
    for path in sorted(root.rglob("*.json")):
        if len(path.relative_to(root).parts) <= DEPTH and path.is_file():
            yield path
