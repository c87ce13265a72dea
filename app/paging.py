"""A list's limit and cursor go in, as somebody sent them; where to go on, and the cursor of the next part, come out.

A cursor is opaque to clients. Here it is the place of the last row they saw, so that rows which come or go meanwhile neither repeat a row
nor hide one.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Callable
from typing import Annotated, TypeVar

from fastapi import Query

from .errors import BadRequest

DEFAULT, MOST = 50, 200
Limit = Annotated[int, Query(ge=1, le=MOST, description="How many rows at most.")]
After = Annotated[str | None, Query(max_length=2048, description="The `next` of the part before. Left out: from the start.")]

T = TypeVar("T")
P = TypeVar("P", str, int)


def place(cursor: str | None, kind: type[P]) -> P | None:
    """The place that a cursor stands for, None for the start. Raises BadRequest for one that no list gave out."""
    if cursor is None:
        return None
    try:
        found = json.loads(base64.b64decode(cursor.encode("ascii"), altchars=b"-_", validate=True))
        # SQLite counts to 63 bits, and its text has no half surrogate pairs.
        sound = type(found) is kind and (len(found.encode()) > 0 if isinstance(found, str) else 0 <= found < 2**63)
    except (ValueError, RecursionError, binascii.Error):
        sound = False
    if not sound:
        raise BadRequest("`after` is no cursor of this list: take the `next` of the part before, as it came", {"after": "not a cursor"})
    return found  # type: ignore[no-any-return]


def part(rows: list[T], limit: int, where: Callable[[T], str | int]) -> tuple[list[T], str | None]:
    """(up to `limit` rows, the next cursor) of rows that were asked for with one more than the limit; `where` gives a row's place."""
    if len(rows) <= limit:
        return rows, None
    return rows[:limit], base64.urlsafe_b64encode(json.dumps(where(rows[limit - 1])).encode()).decode()
