"""A name goes in; an `Embedder` comes out: texts to unit vectors, the same way for ingest and for questions."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from .errors import EmbedderUnavailable
from .vectors import Vectors


class Embedder(Protocol):
    """Turns texts into unit vectors. Safe to call from several threads at once.

    `name` is the identity a collection is bound to: it holds a digest of the weights and the number of the pooling rule, so two
    embedders with one name give the same vectors. `embed_passages` gives float32 [n, dimension], `embed_question` [dimension].
    Both raise RetrievalError naming the text for which the model gave NaN, infinity or a zero vector.
    """

    @property
    def name(self) -> str: ...

    @property
    def dimension(self) -> int: ...

    def embed_passages(self, texts: Sequence[str]) -> Vectors: ...

    def embed_question(self, text: str) -> Vectors: ...


def load_embedder(name: str = "minilm", device: str = "cpu") -> Embedder:
    """Load "minilm", "bge-m3", or a folder with the files of one of the two. Nothing is ever downloaded.

    A folder with `colbert_linear.pt` is a BGE-M3; one with a mean pooling in `1_Pooling/config.json` is a sentence model like MiniLM.
    Raises EmbedderUnavailable with the cure where package or files are missing.
    """
    if name == "minilm":
        from .minilm import MiniLM, packaged_folder

        return MiniLM(packaged_folder(), device)
    if name == "bge-m3":
        from .bge_m3 import BgeM3, cached_folder

        return BgeM3(cached_folder(), device)
    folder = Path(name)
    if (folder / "colbert_linear.pt").is_file():
        from .bge_m3 import BgeM3

        return BgeM3(folder, device)
    if (folder / "1_Pooling" / "config.json").is_file():
        from .minilm import MiniLM

        return MiniLM(folder, device)
    raise EmbedderUnavailable(
        f"no embedder {name!r}: use 'minilm', 'bge-m3', or a folder that holds colbert_linear.pt (BGE-M3) or 1_Pooling/config.json (MiniLM)"
    )
