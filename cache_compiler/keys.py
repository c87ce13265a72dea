"""A string that somebody else may have chosen goes in; it comes out again if it can name a file, or as an error: it never becomes a path."""

from __future__ import annotations

import re

from .errors import CacheMiss

_IMAGE = re.compile(r"[0-9a-f]{8,64}@[0-9]{2,3}")
_DIGEST = re.compile(r"[0-9a-f]{32}")


def is_image_key(key: str) -> bool:
    """Whether it has the form `<page key>@<dpi>`."""
    return _IMAGE.fullmatch(key) is not None


def is_digest(name: str) -> bool:
    """Whether it has the form of `PatchKey.digest` and `Basis.digest`."""
    return _DIGEST.fullmatch(name) is not None


def image_key(key: str) -> str:
    """The key itself. Raises CacheMiss on what is none."""
    if not is_image_key(key):
        raise CacheMiss(f"{key!r} is not a page image's key", key=key)
    return key


def digest(name: str) -> str:
    """The digest itself. Raises CacheMiss on what is none."""
    if not is_digest(name):
        raise CacheMiss(f"{name!r} is not the digest of a patch or a basis", key=name)
    return name
