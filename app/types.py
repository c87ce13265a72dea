"""The online walk's values: a `Question` goes in; `Planned`, `Compiling`, `Token`, `Done` or `Failed` stream out. Imports no other room's code but types."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from retrieval.types import Budget, Plan

Why = Literal["has the answer's words", "closest to the question"]
Finish = Literal["stop", "length", "repetition", "cancelled"]
# "window": it stood in the conversation's window already, and was not fetched. "compiled": it had gone to make room, and was made again.
Tier = Literal["ram", "disk", "window", "compiled"]
# A text page is a page without pixels: its DPI is that of the picture which is drawn of it for people.
ReadAs = Literal["image", "text"]
# An answer has no more, whoever asks.
MOST_TOKENS = 4096


@dataclass(frozen=True)
class Sampling:
    """How the answer is decoded. temperature 0 is greedy; `stop` strings end the answer and are not part of it."""

    max_tokens: int = 64
    temperature: float = 0.0
    top_p: float = 1.0
    seed: int | None = None
    stop: tuple[str, ...] = ()


@dataclass(frozen=True)
class Question:
    """What a person asks of a collection, and what the answer may cost."""

    text: str
    collection: str = "default"
    budget: Budget = field(default_factory=Budget)
    sampling: Sampling = field(default_factory=Sampling)
    # The conversation that it belongs to: an id of the client's own choosing, which is a secret.
    conversation: str | None = None
    # Earlier (question, answer) pairs, of a client that keeps them itself; a conversation has its own.
    history: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class MarkedLine:
    """A line of a page that speaks to the answer: its index, text and box (x0, y0, x1, y1) in points, and why it is marked."""

    index: int
    text: str
    box: tuple[float, float, float, float]
    why: Why


@dataclass(frozen=True)
class Citation:
    """A page that the model read: the document it comes from, its DPI, whether it was read as an image or as text, and its marked lines.
    Width and height are in points."""

    document: str
    name: str
    page: str
    dpi: int
    heading: str
    source_page: int | None
    ordinal: int
    width: float
    height: float
    lines: tuple[MarkedLine, ...] = ()
    read_as: ReadAs = "image"


@dataclass(frozen=True)
class PatchUse:
    """The patch that a page was placed with (Kamera): its kind and rank, what it was conditioned on, its bytes, where it came from.

    `match`: "exact" for these very pages before it, "orbit" for this very set, "subset" where `missing` of them are not known to it,
    "kept" where it knows a page that has left the conversation since, or another order.
    """

    kind: Literal["exact", "orbit", "removal"]
    rank: int
    match: Literal["exact", "orbit", "subset", "kept"]
    given: tuple[str, ...]
    missing: tuple[str, ...]
    bytes: int
    tier: Tier


@dataclass(frozen=True)
class Provenance:
    """Where one page's cache came from and where it was placed: cache rows [first, last), first position, bytes read from disk. `note`:
    why a patch or a cache was passed over (it was damaged), "" mostly."""

    page: str
    dpi: int
    tier: Tier
    bytes_read: int
    first: int
    last: int
    position: int
    patch: PatchUse | None = None
    note: str = ""


@dataclass(frozen=True)
class Timings:
    """Seconds, one after the other; `first_token` is from the question's arrival to the first token, all parts before it included."""

    retrieve: float = 0.0
    plan: float = 0.0
    load: float = 0.0
    place: float = 0.0
    prefill: float = 0.0
    first_token: float = 0.0
    rest: float = 0.0


@dataclass(frozen=True)
class Turn:
    """What a turn of a conversation cost: pages that stayed, came, went and came back; cache rows that were moved; earlier turns that
    the model was told. `turn` counts from 1: a conversation that is new to the server begins there."""

    id: str
    turn: int
    kept: int
    admitted: int
    evicted: int
    recalled: int
    moved_rows: int
    told: int


@dataclass(frozen=True)
class FullPrefill:
    """What prefilling pages anew would have taken on this machine, in seconds at least; `basis` is a sentence that says from what."""

    seconds: float
    basis: str


@dataclass(frozen=True)
class Answer:
    """The whole answer with everything that backs it."""

    question: str
    collection: str
    text: str
    finish: Finish
    tokens: int
    model: str
    plan: Plan
    citations: tuple[Citation, ...]
    provenance: tuple[Provenance, ...]
    timings: Timings
    conversation: Turn | None = None
    full_prefill: FullPrefill | None = None
    # Rows of the context, prefix included, and tokens of the question with what the template puts around it.
    prompt_tokens: int = 0


@dataclass(frozen=True)
class Planned:
    """Which pages will be read, at which DPI; `citations` has them in context order, without marked lines."""

    plan: Plan
    citations: tuple[Citation, ...]


@dataclass(frozen=True)
class Compiling:
    """Image keys of pages whose caches went to make room and are compiled again now."""

    pages: tuple[str, ...]


@dataclass(frozen=True)
class Token:
    """A piece of the answer, to be appended; never empty."""

    text: str


@dataclass(frozen=True)
class Done:
    answer: Answer


@dataclass(frozen=True)
class Failed:
    """The walk ended with an error: its type (a row of `app.errors`), one sentence with the cure, and after how many seconds it makes sense
    to ask again, where that is known."""

    type: str
    message: str
    retry_after: float | None = None


Event = Planned | Compiling | Token | Done | Failed
