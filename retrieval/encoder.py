"""Weight files go in; a transformers encoder ready to be called comes out, and the digest that tells two of them apart."""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from .errors import EmbedderUnavailable


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
