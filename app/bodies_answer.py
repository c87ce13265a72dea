"""What stands in the body of an answer, and in the events that stream it."""

from __future__ import annotations

from typing import Literal

from retrieval.types import Why

from . import types
from .bodies import Box, Wire


class PickOut(Wire):
    page: str
    document: str
    dpi: int
    score: float
    why: Why
    rows: int


class PlanOut(Wire):
    rows: int
    picks: list[PickOut]
    ranking: list[int]
    dropped: list[int]


class Line(Wire):
    index: int
    text: str
    box: Box
    why: Literal["holds the answer", "closest to the question"]


class Citation(Wire):
    document: str
    name: str
    page: str
    dpi: int
    image: str
    heading: str
    source_page: int | None
    ordinal: int
    width: float
    height: float
    lines: list[Line]
    read_as: types.ReadAs


class PatchUse(Wire):
    kind: Literal["exact", "orbit", "removal"]
    rank: int
    match: Literal["exact", "orbit", "subset", "kept"]
    given: list[str]
    missing: list[str]
    bytes: int
    tier: types.Tier


class Provenance(Wire):
    page: str
    dpi: int
    tier: types.Tier
    bytes_read: int
    first: int
    last: int
    position: int
    patch: PatchUse | None


class Timings(Wire):
    retrieve: float
    plan: float
    load: float
    place: float
    prefill: float
    first_token: float
    rest: float


class Turn(Wire):
    id: str
    turn: int
    kept: int
    admitted: int
    evicted: int
    recalled: int
    moved_rows: int
    told: int


class Answer(Wire):
    question: str
    collection: str
    text: str
    finish: types.Finish
    tokens: int
    model: str
    plan: PlanOut
    citations: list[Citation]
    provenance: list[Provenance]
    timings: Timings
    conversation: Turn | None


class Planned(Wire):
    plan: PlanOut
    citations: list[Citation]


class Token(Wire):
    text: str
