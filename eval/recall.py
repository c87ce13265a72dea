"""Documents and questions on their pages go in; the documents are really taken in, and where the right page stands among the hits comes out.

A hit is right when its chunk is of the question's document and says that it comes from the question's page. Beside it stands whether the answer's
own words are in a hit: a chunk that runs over a page's end says the page that it begins on.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from app.ask import answer
from app.house import House
from app.settings import Settings
from app.types import Done, Failed
from cache_compiler.backbone import Backbone
from cache_compiler.load import load_backbone
from cache_compiler.tiny import random_backbone
from ingest.home import Home
from ingest.opening import open_workshop
from ingest.pipeline import ingest
from ingest.policy import Policy
from ingest.types import Report
from retrieval.embedder import load_embedder
from retrieval.types import Hit, Search

from .longbench.documents import TASK
from .score import score_sample, wilson

COLLECTION = "recall"


@dataclass(frozen=True)
class Found:
    """One question. `rank` is the place, from 1, of the first hit of the right page by falling similarity, None: not among the top;
    `holds`: a hit's text has an answer in it. `said` and `f1` (LongBench's, 0 to 1) where the model was asked."""

    id: str
    document: str
    page: int
    language: str
    question: str
    rank: int | None
    holds: bool
    said: str | None = None
    f1: float | None = None


def open_house(home: Path, model: str, embedder: str, quick: bool, search: Search = "hybrid") -> House:
    """A house over `home`. `quick`: a random tiny model compiles the pages, in `model`'s own page style; what is retrieved is the same, for
    the embedder reads text alone."""
    named = load_backbone(model)
    backbone: Backbone = random_backbone() if quick and named.reads_images else named
    settings = Settings(home=home, model=model, patch_policy="off", search=search)
    workshop = open_workshop(
        Home(home),
        backbone,
        load_embedder(embedder),
        style=named.card.style,
        batch=settings.batch,
        limits=settings.limits(),
        policy=Policy("off"),
    )
    return House(settings, workshop)


def measure(
    house: House, folder: Path, asked: Sequence[dict[str, Any]], top: int, answers: bool, say: Callable[[str], None]
) -> tuple[list[Found], Report]:
    """Take the questions' documents in, and look for each question's page. A document that cannot be taken in costs its questions, and is in
    the report."""
    # The last part alone: a question must not name a file elsewhere.
    names = list(dict.fromkeys(Path(str(row["doc"])).name for row in asked))
    report = ingest([folder / name for name in names], COLLECTION, house.workshop, progress=lambda at: say(f"{at.name}: {at.stage}"))
    found = []
    for row in asked:
        hits = _ranked(house, row["input"], top) if report.done or report.skipped else []
        rank = next((place for place, hit in enumerate(hits, 1) if _right(house, hit, row)), None)
        holds = any(_holds(hit.chunk.text, row["answers"]) for hit in hits)
        said = _said(house, row["input"], top) if answers and hits else None
        f1 = None if said is None else score_sample(TASK, said, row["answers"])
        found.append(Found(str(row.get("_id", "")), row["doc"], row["page"], row["language"], row["input"], rank, holds, said, f1))
    return found, report


def summary(found: Sequence[Found], top: int) -> list[dict[str, Any]]:
    """A row a language, and one of all: how many have the right page among the top, with Wilson's 95 % interval; mean F1 where asked."""
    rows = []
    for language in [*sorted({one.language for one in found}), "all"]:
        own = [one for one in found if language in (one.language, "all")]
        right = sum(one.rank is not None for one in own)
        f1 = [one.f1 for one in own if one.f1 is not None]
        rows.append(
            {
                "language": language,
                "n": len(own),
                "right": right,
                "recall": right / len(own),
                "interval": wilson(right, len(own)),
                "holds": sum(one.holds for one in own),
                "f1": sum(f1) / len(f1) if f1 else None,
                "top": top,
            }
        )
    return rows


def facts(found: Sequence[Found], report: Report, top: int) -> dict[str, Any]:
    return {
        "task": "recall",
        "rows": summary(found, top),
        "questions": [asdict(one) for one in found],
        "failed": [asdict(one) for one in report.failed],
        "pages": sum(one.pages for one in report.done),
        "ingest_seconds": report.seconds,
    }


def _ranked(house: House, question: str, top: int) -> list[Hit]:
    """By falling similarity: the walk puts them in context order."""
    return sorted(house.retriever.search(question, COLLECTION, top), key=lambda hit: -hit.score)


def _right(house: House, hit: Hit, row: dict[str, Any]) -> bool:
    return hit.chunk.source_page == row["page"] and house.catalogue.document(hit.chunk.document).name == Path(row["doc"]).name


def _holds(text: str, answers: Sequence[str]) -> bool:
    """Whatever white space parts an answer's words."""
    return any(re.search(r"\s+".join(map(re.escape, wanted.split())), text) for wanted in answers)


def _said(house: House, question: str, top: int) -> str:
    for event in answer(house.question(question, COLLECTION, top_k=top), house):
        if isinstance(event, Failed):
            return f"({event.type})"
        if isinstance(event, Done):
            return event.answer.text
    return ""
