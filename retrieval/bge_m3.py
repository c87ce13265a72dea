"""Texts go in; dense unit vectors [n, 1024] of BGE-M3 come out, through FlagEmbedding (the extra `bge`). QV-PIC embeds with BGE-M3.

The vector is the first token's state, so a text beyond the model's length cannot be dealt into windows: it is an error.
"""

from __future__ import annotations

import importlib.util
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from retrieval.embedder import weights_digest
from retrieval.errors import EmbedderUnavailable, RetrievalError
from retrieval.vectors import Vectors, unit_rows

REPOSITORY = "BAAI/bge-m3"
# FlagEmbedding 1.4.2 imports its rerankers with the embedder, and one of them a module that transformers 5.24 has dropped.
CURE = "FlagEmbedding 1.4.2 needs transformers 5.23 or older, a later one may not: `pip install -U FlagEmbedding`"
# The model card's limit.
LONGEST = 8192
BATCH = 16
# Part of the embedder's identity: raise it when what is embedded changes.
RULE = 1


class BgeM3:
    """BGE-M3's dense vectors. A lock lets one thread in at a time: FlagEmbedding sets its tokenizer up anew in every call."""

    def __init__(self, folder: Path, device: str = "cpu") -> None:
        weights = [path for path in (folder / "model.safetensors", folder / "pytorch_model.bin") if path.is_file()][:1]
        files = [*weights, folder / "config.json", folder / "tokenizer.json"]
        if not weights or not all(file.is_file() for file in files):
            raise EmbedderUnavailable(
                f"{folder} lacks weights, config.json or tokenizer.json: download {REPOSITORY} whole, or give its folder"
            )
        self.name = f"bge-m3/{RULE}:{weights_digest(files)}"
        # fp32: in half precision BGE-M3 has given NaN for some texts.
        self._model = _flag_model()(str(folder), use_fp16=False, devices=device, batch_size=BATCH)
        config = self._model.model.model.config
        self.dimension = int(config.hidden_size)
        # Positions start behind the padding token's.
        self._longest = min(LONGEST, int(config.max_position_embeddings) - int(config.pad_token_id) - 1)
        self._lock = threading.Lock()

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """Unit vectors [n, dimension] in the order of `texts`. Raises RetrievalError naming a text without a usable vector."""
        if not texts:
            return np.zeros((0, self.dimension), dtype=np.float32)
        with self._lock:
            for text, ids in zip(texts, self._model.tokenizer(list(texts), truncation=False)["input_ids"], strict=True):
                if len(ids) > self._longest:
                    raise RetrievalError(
                        f"{text[:60]!r}... has {len(ids)} tokens, BGE-M3 reads {self._longest}: make chunks or question shorter"
                    )
            dense = self._model.encode(
                list(texts), max_length=self._longest, return_dense=True, return_sparse=False, return_colbert_vecs=False
            )["dense_vecs"]
        return unit_rows(dense, texts)

    def embed_question(self, text: str) -> Vectors:
        """The unit vector [dimension] of a question; BGE-M3 needs no instruction before it."""
        return self.embed_passages([text])[0]


def cached_folder() -> Path:
    """Where the hub's cache on this machine holds BGE-M3. Raises EmbedderUnavailable where it does not; nothing is downloaded."""
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import LocalEntryNotFoundError

    try:
        return Path(snapshot_download(REPOSITORY, local_files_only=True))
    except LocalEntryNotFoundError as reason:
        raise EmbedderUnavailable(
            f"{REPOSITORY} is not on this machine: run `hf download {REPOSITORY}`, or give the folder it is in"
        ) from reason


def _flag_model() -> Any:
    if importlib.util.find_spec("FlagEmbedding") is None:
        raise EmbedderUnavailable("FlagEmbedding is not installed: run `pip install -e '.[bge]'`, or use the embedder 'minilm'")
    try:
        from FlagEmbedding import BGEM3FlagModel
    except ImportError as reason:
        raise EmbedderUnavailable(
            f"FlagEmbedding is installed but does not load ({reason}): {CURE}, or use the embedder 'minilm'"
        ) from reason
    return BGEM3FlagModel
