"""Questions go in; hits and a resolution plan come out. The room's names that load nothing heavy; `index`, `retriever` and the
embedders are imported from their files, for they bring FAISS and torch with them."""

from .catalogue import Catalogue
from .embedder import Embedder, load_embedder
from .errors import (
    CatalogueTooNew,
    EmbedderMismatch,
    EmbedderUnavailable,
    EmptyQuestion,
    NameTaken,
    RetrievalError,
    UnknownCollection,
    UnknownDocument,
    UnknownJob,
    UnknownPage,
)
from .plan import make_plan
from .types import Budget, Chunk, CollectionRow, DocumentRow, Hit, JobRow, PageRef, PageRow, Pick, Plan, Receipt

__all__ = [
    "Budget",
    "Catalogue",
    "CatalogueTooNew",
    "Chunk",
    "CollectionRow",
    "DocumentRow",
    "Embedder",
    "EmbedderMismatch",
    "EmbedderUnavailable",
    "EmptyQuestion",
    "Hit",
    "JobRow",
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
    "load_embedder",
    "make_plan",
]
