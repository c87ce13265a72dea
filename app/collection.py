"""What somebody calls a collection goes in; a collection's name comes out, or BadRequest."""

from __future__ import annotations

import re

from .errors import BadRequest

PATTERN = r"^[a-z0-9][a-z0-9_-]{0,63}$"


def collection_name(raw: str) -> str:
    """Small letters, digits, "-" and "_", 64 at most, starting with a letter or digit: it stands in addresses, tables and folders' names."""
    if not re.fullmatch(PATTERN, raw):
        raise BadRequest(
            f"{raw[:80]!a} cannot name a collection: use small letters, digits, - and _, starting with a letter or digit, at most 64",
            {"collection": PATTERN},
        )
    return raw
