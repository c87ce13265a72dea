"""A name goes in; an `Embedder` comes out: texts to unit vectors, the same way for ingest and for questions."""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

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


def weights_digest(files: Iterable[Path]) -> str:
    """The first 16 hex digits of a SHA-256 over names and contents of `files`: what tells two embedders apart."""
    whole = hashlib.sha256()
    for path in sorted(files, key=lambda path: path.name):
        with path.open("rb") as file:
            whole.update(f"{path.name}:{hashlib.file_digest(file, 'sha256').hexdigest()};".encode())
    return whole.hexdigest()[:16]


def load_encoder(weights: Path, device: str) -> Any:
    """The transformers model in the folder of `weights` (a safetensors file, or a .bin read as tensors only): fp32, ready to be called.

    Raises EmbedderUnavailable where the weights cannot be read or lack a layer.
    """
    import torch
    from safetensors import SafetensorError
    from transformers import AutoModel

    try:
        with _quiet():
            model, report = AutoModel.from_pretrained(
                weights.parent,
                local_files_only=True,
                trust_remote_code=False,
                use_safetensors=weights.suffix == ".safetensors",
                weights_only=True,
                dtype=torch.float32,
                output_loading_info=True,
            )
    except (OSError, ValueError, RuntimeError, SafetensorError, pickle.UnpicklingError) as reason:
        raise EmbedderUnavailable(f"{weights} cannot be loaded ({reason}): download the model again or give another folder") from reason
    # The library would go on with random numbers in their place. Its pooler alone may be missing: no embedder here asks it.
    missing = sorted(key for key in report["missing_keys"] if not key.startswith("pooler."))
    if missing:
        raise EmbedderUnavailable(f"{weights} has no {', '.join(missing[:3])}, ...: download the model again or give another folder")
    return model.to(device).eval()


@contextmanager
def _quiet() -> Iterator[None]:
    """No progress bar for this load; warnings stay, and so does the bar of whoever loads next."""
    from transformers.utils import logging

    shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            logging.enable_progress_bar()
