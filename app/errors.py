"""Any room's error goes in; its HTTP status, its exit code and the one JSON shape come out. This file is the only table of them.

AppError
├── Busy               as many questions wait as may wait; come back in `retry_after` seconds
├── NotReady           the house is still loading, or could not be loaded
├── BadRequest         a request that cannot be read: its fields, its form, its collection's name
├── QuestionTooLong    more characters than `question_chars`
├── RequestTooLarge    more bytes in a request than its limit
├── TooManyFiles       more files in an upload than `request_files`
├── ForeignHost        a Host header of another machine, on a server that is bound to this one (DNS rebinding)
├── ForeignOrigin      another site's page wants to change something here
├── BadSettings        a setting of that name or value there is not
├── RemoteRefused      serving beyond this machine without an API key
├── Unauthorized       no key, or none that is known
├── NotFound           an address that is in no table of routes
├── MethodNotAllowed   a method that an address does not take; `allow` are those that it does
├── Forbidden          a key whose scopes do not cover the request
├── TooManyRequests    more requests a minute than `rate` or `ask_rate`, or too many wrong keys; come back in `retry_after` seconds
├── RequestTooSlow     a request of which nothing came for `body_seconds`
├── ShuttingDown       the server was told to stop: ask again, it will be another one's turn
├── BadKeys            the file of API keys cannot be read or trusted, or a key that is to be made or revoked cannot be
├── UnknownConversation  no conversation of that id: never begun, closed, or the least recently used of too many
├── UnknownModel       a chat asks a model, or a model with a collection, that is not here
├── Unchecked          nobody has examined the model: it has no verdict in this home
├── ModelRefused       the doctor examined the model and refused it
├── BadConversation    an id that is none, or that belongs to a conversation over another collection
└── DiskFull           no room left where the home is
"""

from __future__ import annotations

import errno
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from cache_compiler import errors as cache
from ingest import errors as files
from renderer import errors as pages
from retrieval import errors as search


class AppError(Exception):
    """Any failure of the front itself; the message names the value, the limit and the cure."""


