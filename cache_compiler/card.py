"""A model directory goes in; its `Card` comes out: which page style it reads, how many pages it takes, and what it can be asked."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path

from .errors import ModelNotFound


@dataclass(frozen=True)
class Card:
    """What a directory says of its model in `quire.json`; the defaults are for a model that says nothing (Glyph, GLM-4.1V)."""

    style: str = "glyph-a4"
    top_k: int = 8
    max_tokens: int = 256
    turns: int = 4  # how many earlier questions and answers it is told with a new one
    says: str = "It reads page images; what it can answer depends on the model you loaded."


# The same of a model that reads text alone: small pages, for a token of text costs as much as one of an image and holds far less.
TEXT = Card(style="text-a6", says="It reads the text of the pages; what it can answer depends on the model you loaded.")


def read_card(directory: Path, default: Card | None = None) -> Card:
    """Read `quire.json`; what it leaves out, or all without one, is as in `default`. Raises ModelNotFound on a file that cannot be read."""
    path, default = directory / "quire.json", default or Card()
    if not path.exists():
        return default
    try:
        return replace(default, **json.loads(path.read_text(encoding="utf-8")))
    except (ValueError, TypeError) as error:
        raise ModelNotFound(f"{path}: {error}; see cache_compiler/card.py for its fields") from error
