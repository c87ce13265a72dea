"""What stands in HTTP bodies, field by field: what every route shares, and the model. Documents: bodies_documents.py; answers:
bodies_answer.py; other clients' chats: bodies_chat.py. These models are /openapi.json."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

TOP_K = 64
Box = tuple[float, float, float, float]


def _whole(text: str) -> str:
    """Half a surrogate pair, which JSON can spell, is no text: neither a database nor a reply could carry it."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ValueError(f"character {error.start + 1} is half of a surrogate pair; send whole Unicode text") from error
    return text


Text = Annotated[str, AfterValidator(_whole)]


class Wire(BaseModel):
    model_config = ConfigDict(from_attributes=True)


class Sent(BaseModel):
    """What comes in: a field that there is not is refused, for it is most often a slip of the pen."""

    model_config = ConfigDict(extra="forbid")


# -- errors and health -----------------------------------------------------------------------------------------------------


class Problem(Wire):
    """`type` is for programs, `message` one sentence with the cure, `detail` facts that a program may want."""

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


# -- the model -------------------------------------------------------------------------------------------------------------


class ModelLimits(Wire):
    file_bytes: int
    question_chars: int
    top_k: int
    upload_bytes: int
    request_files: int
    text_chars: int


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


# -- stats -----------------------------------------------------------------------------------------------------------------


class Bytes(Wire):
    """Bytes on the disk. `caches` by DPI; `total` is the whole home."""

    caches: dict[int, int]
    images: int
    patches: int
    index: int
    catalogue: int
    spool: int
    total: int


class Ram(Wire):
    """Page caches that are kept in memory. `hits` and `misses` count pages of answers since the server started."""

    bytes: int
    limit: int
    hits: int
    misses: int


class Waiting(Wire):
    waiting: int
    limit: int


class JobCounts(Wire):
    queued: int
    running: int
    done: int
    failed: int
    cancelled: int


class Questions(Wire):
    answered: int
    failed: int


class Quantiles(Wire):
    """Seconds to the first token, of the last thousand answers."""

    p50: float
    p99: float


class Stats(Wire):
    documents: int
    pages: int
    chunks: int
    collections: int
    bytes: Bytes
    limit_bytes: int | None
    evicted_pages: int
    ram: Ram
    # Mean bytes of one page by DPI, and "image" for its picture; null where none is stored.
    bytes_per_page: dict[str, float | None]
    queue: Waiting
    jobs: JobCounts
    questions: Questions
    first_token: Quantiles | None
    uptime: float = Field(description="Seconds since the house was opened.")
