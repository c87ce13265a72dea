"""Ingest's values: a loaded `Document`, and the `Report` of a run. Imports no other room."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Stage = Literal["load", "ocr", "chunk", "paginate", "rasterise", "compile", "patch", "store", "index", "done", "skipped", "failed"]


@dataclass(frozen=True)
class Block:
    """A run of a document's text that belongs together: [start, end) in `Document.text`, under `heading`, from `page` (1-based; None: no pages)."""

    start: int
    end: int
    heading: str = ""
    page: int | None = None
    kind: Literal["heading", "paragraph", "table", "list"] = "paragraph"


@dataclass(frozen=True)
class Scan:
    """A page of the source that is a picture and holds no text: its number (from 1, as `Block.page` counts), and its own size in points.

    It stands before the blocks of later pages. No pixel of it has been decoded: `darkroom` does that, in a child process.
    """

    number: int
    width: float
    height: float


@dataclass(frozen=True)
class Native:
    """A scan that was developed: its page number in the source, the page's key, its rows per DPI, and the text recognised on it ("": none)."""

    number: int
    key: str
    rows: Mapping[int, int]
    text: str = ""


@dataclass(frozen=True)
class Document:
    """A file's text as one string with its blocks in reading order, the pages of it that are pictures, and what a reader of the report
    should know (`notes`)."""

    name: str
    source: str
    sha256: str
    bytes: int
    media: str
    text: str
    blocks: tuple[Block, ...]
    # Printed pages of the source; 0 where the format has none.
    source_pages: int = 0
    notes: tuple[str, ...] = ()
    scans: tuple[Scan, ...] = ()


@dataclass(frozen=True)
class Failure:
    """Why a file is not in the collection: the file, the place in it where one is known, the kind of error and one sentence with the cure."""

    name: str
    kind: str
    reason: str
    place: str = ""


@dataclass(frozen=True)
class Done:
    """A file that went in. `compiled` counts page images run through the model now, `reused` those already in the store; `patches` those
    formed now."""

    name: str
    document: str
    chunks: int
    pages: int
    compiled: int
    reused: int
    seconds: float
    notes: tuple[str, ...] = ()
    patches: int = 0


@dataclass(frozen=True)
class Report:
    """The outcome of a run: every file is in exactly one of the four lists. `passed`: found in a folder, and of a kind that is not read."""

    collection: str
    done: tuple[Done, ...] = ()
    skipped: tuple[str, ...] = ()
    failed: tuple[Failure, ...] = ()
    passed: tuple[str, ...] = ()
    cancelled: bool = False
    seconds: float = 0.0


@dataclass(frozen=True)
class Limits:
    """What a file may cost. All are settings; an error names the one that was met."""

    file_bytes: int = 64 * 1024 * 1024
    text_chars: int = 20_000_000
    source_pages: int = 5_000
    rendered_pages: int = 4_000
    # What a container (DOCX) may unpack to.
    unpacked_bytes: int = 256 * 1024 * 1024
    # Pixels of one picture, or of one scanned page.
    image_pixels: int = 50_000_000
    # Files in one archive.
    archive_members: int = 1_000
    parse_seconds: float = 120.0
    parse_memory: int = 2 * 1024 * 1024 * 1024


@dataclass(frozen=True)
class Progress:
    """Where a run stands: the file, its stage, and done of total in that stage (files, pages or page images)."""

    name: str
    stage: Stage
    done: int = 0
    total: int = 0
    detail: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Evicted:
    """Image keys whose caches went, how many patch files, the bytes that this freed, and what caches, images and patches take now."""

    caches: tuple[str, ...] = ()
    patches: int = 0
    bytes: int = 0
    held: int = 0
