"""Retrieval's values: chunks, hits, the resolution plan and the catalogue's rows. Imports no other room; pages are known by string keys."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

PageKind = Literal["text", "native"]
# "kept": the page stands there from an earlier question of the conversation, at that DPI.
Why = Literal["relevant", "fallback", "context", "uniform", "kept"]
# How hits are looked for: by vectors and by words, or by vectors alone, as in QV-PIC.
Search = Literal["hybrid", "dense"]
By = Literal["meaning", "words", "both"]


@dataclass(frozen=True)
class PageRef:
    """A page image set: the page's key and, per DPI, how many rows its cache has (visual tokens and its two marks)."""

    key: str
    rows: Mapping[int, int]


@dataclass(frozen=True)
class Chunk:
    """A piece of a document. [start, end) is its range in the document's text; `source_page` counts from 1 (None: the format has no pages)."""

    id: int
    document: str
    ordinal: int
    text: str
    start: int
    end: int
    heading: str = ""
    source_page: int | None = None
    pages: tuple[PageRef, ...] = ()


@dataclass(frozen=True)
class Hit:
    """A chunk with its cosine similarity to the question (QV-PIC, equation 5, before clipping), however it was found: `by` says that, and
    `rank` as the how-manieth, counted from 0. In a hybrid search ranks do not follow cosines."""

    chunk: Chunk
    score: float
    by: By = "meaning"
    rank: int = 0


@dataclass(frozen=True)
class Budget:
    """How much context a question may take. alpha and cap are QV-PIC's alpha = 0.65 and B = 4 (Experiments, Implementation)."""

    top_k: int = 8
    alpha: float = 0.65
    cap: int = 4
    low: int = 72
    high: int = 120
    # Rows the whole context may take; None: no limit. Promotions go first, then the least relevant chunks; what went is in `Plan.dropped`.
    max_rows: int | None = None


@dataclass(frozen=True)
class Pick:
    """A page with the DPI it gets, the score of its chunk, and why it got that DPI."""

    chunk: Chunk
    page: PageRef
    dpi: int
    score: float
    why: Why

    @property
    def rows(self) -> int:
        return self.page.rows[self.dpi]


@dataclass(frozen=True)
class Plan:
    """Exactly one DPI for every page of every retrieved chunk, in context order (QV-PIC, equation 7)."""

    picks: tuple[Pick, ...]
    # Chunk ids by falling similarity: used for resolution only, never for order.
    ranking: tuple[int, ...]
    # Chunk ids that did not fit `Budget.max_rows`.
    dropped: tuple[int, ...] = ()

    @property
    def rows(self) -> int:
        """N(q) of equation 8, marks included."""
        return sum(pick.rows for pick in self.picks)


@dataclass(frozen=True)
class CollectionRow:
    """A collection is made for one model, one page style and one embedder; `identity` and `embedder` are what must match.

    `model` is what people call that model, and nothing is compared with it: the same weights may lie in another folder tomorrow.
    `pinned`: its caches stay when others must go to make room.
    """

    name: str
    identity: Mapping[str, str]
    embedder: str
    dimension: int
    model: str = ""
    pinned: bool = False

    @property
    def model_name(self) -> str:
        """As people call it, or of a collection of before that was noted its architecture."""
        return self.model or self.identity.get("model", "")


@dataclass(frozen=True)
class DocumentRow:
    """A document as the catalogue knows it. `source` tells a changed file (same source) from another file of the same name."""

    id: str
    collection: str
    name: str
    source: str
    sha256: str
    bytes: int
    media: str
    chars: int
    chunks: int = 0
    pages: int = 0
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class PageRow:
    """A page's geometry: sizes and line boxes in points, and rows per DPI; `lines` are (text, x0, y0, x1, y1).

    `kind`: "text" was laid out here, so its boxes are exact; "native" is a picture or a scan, with lines only where OCR found them.
    """

    key: str
    width: float
    height: float
    lines: tuple[tuple[str, float, float, float, float], ...]
    rows: Mapping[int, int]
    kind: PageKind = "text"


@dataclass(frozen=True)
class Receipt:
    """What a deletion removed: rows here, files by key in the caller. `shared` pages live on, for another document owns them.

    `jobs` are the ids of its uploads' rows, `spools` the names of uploaded files that were still kept, `uploads` how many remembered
    requests went with them.
    """

    document: str
    name: str
    chunks: int
    vectors: int
    removed_pages: tuple[str, ...]
    shared_pages: tuple[str, ...]
    jobs: tuple[str, ...] = ()
    spools: tuple[str, ...] = ()
    uploads: int = 0
    collection: str = ""


JobState = Literal["queued", "running", "done", "failed", "cancelled"]


@dataclass(frozen=True)
class JobRow:
    """An upload's way through ingest. `stage`, `done` and `total` are its progress; `error` is the report's line where it failed.

    `created` and `updated` are seconds since 1970 and, as `number`, the order of arrival, the catalogue's to set (0: not in it yet).
    None of the three counts when two rows are compared.
    """

    id: str
    collection: str
    name: str
    spool: str
    state: JobState = "queued"
    stage: str = ""
    done: int = 0
    total: int = 0
    document: str = ""
    error: str = ""
    detail: Mapping[str, Any] = field(default_factory=dict)
    created: float = field(default=0.0, compare=False)
    updated: float = field(default=0.0, compare=False)
    number: int = field(default=0, compare=False)


@dataclass(frozen=True)
class UploadRow:
    """A request that carried a key of the client's own: what a digest of its body was, and the jobs it was answered with, at a time
    (seconds since 1970)."""

    key: str
    digest: str
    jobs: tuple[str, ...]
    at: float = 0.0


@dataclass(frozen=True)
class Pending:
    """What deletions have noted and files still have: page-image keys, collections whose index may hold vectors, names of uploads."""

    images: tuple[str, ...] = ()
    indexes: tuple[str, ...] = ()
    uploads: tuple[str, ...] = ()

    @property
    def any(self) -> bool:
        return bool(self.images or self.indexes or self.uploads)


@dataclass(frozen=True)
class Counts:
    """How much is there, in the whole catalogue or in one collection; a page that several documents own counts once. Jobs by state."""

    collections: int
    documents: int
    chunks: int
    pages: int
    jobs: Mapping[str, int]
