"""What can go wrong in retrieval.

RetrievalError
├── UnknownCollection     no collection of that name
├── UnknownDocument       no document with that id
├── UnknownPage           no page with that key
├── UnknownJob            no job with that id
├── NameTaken             another file holds that name in the collection
├── KeyReused             a request's key came before, with another body
├── EmbedderMismatch      the collection was indexed by another embedder
├── EmbedderUnavailable   the embedder's package or files are not installed
├── EmptyQuestion         a question without text
├── EmptyCollection       a collection without a document
└── CatalogueTooNew       the catalogue was written by a newer version
"""


class RetrievalError(Exception):
    """Any failure of retrieval; the message names the value and the cure."""


class UnknownCollection(RetrievalError):
    pass


class UnknownDocument(RetrievalError):
    pass


class UnknownPage(RetrievalError):
    pass


class UnknownJob(RetrievalError):
    pass


class NameTaken(RetrievalError):
    pass


class KeyReused(RetrievalError):
    pass


class EmbedderMismatch(RetrievalError):
    pass


class EmbedderUnavailable(RetrievalError):
    pass


class EmptyQuestion(RetrievalError):
    pass


class EmptyCollection(RetrievalError):
    pass


class CatalogueTooNew(RetrievalError):
    pass
