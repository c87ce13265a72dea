"""What stands in the body of a question, of its answer, and in the events that stream it."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from retrieval.types import Why

from . import types
from .bodies import TOP_K, Box, Sent, Text, Wire


class AskRequest(Sent):
    """A question and what its answer may cost; what is left out is as the settings and the model's card say."""

    # No upper bound here: the walk counts against `question_chars` and names it; /openapi.json says it.
    question: Annotated[Text, Field(examples=["When does the gate open?"])]
    collection: Annotated[Text, Field(max_length=64)] = "default"
    top_k: int | None = Field(None, ge=1, le=TOP_K)
    alpha: float | None = Field(None, ge=0, le=1)
    cap: int | None = Field(None, ge=0, le=TOP_K)
    max_tokens: int | None = Field(None, ge=1, le=types.MOST_TOKENS)
    temperature: float = Field(0.0, ge=0, le=5)
    stream: bool = Field(False, description="Events `planned`, `compiling`, `token`, `done` or `failed` instead of one body.")
    # No pattern here either: the walk says what an id is.
    conversation: Annotated[Text, Field(description="8 to 64 letters, digits, - and _. Whoever knows it can go on with it.")] | None = None

    def choices(self) -> dict[str, Any]:
        """What `House.question` takes besides text and collection."""
        return self.model_dump(include={"top_k", "alpha", "cap", "max_tokens", "temperature", "conversation"})


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
    why: Literal["has the answer's words", "closest to the question"]


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
    # Why a patch or a cache was passed over; mostly empty.
    note: str


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


class FullPrefill(Wire):
    """What prefilling the answer's pages anew would have taken on this machine at least, and what that is reckoned from."""

    seconds: float
    basis: str


class Answer(Wire):
    """`prompt_tokens`: rows of the context, and tokens of the question behind it."""

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
    full_prefill: FullPrefill | None
    prompt_tokens: int


class Planned(Wire):
    plan: PlanOut
    citations: list[Citation]


class Token(Wire):
    text: str


class Compiling(Wire):
    """Page images whose caches went to make room and are made again now: the answer waits for them."""

    pages: list[str]
