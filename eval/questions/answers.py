"""Questions, arms and models go in; every sample's line comes out, through LongBench's own runner and its append-only journal.

One journal a model, `answers/<name>-<digest>/results.jsonl`: text arms may be another model's, and what one model said is kept whatever else is run.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cache_compiler.backbone import Backbone
from eval.longbench.arms import make_arm
from eval.longbench.house import House
from eval.longbench.records import Record
from eval.longbench.results import Line, Results
from eval.longbench.run import run

from .machine import machine
from .plans import is_text

# Page caches that are kept between arms and questions of one context; more would not fit beside a large model.
_MOST_KEPT = 512


@dataclass(frozen=True)
class Asked:
    """A model with the arms that it answers."""

    model: str
    arms: tuple[str, ...]


@dataclass(frozen=True)
class Answered:
    """What a model said: lines by arm, task and id; what its journal stands for; what it ran on."""

    name: str
    lines: Mapping[tuple[str, str, str], Line]
    settings: Mapping[str, Any]
    machine: Mapping[str, Any]


def division(models: Sequence[str], text_model: str, arms: Sequence[str]) -> list[Asked]:
    """Which model answers which arms. `text_model` "same": each model reads text too, as in the paper; else one model reads it for all."""
    images, texts = (tuple(arm for arm in arms if is_text(arm) is wanted) for wanted in (False, True))
    asked = [Asked(model, (*images, *(texts if text_model in ("same", model) else ()))) for model in dict.fromkeys(models)]
    if texts and text_model != "same" and text_model not in models:
        asked.append(Asked(text_model, texts))
    return [one for one in asked if one.arms]


def answer(
    asked: Asked, rows: Mapping[str, Sequence[Record]], house_of: Callable[[Backbone], House], load: Callable[[str], Backbone], folder: Path
) -> Answered:
    """Ask what is not answered yet. Raises what `run` and `Results` raise; however it ends, finished samples stay."""
    backbone = load(asked.model)
    house = house_of(backbone)
    _keep(house, asked.arms, rows)
    settings = house.settings()
    arms = [make_arm(name, house) for name in asked.arms]
    with Results(folder / _journal(settings), settings) as results:
        if results.note:
            print(results.note, file=sys.stderr)
        run(rows, arms, house.protocol, results)
        # An embedder may be a folder of this machine: its last name is enough for strangers.
        told = settings | {"embedder": Path(settings["embedder"]).name}
        return Answered(backbone.name, dict(results.done), told, machine(backbone))


def _keep(house: House, arms: Sequence[str], rows: Mapping[str, Sequence[Record]]) -> None:
    """Arms follow each other on a record: with fewer places than an arm's pages times the arms, every question would compile all of them again."""
    pages = max(record.context.count("\f") + 1 for group in rows.values() for record in group)
    house.bench.keep = min(_MOST_KEPT, max(house.bench.keep, pages * len(arms)))


def _journal(settings: Mapping[str, Any]) -> str:
    """A model's name is a stranger's word: what is no letter or digit of it does not reach the disk, and the digest tells namesakes apart."""
    facts = {name: value for name, value in settings.items() if name.startswith("model")}
    digest = hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:8]
    return f"{re.sub('[^a-z0-9]+', '-', str(settings['model']).lower()).strip('-')[:40]}-{digest}"
