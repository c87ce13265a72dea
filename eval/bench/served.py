"""A corpus goes in; the same questions are asked of it in several ways, in turn, and every request's seconds come out, split into parts.

    ram      the served walk, page caches in memory
    disk     the same with nothing in the product's memory: files in the operating system's page cache
    cold     the same with that page cache dropped before every request
    full     the same retrieval and plan; then every page image, in memory as pixels, is encoded and prefilled

Parts follow one another. `question` is the question's prefill until its first token is chosen; `other` is what remains of the time
between arrival and first token. Full prefill pays neither for citations nor for reading images, which a served answer would.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from app.ask import answer
from app.context import keys_of
from app.engine import Decode
from app.types import Done, Failed
from cache_compiler.prefill import prefill_encoded
from cache_compiler.store import CacheStore
from eval.errors import EvalError
from retrieval.plan import make_plan

from . import pagecache
from .clock import settle
from .corpus import Corpus

WAYS = {"full": "full prefill", "ram": "page caches, memory", "disk": "page caches, warm disk", "cold": "page caches, cold disk"}
PARTS = ("retrieve", "plan", "load", "place", "encode", "context", "question", "other")
# What both ways need alike.
BEFORE = ("retrieve", "plan", "other")


@dataclass(frozen=True)
class Request:
    """One request: seconds by part, their sum, the context's cache rows, and bytes of page caches that came from files."""

    way: str
    number: int
    parts: dict[str, float]
    first_token: float
    rows: int
    question_tokens: int
    bytes_read: int = 0

    @property
    def context_and_question(self) -> float:
        """Without what both ways need alike: search, plan, bookkeeping."""
        return self.first_token - sum(self.parts.get(part, 0.0) for part in BEFORE)


def ways_of(arms: Sequence[str], corpus: Corpus) -> tuple[list[str], dict[str, str]]:
    """Arms (full, caches) -> the ways to measure, and those that cannot be, each with its reason. Raises EvalError on another arm."""
    if bad := [arm for arm in arms if arm not in ("full", "caches")]:
        raise EvalError(f"--arms {bad[0]!r}: full, caches, or both between commas")
    ways, without = [], {}
    if "caches" in arms:
        ways += ["ram", "disk"]
        if reason := pagecache.drop(_files(corpus)):
            without["cold"] = reason
        else:
            ways.append("cold")
    return ways + (["full"] if "full" in arms else []), without


def measure(corpus: Corpus, ways: Sequence[str], requests: int, warmups: int, report: Callable[[str], None]) -> list[Request]:
    """`requests` questions each way, after `warmups` that are not counted. Every round begins with another way, so that drift meets all alike."""
    found: list[Request] = []
    total = warmups + requests
    for number in range(total):
        turned = number % len(ways)
        row = {way: ask(corpus, way, number) for way in [*ways[turned:], *ways[:turned]]}
        if number >= warmups:
            found += [row[way] for way in ways]
        warm = " (warm-up)" if number < warmups else ""
        said = ", ".join(f"{WAYS[way]} {1000 * row[way].first_token:.1f} ms" for way in ways)
        if number % max(1, total // 10) == 0 or number + 1 == total:
            report(f"round {number + 1} of {total}{warm}: {said}")
    return found


def ask(corpus: Corpus, way: str, number: int) -> Request:
    """One question, one way, to its first token. Raises EvalError where the walk fails, or plans fewer pages than were asked for."""
    if way == "full":
        return _full(corpus, number)
    if way == "ram":
        return _served(corpus, way, number)
    with emptied(corpus.house.store):
        if way == "cold" and (reason := pagecache.drop(_files(corpus))):
            raise EvalError(f"cold disk: {reason}")
        return _served(corpus, way, number)


@contextmanager
def emptied(store: CacheStore) -> Iterator[None]:
    """While open, the store's memory is another, empty one of the same size."""
    kept = store.ram, store.patches.ram
    store.ram, store.patches.ram = type(kept[0])(kept[0].limit), type(kept[1])(kept[1].limit)
    try:
        yield
    finally:
        store.ram, store.patches.ram = kept


def _served(corpus: Corpus, way: str, number: int) -> Request:
    question = corpus.question(number)
    for event in answer(question, corpus.house):
        if isinstance(event, Failed):
            raise EvalError(f"{question.text!r} was not answered: {event.message}")
        if isinstance(event, Done):
            told, timings = event.answer, event.answer.timings
            _whole(len(told.provenance), corpus.pages)
            parts = {"retrieve": timings.retrieve, "plan": timings.plan, "load": timings.load, "place": timings.place}
            parts["question"] = timings.prefill
            parts["other"] = timings.first_token - sum(parts.values())
            tokens = len(corpus.house.backbone.question_ids(question.text))
            return Request(
                way, number, parts, timings.first_token, told.plan.rows, tokens, sum(page.bytes_read for page in told.provenance)
            )
    raise EvalError(f"{question.text!r}: no answer came")


def _full(corpus: Corpus, number: int) -> Request:
    house, question = corpus.house, corpus.question(number)
    device = house.backbone.device
    marks = [time.perf_counter()]

    def mark() -> None:
        settle(device)
        marks.append(time.perf_counter())

    hits = house.retriever.search(question.text, question.collection, question.budget.top_k)
    mark()
    plan = make_plan(hits, question.budget)
    _whole(len(plan.picks), corpus.pages)
    mark()
    encoded = house.backbone.encode([corpus.images[key] for key in keys_of(plan)])
    mark()
    ids = house.backbone.question_ids(question.text)
    assembly = prefill_encoded(house.backbone, encoded, room=len(ids) + 1)
    mark()
    for _ in Decode(house.backbone, assembly, ids, question.sampling):
        pass
    mark()
    seconds = [later - earlier for earlier, later in itertools.pairwise(marks)]
    parts = dict(zip(("retrieve", "plan", "encode", "context", "question"), seconds, strict=True))
    return Request("full", number, parts, marks[-1] - marks[0], plan.rows, len(ids))


def _whole(planned: int, wanted: int) -> None:
    if planned < wanted:
        raise EvalError(f"--pages {wanted}: only {planned} pages fit the model's context; ask for fewer pages or a lower DPI")


def _files(corpus: Corpus) -> list[Path]:
    """All files of caches and patches."""
    return sorted(corpus.house.store.folder.rglob("*.safetensors"))
