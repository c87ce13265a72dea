"""The sample documents go in; twenty answers come out beside the expected ones, each with its page and its time against a full prefill."""

from __future__ import annotations

import json
import os
import statistics
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from PIL import Image

from app.ask import answer
from app.house import House
from app.settings import Settings
from app.types import Answer, Done, Failed
from cache_compiler.prefill import full_prefill
from ingest.pipeline import ingest
from renderer.types import PageImage, image_key

from . import card
from .arms import Bench
from .score import exact_match, wilson

SAMPLES = Path(__file__).resolve().parent.parent / "samples"
QUESTIONS = SAMPLES / "questions.jsonl"
COLLECTION = "samples"


@dataclass(frozen=True)
class Asked:
    """One of the twenty: what was asked, what should come, what came, and how long a full prefill of the same pages took."""

    question: str
    expected: str
    document: str
    answer: Answer
    full_first_token: float

    @property
    def right(self) -> bool:
        return exact_match(self.answer.text, [self.expected])


def demo(home: str | None) -> int:
    """Take in samples/, ask, compare, and say how to go on. Exit code 1 when a sample could not be taken in."""
    settings = Settings(home=Path(home)) if home else Settings()
    print("Loading the embedded reader ...", flush=True)
    house = House.open(settings)
    try:
        paths = sorted(path for path in SAMPLES.iterdir() if path != QUESTIONS)
        report = ingest(paths, COLLECTION, house.workshop)
        pages, compiled = sum(done.pages for done in report.done), sum(done.compiled for done in report.done)
        print(
            f"{len(report.done)} documents taken in, {len(report.skipped)} were there already, {len(report.failed)} failed: "
            f"{pages} pages, {compiled} page images compiled, {report.seconds:.1f} s"
        )
        for failure in report.failed:
            print(f"  {failure.name}: {failure.reason}", file=sys.stderr)
        print(f"\n{house.backbone.card.says}\n", flush=True)
        asked = [_ask(house, json.loads(line)) for line in QUESTIONS.read_text(encoding="utf-8").splitlines()]
        _print_verdict(asked)
        quire = f"{_program()} {{}}" + (f" --home {home}" if home else "")
        print(f"\nAsk your own:   {quire.format('ask')} --collection {COLLECTION} {asked[0].question!r}")
        print(f"Open the page:  {quire.format('serve')}   then http://{settings.host}:{settings.port}/?collection={COLLECTION}")
        return 1 if report.failed else 0
    finally:
        house.close()


def _program() -> str:
    """How this was started, so that the lines which follow can be typed as they stand."""
    started = Path(sys.argv[0])
    return os.path.relpath(started) if started.name == "quire" else "quire"


def _ask(house: House, row: dict[str, str]) -> Asked:
    question = house.question(row["question"], COLLECTION)
    for event in answer(question, house):
        if isinstance(event, Failed):
            raise RuntimeError(f"{row['question']}: {event.message}")
        if isinstance(event, Done):
            asked = Asked(row["question"], row["answer"], row["document"], event.answer, _full_prefill(house, event.answer))
            _print_one(asked)
            return asked
    raise RuntimeError(f"{row['question']}: no answer came")


def _full_prefill(house: House, answered: Answer) -> float:
    """Seconds from page images to first token for the very pages that were read, by the model's own full prefill."""
    images = []
    for pick in answered.plan.picks:
        image = Image.open(house.workshop.images.path(image_key(pick.page.key, pick.dpi)))
        image.load()  # a file is read when it is first looked at: before the clock, for a page that is drawn needs no reading
        images.append(PageImage(pick.page.key, pick.dpi, house.workshop.style.cell, image))
    begun = time.perf_counter()
    assembly = full_prefill(house.backbone, images, room=64)
    Bench(house.backbone, house.workshop.style).reply(assembly, answered.question, max_tokens=1)
    return time.perf_counter() - begun


def _print_one(asked: Asked) -> None:
    read = ", ".join(
        f"{citation.name} p. {citation.source_page or citation.ordinal + 1} at {citation.dpi} DPI" for citation in asked.answer.citations
    )
    timings = asked.answer.timings
    print(f"{'✓' if asked.right else '✗'} {asked.question}")
    print(f"    answer    {asked.answer.text or '(nothing)'}")
    if not asked.right:
        print(f"    expected  {asked.expected}")
    print(f"    read from {read}")
    for line in [line for citation in asked.answer.citations for line in citation.lines][:1]:
        print(f"    {line.why}: {line.text.strip()}")
    print(
        f"    first token {timings.first_token - timings.retrieve:.3f} s from page caches, {asked.full_first_token:.3f} s by full prefill "
        f"(and {timings.retrieve:.3f} s to find the page, either way)",
        flush=True,
    )


def _print_verdict(asked: list[Asked]) -> None:
    right, n = sum(one.right for one in asked), len(asked)
    low, high = wilson(right, n)
    # The card's figure is measured, too, on other questions: of two measurements it is asked whether they can be of one reader.
    said, lowest, highest = card.stated(card.ROWS[0], "120")
    overlap = lowest <= high * 100 and low * 100 <= highest
    found = sum(any(citation.name == one.document for citation in one.answer.citations) for one in asked)
    ratio = statistics.median((one.answer.timings.first_token - one.answer.timings.retrieve) / one.full_first_token for one in asked)
    print(f"\n{right} of {n} exactly right: {100 * right / n:.0f} % (95 % interval {100 * low:.0f} to {100 * high:.0f} %).")
    print(
        f"The reader's card says {said} % ({lowest:.0f} to {highest:.0f}) for one page at 120 DPI: the intervals {'overlap' if overlap else 'DO NOT OVERLAP'}."
    )
    print(f"The document that holds the answer was retrieved {found} times of {n}.")
    print(f"First token from page caches: {ratio:.2f} of the time of a full prefill of the same pages (median, without retrieval).")
