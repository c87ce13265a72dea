"""What stands in HTTP bodies, field by field: an ask goes in, everything else comes out (answers: bodies_answer.py). These models are
/openapi.json."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

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
    # No pattern here either: the walk says what an id is.
    conversation: str | None = None

    def choices(self) -> dict[str, Any]:
        """What `House.question` takes besides text and collection."""
        return self.model_dump(include={"top_k", "alpha", "cap", "max_tokens", "temperature", "conversation"})


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
    model: str | None = None
    # The doctor's word of the model; unchecked: it has none, and is used all the same.
    verdict: Literal["trusted", "degraded", "unchecked"] | None = None


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


class Verdict(Wire):
    """What `quire doctor` found of the model; `unchecked`: nobody has examined it, and all else is empty."""

    word: Literal["trusted", "degraded", "unchecked"]
    reasons: list[str] = []
    figures: dict[str, Any] = {}
    when: str = ""
    versions: dict[str, str] = {}


class Model(Wire):
    name: str
    says: str
    style: str
    dpis: list[int]
    family: str
    identity: dict[str, str]
    embedder: str
    verdict: Verdict
    limits: ModelLimits
