"""What somebody typed goes in; a collection's name or a question's text comes out, or BadRequest."""

from __future__ import annotations

import re

from .errors import BadRequest

COLLECTION = r"^[a-z0-9][a-z0-9_-]{0,63}$"


def collection_name(raw: str) -> str:
    """Small letters, digits, "-" and "_", 64 at most, starting with a letter or digit: it stands in addresses and tables."""
    if not re.fullmatch(COLLECTION, raw):
        raise BadRequest(
            f"{raw[:80]!a} cannot name a collection: use small letters, digits, - and _, starting with a letter or digit, at most 64",
            {"collection": COLLECTION},
        )
    return raw


def question_text(raw: str) -> str:
    """The text, if it is whole Unicode: half a surrogate pair (JSON can spell one, and so can a shell) has no tokens."""
    try:
        raw.encode()
    except UnicodeEncodeError as error:
        raise BadRequest(
            f"the question cannot be read at its character {error.start + 1}: send whole Unicode text", {"question": "not Unicode"}
        ) from error
    return raw