class Busy(AppError):
    """`retry_after`: seconds after which it makes sense to ask again."""

    def __init__(self, message: str, retry_after: float = 2.0) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class NotReady(AppError):
    """`retry_after`: seconds after which it makes sense to look again."""

    def __init__(self, message: str, retry_after: float = 2.0) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class BadRequest(AppError):
    """`fields` maps each field that is wrong to what is wrong with it."""

    def __init__(self, message: str, fields: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.fields = dict(fields or {})


class QuestionTooLong(AppError):
    pass


class RequestTooLarge(AppError):
    pass


class TooManyFiles(AppError):
    pass


class ForeignHost(AppError):
    pass


class ForeignOrigin(AppError):
    pass


class BadSettings(AppError):
    pass


class RemoteRefused(AppError):
    pass


class Unauthorized(AppError):
    pass


class NotFound(AppError):
    pass


class MethodNotAllowed(AppError):
    def __init__(self, message: str, allow: str) -> None:
        super().__init__(message)
        self.allow = allow


class Forbidden(AppError):
    pass


class TooManyRequests(AppError):
    """`retry_after`: seconds after which the next request is let through."""

    def __init__(self, message: str, retry_after: float) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class RequestTooSlow(AppError):
    pass


class ShuttingDown(AppError):
    retry_after = 5.0


class BadKeys(AppError):
    pass


class UnknownConversation(AppError):
    pass


class BadConversation(AppError):
    pass


class UnknownModel(AppError):
    pass


class Unchecked(AppError):
    pass


class ModelRefused(AppError):
    pass


class DiskFull(AppError):
    pass


@dataclass(frozen=True)
class Row:
    """What an error is to a client (`status`) and to a shell (`exit`)."""

    status: int
    exit: int


# Exit codes, by what a script would do next. 1 is a run in which some file failed, 2 also argparse's own.
WRONG_USE, NOT_FOUND, BAD_FILE, CONFLICT, TRY_LATER, INSTALLATION, STORAGE, INTERNAL, STOPPED = 2, 3, 4, 5, 6, 7, 8, 70, 130

TABLE: dict[type[Exception], Row] = {
    AppError: Row(500, INTERNAL),
    Busy: Row(503, TRY_LATER),
    NotReady: Row(503, TRY_LATER),
    BadRequest: Row(422, WRONG_USE),
    QuestionTooLong: Row(413, WRONG_USE),
    RequestTooLarge: Row(413, WRONG_USE),
    TooManyFiles: Row(413, WRONG_USE),
    ForeignHost: Row(421, WRONG_USE),
    ForeignOrigin: Row(403, WRONG_USE),
    BadSettings: Row(500, WRONG_USE),
    RemoteRefused: Row(500, WRONG_USE),
    Unauthorized: Row(401, WRONG_USE),
    NotFound: Row(404, NOT_FOUND),
    MethodNotAllowed: Row(405, WRONG_USE),
    Forbidden: Row(403, WRONG_USE),
    TooManyRequests: Row(429, TRY_LATER),
    RequestTooSlow: Row(408, TRY_LATER),
    ShuttingDown: Row(503, TRY_LATER),
    BadKeys: Row(503, STORAGE),
    UnknownConversation: Row(404, NOT_FOUND),
    BadConversation: Row(422, WRONG_USE),
    UnknownModel: Row(404, NOT_FOUND),
    Unchecked: Row(503, INSTALLATION),
    ModelRefused: Row(503, INSTALLATION),
    DiskFull: Row(507, STORAGE),
    # -- files: what a person can mend in the file is 4xx
    files.IngestError: Row(500, INTERNAL),
    files.LoadError: Row(422, BAD_FILE),
    files.UnsupportedType: Row(415, BAD_FILE),
    files.EmptyFile: Row(422, BAD_FILE),
    files.NoText: Row(422, BAD_FILE),
    files.PasswordNeeded: Row(422, BAD_FILE),
    files.DamagedFile: Row(422, BAD_FILE),
    files.TooLarge: Row(413, BAD_FILE),
    files.ParserStopped: Row(422, BAD_FILE),
    files.BadName: Row(400, BAD_FILE),
    files.HomeBusy: Row(503, TRY_LATER),
    files.QueueFull: Row(503, TRY_LATER),
    files.NoRoom: Row(507, STORAGE),
    files.BadBackup: Row(500, STORAGE),
    files.HomeNotEmpty: Row(409, CONFLICT),
    files.Cancelled: Row(409, STOPPED),
    # -- search
    search.RetrievalError: Row(500, INTERNAL),
    search.UnknownCollection: Row(404, NOT_FOUND),
    search.UnknownDocument: Row(404, NOT_FOUND),
    search.UnknownPage: Row(404, NOT_FOUND),
    search.UnknownJob: Row(404, NOT_FOUND),
    search.NameTaken: Row(409, CONFLICT),
    search.KeyReused: Row(409, CONFLICT),
    search.EmbedderMismatch: Row(409, CONFLICT),
    search.EmbedderUnavailable: Row(503, INSTALLATION),
    search.EmptyQuestion: Row(422, WRONG_USE),
    search.EmptyCollection: Row(409, NOT_FOUND),
    search.CatalogueTooNew: Row(503, INSTALLATION),
    # -- caches: 409, for the request is sound and the store is not what it needs (ingest again, or repair)
    cache.CacheError: Row(500, INTERNAL),
    cache.ModelError: Row(503, INSTALLATION),
    cache.ModelNotFound: Row(503, INSTALLATION),
    cache.UnsupportedFamily: Row(503, INSTALLATION),
    cache.TapMismatch: Row(503, INSTALLATION),
    cache.TemplateError: Row(503, INSTALLATION),
    cache.IdentityMismatch: Row(409, CONFLICT),
    cache.StoreTooNew: Row(503, INSTALLATION),
    cache.CacheMiss: Row(409, STORAGE),
    cache.CorruptCache: Row(409, STORAGE),
    cache.StoreUnwritable: Row(507, STORAGE),
    cache.BadVerdict: Row(503, INSTALLATION),
    cache.ContextTooLong: Row(422, WRONG_USE),
    cache.PatchError: Row(500, STORAGE),
    cache.PatchMismatch: Row(409, STORAGE),
    cache.RankTooHigh: Row(422, WRONG_USE),
    cache.CorruptPatch: Row(409, STORAGE),
    cache.WindowError: Row(500, INTERNAL),
    cache.WindowTooSmall: Row(422, WRONG_USE),
    cache.WindowClosed: Row(409, CONFLICT),
    cache.NotInWindow: Row(404, NOT_FOUND),
    # -- pages
    pages.RendererError: Row(500, INTERNAL),
    pages.UnknownStyle: Row(503, INSTALLATION),
    pages.FontProblem: Row(503, INSTALLATION),
    pages.PageTooLarge: Row(422, BAD_FILE),
}

UNKNOWN = Row(500, INTERNAL)
_BY_NAME = {kind.__name__: row for kind, row in TABLE.items()}
# Attributes of errors that a client may want to read without taking the sentence apart.
_DETAIL = ("field", "stored", "loaded", "key", "place", "fields")


def known(error: BaseException) -> Exception | None:
    """The error if the table has a row for it, DiskFull for a full disk, or None: then it is a fault of ours, and its text is nobody's."""
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        return DiskFull("there is no room left on the disk that holds the home: make room, then run it again; what is done is kept")
    return error if isinstance(error, Exception) and any(kind in TABLE for kind in type(error).__mro__) else None


def row_of(error: BaseException) -> Row:
    """The nearest row up the error's own tree; UNKNOWN for an error that no room has drawn."""
    return next((TABLE[kind] for kind in type(error).__mro__ if kind in TABLE), UNKNOWN)


def row_named(name: str) -> Row:
    """The row of an error that only its name is known of (`Failed.type`)."""
    return _BY_NAME.get(name, UNKNOWN)


def shape(kind: str, message: str, detail: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The one JSON shape of an error: `{"error": {"type", "message", "detail"}}`."""
    return {"error": {"type": kind, "message": message, "detail": dict(detail or {})}}


def body(error: Exception) -> dict[str, Any]:
    """The shape of a known error, with those of its facts that are set."""
    detail = {name: value for name in _DETAIL if (value := getattr(error, name, None))}
    return shape(type(error).__name__, str(error), detail)
