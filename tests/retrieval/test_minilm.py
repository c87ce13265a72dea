"""The real all-MiniLM-L6-v2: the card's vectors, the same alone and in a batch, nothing cut off, safe for threads."""

from __future__ import annotations

import shutil
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import AutoModel, AutoTokenizer

from retrieval.errors import EmbedderUnavailable
from retrieval.minilm import MiniLM, packaged_folder

TEXTS = ["A short one.", "The captain of the Aurora was Ingrid Holm. " * 8, "", "Brot backt man bei 230 Grad.", "日本語の文。", "x" * 300]


def test_vectors_are_those_of_the_model_card(minilm: MiniLM) -> None:
    """The card's own recipe, written down with transformers: mean over the mask, then unit length."""
    folder = packaged_folder()
    tokens = AutoTokenizer.from_pretrained(folder, local_files_only=True)(
        TEXTS, padding=True, truncation=True, max_length=256, return_tensors="pt"
    )
    with torch.no_grad():
        hidden = AutoModel.from_pretrained(folder, local_files_only=True).eval()(**tokens).last_hidden_state
    mask = tokens["attention_mask"].unsqueeze(-1)
    expected = torch.nn.functional.normalize((hidden * mask).sum(1) / mask.sum(1)).numpy()
    np.testing.assert_allclose(minilm.embed_passages(TEXTS), expected, atol=1e-5)


def test_a_text_has_the_same_vector_alone_and_in_a_batch(minilm: MiniLM) -> None:
    together = minilm.embed_passages([*TEXTS, *TEXTS[::-1]])
    for text, vector in zip([*TEXTS, *TEXTS[::-1]], together, strict=True):
        np.testing.assert_allclose(minilm.embed_question(text), vector, atol=1e-5)


def test_equal_calls_give_equal_bits_and_unit_float32_rows(minilm: MiniLM) -> None:
    first = minilm.embed_passages(TEXTS)
    assert first.tobytes() == minilm.embed_passages(TEXTS).tobytes()
    assert (first.dtype, first.shape) == (np.float32, (len(TEXTS), minilm.dimension))
    np.testing.assert_allclose(np.linalg.norm(first, axis=1), 1.0, atol=1e-6)
    assert minilm.embed_passages([]).shape == (0, minilm.dimension)


def test_the_end_of_a_long_text_counts(minilm: MiniLM) -> None:
    filler = "Nothing of interest happens on this page of the ledger. " * 60
    plain = minilm.embed_question(filler)
    with_end = minilm.embed_question(filler + "The captain of the Aurora was Ingrid Holm. " * 10)
    question = minilm.embed_question("Who was captain of the Aurora?")
    assert question @ with_end > question @ plain + 0.1


def test_a_long_texts_windows_are_of_nearly_equal_length_and_hold_every_token_once(minilm: MiniLM) -> None:
    for count in (0, 1, 254, 255, 508, 509, 1000):
        windows = minilm._windows(list(range(1000, 1000 + count)))
        assert [token for window in windows for token in window[1:-1]] == list(range(1000, 1000 + count))
        lengths = [len(window) for window in windows]
        assert max(lengths) <= 256
        assert max(lengths) - min(lengths) <= 1
        assert len(windows) == max(1, -(-count // 254))


def test_a_question_is_closer_to_the_passage_that_answers_it(minilm: MiniLM) -> None:
    passages = ["The Aurora sailed for Bergen on 3 May 1911.", "Bake the bread for forty minutes.", "The moon moves the tides."]
    questions = ["When did the ship leave for Norway?", "How long does a loaf stay in the oven?", "What causes ebb and flow?"]
    cosines = np.stack([minilm.embed_question(question) for question in questions]) @ minilm.embed_passages(passages).T
    assert cosines.argmax(axis=1).tolist() == [0, 1, 2]


def test_threads_get_the_vectors_they_would_get_alone(minilm: MiniLM) -> None:
    batches = [[f"{text} {number}" for text in TEXTS[:4]] for number in range(4)]
    alone = [minilm.embed_passages(batch) for batch in batches]
    with ThreadPoolExecutor(4) as pool:
        for expected, found in zip(alone, pool.map(minilm.embed_passages, batches), strict=True):
            np.testing.assert_allclose(found, expected, atol=1e-5)


def test_the_name_holds_the_weights_and_not_the_place(minilm: MiniLM, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(packaged_folder(), copy)
    assert MiniLM(copy).name == minilm.name
    weights = copy / "model.safetensors"
    data = bytearray(weights.read_bytes())
    data[-1] ^= 1
    weights.write_bytes(data)
    assert MiniLM(copy).name != minilm.name


def test_a_folder_without_its_files_or_with_another_pooling_is_unavailable(tmp_path: Path) -> None:
    with pytest.raises(EmbedderUnavailable, match=r"config\.json is missing"):
        MiniLM(tmp_path)
    copy = tmp_path / "copy"
    shutil.copytree(packaged_folder(), copy)
    (copy / "1_Pooling" / "config.json").write_text('{"pooling_mode_cls_token": true}')
    with pytest.raises(EmbedderUnavailable, match="another pooling than the mean"):
        MiniLM(copy)


def test_loading_does_not_bring_sentence_transformers_along(minilm: MiniLM) -> None:
    assert minilm.dimension == 384
    assert "sentence_transformers" not in sys.modules
