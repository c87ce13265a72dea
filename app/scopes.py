"""A method and a path go in; the route's template and what a key needs for it come out. This table is the only place that decides it.

A route that is not in the table is nobody's: where keys are in force the doors let no request through that they cannot place, and a test
holds the table against the application's own routes. The templates are also what logs and metrics say of a request: ids in paths may be secrets.
"""

from __future__ import annotations

from dataclasses import dataclass
from re import Pattern

from starlette.routing import compile_path

READ, ASK, WRITE = SCOPES = ("read", "ask", "write")
# Open to everybody: what a page needs before a person has typed a key, and what a supervisor asks.
PUBLIC = "public"
UNKNOWN = "(none)"

ROUTES: dict[tuple[str, str], str] = {
    ("GET", "/"): PUBLIC,
    ("GET", "/static/{path:path}"): PUBLIC,
    ("GET", "/livez"): PUBLIC,
    ("GET", "/readyz"): PUBLIC,
    ("GET", "/metrics"): READ,
    ("GET", "/openapi.json"): READ,
    ("GET", "/v1/model"): READ,
    ("GET", "/v1/stats"): READ,
    ("GET", "/v1/collections"): READ,
    ("GET", "/v1/collections/{name}"): READ,
    ("PUT", "/v1/collections/{name}"): WRITE,
    ("DELETE", "/v1/collections/{name}"): WRITE,
    ("GET", "/v1/documents"): READ,
    ("POST", "/v1/documents"): WRITE,
    ("POST", "/v1/documents/text"): WRITE,
    ("POST", "/v1/documents/delete"): WRITE,
    ("GET", "/v1/documents/{document}"): READ,
    ("DELETE", "/v1/documents/{document}"): WRITE,
    ("GET", "/v1/jobs"): READ,
    ("GET", "/v1/jobs/events"): READ,
    ("GET", "/v1/jobs/{job}"): READ,
    ("GET", "/v1/jobs/{job}/events"): READ,
    ("POST", "/v1/jobs/{job}/cancel"): WRITE,
    ("POST", "/v1/jobs/{job}/retry"): WRITE,
    ("POST", "/v1/search"): READ,
    ("POST", "/v1/ask"): ASK,
    ("DELETE", "/v1/conversations/{conversation}"): ASK,
    ("GET", "/v1/pages/{key}.png"): READ,
    ("GET", "/v1/pages/{key}"): READ,
    ("GET", "/v1/patches"): READ,
    ("POST", "/v1/chat/completions"): ASK,
    ("GET", "/v1/models"): READ,
    ("GET", "/v1/models/{model:path}"): READ,
}
# Each takes the model, and counts against `ask_rate`; they end with a `failed` event when the server is told to stop.
ANSWERS = frozenset(["/v1/ask", "/v1/chat/completions"])
# These never end by themselves.
WATCHES = frozenset(["/v1/jobs/events", "/v1/jobs/{job}/events"])
# Files, and the text of one: their bodies may be as large as `upload_bytes` says.
UPLOADS = frozenset(["/v1/documents", "/v1/documents/text"])


@dataclass(frozen=True)
class Place:
    """Where a request belongs: its route's template, and the scope it needs; UNKNOWN and None where there is no such route. `allow`: the
    methods that the address takes, where this is none of them."""

    template: str
    scope: str | None
    allow: str = ""

    @property
    def public(self) -> bool:
        return self.scope == PUBLIC


_PATTERNS: list[tuple[Pattern[str], str, dict[str, str]]] = []
for (_method, _template), _scope in ROUTES.items():
    if not _PATTERNS or _PATTERNS[-1][1] != _template:
        _PATTERNS.append((compile_path(_template)[0], _template, {}))
    _PATTERNS[-1][2][_method] = _scope


def place(method: str, path: str) -> Place:
    """The first route that fits, in the table's order. A method that a known route does not take has its template and no scope."""
    wanted, template, methods = "GET" if method == "HEAD" else method, UNKNOWN, set[str]()
    for pattern, name, scopes in _PATTERNS:
        # As Starlette's router matches, to the letter: `$` also stands before a last newline, and what is routed must have been placed.
        if pattern.match(path):
            if wanted in scopes:
                return Place(name, scopes[wanted])
            template = name if template == UNKNOWN else template
            methods.update(scopes)
    return Place(template, None, ", ".join(sorted(methods)))
