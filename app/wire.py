"""The rooms' dataclasses go in; what stands in HTTP bodies comes out, and the other way round for an ask. These models are /openapi.json."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from retrieval.types import Chunk, CollectionRow, DocumentRow, JobRow, PageRow, Plan, Receipt, Why

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
    tier: Literal["ram", "disk", "compiled"]
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


# -- from dataclasses ------------------------------------------------------------------------------------------------------


def job(row: JobRow) -> Job:
    # The spool's name stays at home: it is nobody's business where an upload waits.
    return Job.model_validate({name: value for name, value in asdict(row).items() if name != "spool"})


def refused(name: str, collection: str, kind: str, message: str) -> Job:
    """A file that was turned away at the door: a failed job without an id, for nothing of it is kept."""
    return Job(id="", collection=collection, name=name, state="failed", error=message, detail={"type": kind})


def collection(row: CollectionRow, documents: int, pages: int) -> Collection:
    return Collection(name=row.name, documents=documents, pages=pages, model=row.identity.get("model", ""))


def document(row: DocumentRow) -> Document:
    return Document.model_validate(row)


def document_pages(row: DocumentRow, chunks: Iterable[Chunk], pages: Mapping[str, PageRow]) -> DocumentPages:
    """A document with its pages in reading order; `pages` holds the geometry of each by key."""
    listed = [
        DocumentPage(
            page=ref.key,
            ordinal=chunk.ordinal,
            heading=chunk.heading,
            source_page=chunk.source_page,
            width=pages[ref.key].width,
            height=pages[ref.key].height,
            rows=dict(ref.rows),
        )
        for chunk in chunks
        for ref in chunk.pages
    ]
    return DocumentPages(**document(row).model_dump(), page_list=listed)


def receipt(row: Receipt, files: Iterable[str], size: int) -> RemovalReceipt:
    return RemovalReceipt.model_validate({**asdict(row), "removed_files": list(files), "bytes": size})


def page(row: PageRow, documents: Iterable[str]) -> Page:
    lines = [PageLine(text=text, box=(x0, y0, x1, y1)) for text, x0, y0, x1, y1 in row.lines]
    return Page(key=row.key, width=row.width, height=row.height, lines=lines, rows=dict(row.rows), documents=list(documents))


def plan(value: Plan) -> PlanOut:
    picks = [
        PickOut(page=pick.page.key, document=pick.chunk.document, dpi=pick.dpi, score=pick.score, why=pick.why, rows=pick.rows)
        for pick in value.picks
    ]
    return PlanOut(rows=value.rows, picks=picks, ranking=list(value.ranking), dropped=list(value.dropped))


def citation(value: types.Citation) -> Citation:
    return Citation.model_validate({**asdict(value), "image": f"/pages/{value.page}.png?dpi={value.dpi}"})


def answer(value: types.Answer) -> Answer:
    return Answer(
        question=value.question,
        collection=value.collection,
        text=value.text,
        finish=value.finish,
        tokens=value.tokens,
        model=value.model,
        plan=plan(value.plan),
        citations=[citation(item) for item in value.citations],
        provenance=[Provenance.model_validate(item) for item in value.provenance],
        timings=Timings.model_validate(value.timings),
    )


def event(value: types.Event) -> tuple[str, Wire]:
    """An event's name in a stream, and its data."""
    if isinstance(value, types.Planned):
        return "planned", Planned(plan=plan(value.plan), citations=[citation(item) for item in value.citations])
    if isinstance(value, types.Token):
        return "token", Token(text=value.text)
    if isinstance(value, types.Done):
        return "done", answer(value.answer)
    return "failed", ErrorBody(error=Problem(type=value.type, message=value.message))
