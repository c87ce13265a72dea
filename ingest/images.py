"""Page images go in by key; the PNGs that the model read come out as files."""

from __future__ import annotations

import re
from pathlib import Path

from PIL import Image

from cache_compiler.files import write_atomic
from renderer.types import PageImage
from retrieval.errors import UnknownPage

_KEY = re.compile(r"[0-9a-f]{8,64}@[0-9]{2,3}")


class ImageStore:
    """Content-addressed PNGs: the same page at the same DPI is written once, whatever document it stands in."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def path(self, key: str) -> Path:
        """Where `<page key>@<dpi>` is kept. Raises UnknownPage on a string that is not a key: it never becomes a path."""
        if not _KEY.fullmatch(key):
            raise UnknownPage(f"{key!r} is not a page image's key")
        return self.root / key[:2] / f"{key}.png"

    def has(self, key: str) -> bool:
        return self.path(key).exists()

    def put(self, image: PageImage) -> None:
        path = self.path(image.key)
        if not path.exists():
            write_atomic(path, image.png())

    def get(self, key: str, cell: int) -> PageImage:
        """The page image as it was put, pixel for pixel; `cell` is the model's.

        Raises UnknownPage when there is no such image, or its file cannot be read.
        """
        page, _, dpi = key.partition("@")
        try:
            with Image.open(self.path(key)) as found:
                found.load()
                return PageImage(page, int(dpi), cell, found.convert("RGB"))
        except (OSError, SyntaxError, ValueError) as error:  # Pillow's PNG reader speaks of damage with all three
            raise UnknownPage(
                f"{key}: its image is missing or damaged ({error}); `quire repair` draws it again, or says which file to ingest again"
            ) from error
