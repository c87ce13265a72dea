"""What stands in the bodies of collections, documents, jobs, pages and searches."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import Field

from retrieval.types import By, JobState, PageKind

from .bodies import TOP_K, Box, Problem, Sent, Text, Wire
from .words import COLLECTION

Name = Annotated[Text, Field(pattern=COLLECTION, max_length=64, description="A collection's name.")]
Next = Annotated[str | None, Field(description="Give it as `after` for the rows behind these; null: there are none.")]

# -- what comes in ---------------------------------------------------------------------------------------------------------


class CollectionWish(Sent):
    """`pinned`: its caches stay when others must go to make room. Left out: as it was."""

    pinned: bool | None = None


class TextRequest(Sent):
    """A document as text, under a title. It is kept as a file would be, and named by its title."""

    title: Annotated[Text, Field(min_length=1, max_length=250, examples=["Opening hours"])]
    # Its most is `text_chars`; /openapi.json says it.
    text: Annotated[Text, Field(min_length=1, examples=["The gate opens at nine."])]
    collection: Name = "default"
    replace: bool = False
    media: Literal["text/plain", "text/markdown"] = "text/plain"


class Ids(Sent):
    ids: Annotated[list[Annotated[Text, Field(max_length=128)]], Field(min_length=1, max_length=100)]


class SearchRequest(Sent):
    # Its most is `question_chars`; /openapi.json says it.
    query: Annotated[Text, Field(examples=["When does the gate open?"])]
    collection: Name = "default"
    top_k: int = Field(8, ge=1, le=TOP_K)


# -- jobs ------------------------------------------------------------------------------------------------------------------


class Job(Wire):
    """An upload's way through ingest. A file that was refused at the door is a failed job with an empty id. Of a zip, `detail.members`
    lists what became of each file in it: `{name, state, error, document}`."""

    id: str
    collection: str
    name: str
    state: JobState
    stage: str = ""
    done: int = 0
    total: int = 0
    document: str = ""
    error: str = ""
    detail: Annotated[dict[str, Any], Field(default_factory=dict)]
    created: datetime
    updated: datetime


class Jobs(Wire):
    jobs: list[Job]


class JobList(Jobs):
    next: Next = None


# -- collections and documents ---------------------------------------------------------------------------------------------


class Collection(Wire):
    """`bytes`: what its pages take on the disk; a page that two collections share counts in both."""

    name: str
    documents: int
    pages: int
    model: str
    pinned: bool
    bytes: int


class Collections(Wire):
    collections: list[Collection]
    next: Next = None


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
    next: Next = None


class DocumentPage(Wire):
    page: str
    ordinal: int
    heading: str
    source_page: int | None
    width: float
    height: float
    rows: dict[int, int]
    kind: PageKind


class DocumentPages(Document):
    page_list: list[DocumentPage]


class RemovalReceipt(Wire):
    """All that went: rows, pages, files, and what was remembered of the upload. `shared_pages` live on: another document has them too.

    `artefacts` counts all of it by kind: documents, chunks, vectors, pages, jobs, requests, caches, images, patches, bases, indexes, uploads,
    memory (caches in memory), conversations (that had something of it; left out where the model was busy: they let go of it as soon as it is
    not). `left`: files that could not be removed yet, and will be.
    """

    document: str
    name: str
    chunks: int
    vectors: int
    removed_pages: list[str]
    shared_pages: list[str]
    removed_files: list[str]
    jobs: list[str]
    uploads: int
    bytes: int
    artefacts: dict[str, int]
    left: list[str]


class NotRemoved(Wire):
    id: str
    error: Problem


class Removals(Wire):
    receipts: list[RemovalReceipt]
    failed: list[NotRemoved]


class CollectionRemoval(Wire):
    collection: str
    documents: list[RemovalReceipt]
    bytes: int


# -- pages -----------------------------------------------------------------------------------------------------------------


class PageLine(Wire):
    text: str
    box: Box


class Page(Wire):
    """Sizes and boxes in points. A `native` page is a picture or a scan: it has lines only where OCR found them."""

    key: str
    width: float
    height: float
    lines: list[PageLine]
    rows: dict[int, int]
    documents: list[str]
    kind: PageKind


class Hit(Wire):
    """A page that was found, by its meaning, by words of the query, or both: its score is a cosine, `text` the beginning of its chunk,
    `image` the address of its picture."""

    document: str
    name: str
    page: str
    ordinal: int
    heading: str
    source_page: int | None
    score: float
    by: By
    text: Annotated[str, Field(max_length=500)]
    image: str


class Hits(Wire):
    hits: list[Hit]


class PatchRow(Wire):
    """A stored patch: the page at its DPI, the page images it was formed behind, its rank, its layers, its bytes on the disk."""

    page: str
    dpi: int
    given: list[str]
    kind: Literal["exact", "orbit", "removal"]
    rank: int | None
    layers: int
    bytes: int


class Patches(Wire):
    patches: list[PatchRow]
    next: Next = None
