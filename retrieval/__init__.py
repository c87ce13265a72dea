"""Questions go in; hits and a resolution plan come out. The room's names that load nothing heavy; `index`, `retriever` and the
embedders are imported from their files, for they bring FAISS and torch with them."""

from .catalogue import Catalogue
from .embedder import Embedder, load_embedder
from .errors import (
    CatalogueTooNew,
    EmbedderMismatch,
    EmbedderUnavailable,
    EmptyQuestion,
    KeyReused,
    NameTaken,
    RetrievalError,
    UnknownCollection,
    UnknownDocument,
    UnknownJob,
    UnknownPage,
)
from .plan import make_plan
from .types import Budget, Chunk, CollectionRow, Counts, DocumentRow, Hit, JobRow, PageRef, PageRow, Pick, Plan, Receipt, UploadRow

__all__ = [
    "Budget",
    "Catalogue",
    "CatalogueTooNew",
    "Chunk",
    "CollectionRow",
    "Counts",
    "DocumentRow",
    "Embedder",
    "EmbedderMismatch",
    "EmbedderUnavailable",
    "EmptyQuestion",
    "Hit",
    "JobRow",
    "KeyReused",
    "NameTaken",
    "PageRef",
    "PageRow",
    "Pick",
    "Plan",
    "Receipt",
    "RetrievalError",
    "UnknownCollection",
    "UnknownDocument",
    "UnknownJob",
    "UnknownPage",
    "UploadRow",
    "load_embedder",
    "make_plan",
]
