"""Texts go in; dense unit vectors [n, 1024] of BGE-M3 come out, through transformers itself. QV-PIC embeds with BGE-M3.

The dense vector (M3-Embedding, arXiv:2402.03216, section 3.2) is XLM-RoBERTa's last hidden state of the first token at unit length. It
is computed here and not by FlagEmbedding, the authors' package: that one (1.4.2) does not import under the transformers this product
needs (5.24). Where it does import, under 5.23, its vectors are these to 1e-5; the tests hold the two against each other.

As the vector is one token's state, a text beyond the model's length cannot be dealt into windows: it is an error.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from tokenizers import Tokenizer

from .encoder import load_encoder, weights_digest
from .errors import EmbedderUnavailable, RetrievalError
from .vectors import Vectors, unit_rows

REPOSITORY = "BAAI/bge-m3"
# The model card's limit.
LONGEST = 8192
# Tokens of a batch, padding included: thirty-two chunks of 512, or two texts of the longest kind, so that memory does not grow with both.
BATCH_TOKENS = 16384
# Part of the embedder's identity: raise it when what is embedded changes, for stored vectors no longer match then.
RULE = 1


class BgeM3:
    """BGE-M3's dense vectors. Loaded once; tokenizer and model are never changed after, so threads need no lock."""

    def __init__(self, folder: Path, device: str = "cpu") -> None:
        weights = [path for path in (folder / "model.safetensors", folder / "pytorch_model.bin") if path.is_file()][:1]
        files = [*weights, folder / "config.json", folder / "tokenizer.json"]
        if not weights or not all(file.is_file() for file in files):
            raise EmbedderUnavailable(
                f"{folder} lacks weights, config.json or tokenizer.json: download {REPOSITORY} whole, or give its folder"
            )
        self.name = f"bge-m3/{RULE}:{weights_digest(files)}"
        self._device = device
        self._tokenizer: Tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        # A file may ask for cutting and padding; both would silently change what is embedded.
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        # fp32: in half precision BGE-M3 has given NaN for some texts.
        self._model = load_encoder(weights[0], device)
        self.dimension = int(self._model.config.hidden_size)
        opening = self._tokenizer.encode("").ids[:1]
        if opening != [self._model.config.bos_token_id]:
            raise EmbedderUnavailable(
                f"{folder}: the tokenizer opens a text with {opening}, the model reads its vector from "
                f"[{self._model.config.bos_token_id}]: download {REPOSITORY} whole"
            )
        self._padding = int(self._model.config.pad_token_id)
        # Positions start behind the padding token's.
        self._longest = min(LONGEST, int(self._model.config.max_position_embeddings) - self._padding - 1)

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """Unit vectors [n, dimension] in the order of `texts`.

        Raises RetrievalError naming a text that is too long for the model, or one without a usable vector.
        """
        tokens = [encoding.ids for encoding in self._tokenizer.encode_batch(list(texts))]
        for text, ids in zip(texts, tokens, strict=True):
            if len(ids) > self._longest:
                raise RetrievalError(
                    f"{text[:60]!r}... has {len(ids)} tokens, BGE-M3 reads {self._longest}: make chunks or question shorter"
                )
        # Batches of like length waste little on padding; the longest come first, so that memory that does not suffice shows at once.
        order = sorted(range(len(texts)), key=lambda row: -len(tokens[row]))
        states = np.zeros((len(texts), self.dimension), dtype=np.float32)
        while order:
            size = max(1, BATCH_TOKENS // len(tokens[order[0]]))
            rows, order = order[:size], order[size:]
            states[rows] = self._first_states([tokens[row] for row in rows])
        return unit_rows(states, texts)

    def embed_question(self, text: str) -> Vectors:
        """The unit vector [dimension] of a question; BGE-M3 needs no instruction before it."""
        return self.embed_passages([text])[0]

    @torch.inference_mode()
    def _first_states(self, batch: list[list[int]]) -> np.ndarray:
        """The last hidden state of each text's first token: [texts, dimension]. The longest text comes first."""
        # XLM-RoBERTa counts positions over what is not the padding token, so rows are filled with that one and no other.
        ids = torch.full((len(batch), len(batch[0])), self._padding, dtype=torch.long)
        mask = torch.zeros_like(ids)
        for row, text in enumerate(batch):
            ids[row, : len(text)] = torch.tensor(text)
            mask[row, : len(text)] = 1
        hidden = self._model(input_ids=ids.to(self._device), attention_mask=mask.to(self._device)).last_hidden_state
        return np.asarray(hidden[:, 0].cpu().numpy())


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
