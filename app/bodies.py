"""What stands in HTTP bodies, field by field: an ask goes in, everything else comes out. These models are /openapi.json."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from retrieval.types import Why

from . import types

TOP_K = 64
Box = tuple[float, float, float, float]


class Wire(BaseModel):
    model_config = ConfigDict(from_attributes=True)


# -- what comes in ---------------------------------------------------------------------------------------------------------


class AskRequest(BaseModel):
    """A question and what its answer may cost; what is left out is as the settings and the model's card say."""

    model_config = ConfigDict(extra="forbid")

    # No upper bound here: the walk counts against `question_chars` and names it.
    question: str
    collection: str = Field("default", max_length=64)
    top_k: int | None = Field(None, ge=1, le=TOP_K)
    alpha: float | None = Field(None, ge=0, le=1)
    cap: int | None = Field(None, ge=0, le=TOP_K)
    max_tokens: int | None = Field(None, ge=1, le=4096)
    temperature: float = Field(0.0, ge=0, le=5)
    stream: bool = False

    def choices(self) -> dict[str, Any]:
        """What `House.question` takes besides text and collection."""
        return self.model_dump(include={"top_k", "alpha", "cap", "max_tokens", "temperature"})


# -- what goes out: errors and health --------------------------------------------------------------------------------------


class Problem(Wire):
    type: str
    message: str
    detail: dict[str, Any] = {}


class ErrorBody(Wire):
    error: Problem


class Alive(Wire):
    alive: bool = True


class Ready(Wire):
    ready: bool
    reason: str | None = None


# -- what goes out: documents and jobs -------------------------------------------------------------------------------------


class Job(Wire):
    id: str
    collection: str
    name: str
    state: Literal["queued", "running", "done", "failed", "cancelled"]
    stage: str = ""
    done: int = 0
    total: int = 0
    document: str = ""
    error: str = ""
    detail: dict[str, Any] = {}


class Jobs(Wire):
    jobs: list[Job]


class Collection(Wire):
    name: str
    documents: int
    pages: int
    model: str


class Collections(Wire):
    collections: list[Collection]


class Document(Wire):
    id: str
    collection: str
    name: str
    media: str
    bytes: int
    chars: int
    chunks: int
    pages: int
    notes: list[str]


class Documents(Wire):
    documents: list[Document]


class DocumentPage(Wire):
    page: str
    ordinal: int
    heading: str
    source_page: int | None
    width: float
    height: float
    rows: dict[int, int]


class DocumentPages(Document):
    page_list: list[DocumentPage]


class RemovalReceipt(Wire):
    document: str
    name: str
    chunks: int
    vectors: int
    removed_pages: list[str]
    shared_pages: list[str]
    removed_files: list[str]
    bytes: int


class PageLine(Wire):
    text: str
    box: Box


class Page(Wire):
    key: str
    width: float
    height: float
    lines: list[PageLine]
    rows: dict[int, int]
    documents: list[str]


class ModelLimits(Wire):
    file_bytes: int
    question_chars: int
    top_k: int


class Model(Wire):
    name: str
    says: str
    style: str
    dpis: list[int]
    family: str
    identity: dict[str, str]
    embedder: str
    limits: ModelLimits


# -- what goes out: answers ------------------------------------------------------------------------------------------------


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


class Provenance(Wire):
    page: str
    dpi: int
    tier: Literal["ram", "disk"]
    bytes_read: int
    first: int
    last: int
    position: int
    patch: str | None


class Timings(Wire):
    retrieve: float
    plan: float
    load: float
    place: float
    prefill: float
    first_token: float
    rest: float


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


class Planned(Wire):
    plan: PlanOut
    citations: list[Citation]


class Token(Wire):
    text: str
