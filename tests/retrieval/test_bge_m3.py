"""BGE-M3's own rule on a tiny random checkpoint of its architecture, with FlagEmbedding as the judge where it loads."""

from __future__ import annotations

import importlib.util
import json
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from retrieval import bge_m3 as bge_file
from retrieval.bge_m3 import BgeM3, cached_folder
from retrieval.embedder import load_embedder
from retrieval.errors import EmbedderUnavailable, RetrievalError

TEXTS = ["the captain of the ship", "bread", "the moon moves the tides of the sea, says the captain"]


class Spike:
    """An object whose unpickling would make a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, tuple[object, ...]]:
        return Path.touch, (self.path,)


def loads() -> str:
    """Why FlagEmbedding cannot be used here; empty where it can."""
    if importlib.util.find_spec("FlagEmbedding") is None:
        return "FlagEmbedding is not installed (the extra `bge`)"
    try:
        import FlagEmbedding  # noqa: F401
    except ImportError as reason:
        return f"FlagEmbedding is installed but does not load: {reason}"
    return ""


REASON = loads()


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """XLM-RoBERTa with random weights, a word tokenizer, and the two linear layers that come with BGE-M3."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast, XLMRobertaConfig, XLMRobertaModel

    folder = tmp_path_factory.mktemp("bge")
    words = ["<s>", "<pad>", "</s>", "<unk>", *sorted({word for text in TEXTS for word in text.replace(",", " ,").split()})]
    tokenizer = Tokenizer(models.WordLevel({word: number for number, word in enumerate(words)}, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.TemplateProcessing(single="<s> $A </s>", special_tokens=[("<s>", 0), ("</s>", 2)])
    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        bos_token="<s>",
        eos_token="</s>",
        unk_token="<unk>",
        pad_token="<pad>",
        cls_token="<s>",
        sep_token="</s>",
    ).save_pretrained(folder)
    torch.manual_seed(0)
    config = XLMRobertaConfig(
        vocab_size=len(words), hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32, max_position_embeddings=66
    )
    XLMRobertaModel(config).save_pretrained(folder)
    torch.save(torch.nn.Linear(16, 16).state_dict(), folder / "colbert_linear.pt")
    torch.save(torch.nn.Linear(16, 1).state_dict(), folder / "sparse_linear.pt")
    return folder


@pytest.fixture(scope="module")
def bge(checkpoint: Path) -> BgeM3:
    return BgeM3(checkpoint)


def test_a_vector_is_the_first_tokens_state_at_unit_length(bge: BgeM3, checkpoint: Path) -> None:
    from transformers import AutoModel, AutoTokenizer

    model, tokenizer = AutoModel.from_pretrained(checkpoint).eval(), AutoTokenizer.from_pretrained(checkpoint)
    with torch.no_grad():
        first = [model(**tokenizer(text, return_tensors="pt")).last_hidden_state[0, 0] for text in TEXTS]
    expected = torch.nn.functional.normalize(torch.stack(first)).numpy()
    found = bge.embed_passages(TEXTS)
    assert (found.dtype, found.shape, bge.dimension) == (np.float32, (3, 16), 16)
    np.testing.assert_allclose(found, expected, atol=1e-5)
    for text, vector in zip(TEXTS, expected, strict=True):
        np.testing.assert_allclose(bge.embed_question(text), vector, atol=1e-5)
    assert bge.embed_passages([]).shape == (0, 16)


@pytest.mark.skipif(bool(REASON), reason=REASON)
def test_flag_embedding_gives_the_same_vectors(bge: BgeM3, checkpoint: Path) -> None:
    from FlagEmbedding import BGEM3FlagModel

    texts = [*TEXTS, "bread " * 62, "", "bread \u65e5\u672c", "the ship, the sea"]
    judge = BGEM3FlagModel(str(checkpoint), use_fp16=False, devices="cpu", batch_size=2)
    dense = judge.encode(texts, max_length=64, return_dense=True, return_sparse=False, return_colbert_vecs=False)["dense_vecs"]
    np.testing.assert_allclose(bge.embed_passages(texts), dense, atol=1e-5)


def test_a_text_has_the_same_vector_alone_and_in_any_batch(bge: BgeM3, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [*TEXTS, "bread " * 62, "", *TEXTS[::-1]]
    alone = [bge.embed_question(text) for text in texts]
    for tokens in (1, 20, 10_000):
        monkeypatch.setattr(bge_file, "BATCH_TOKENS", tokens)
        np.testing.assert_allclose(bge.embed_passages(texts), alone, atol=1e-5)


def test_threads_get_the_vectors_they_would_get_alone(bge: BgeM3) -> None:
    batches = [[f"{text} {'moon ' * number}" for text in TEXTS] for number in range(6)]
    alone = [bge.embed_passages(batch) for batch in batches]
    with ThreadPoolExecutor(3) as pool:
        for expected, found in zip(alone, pool.map(bge.embed_passages, batches), strict=True):
            np.testing.assert_allclose(found, expected, atol=1e-5)


def test_weights_as_the_authors_publish_them_give_the_same_vectors(bge: BgeM3, checkpoint: Path, tmp_path: Path) -> None:
    folder = tmp_path / "published"
    shutil.copytree(checkpoint, folder)
    torch.save(load_file(folder / "model.safetensors"), folder / "pytorch_model.bin")
    (folder / "model.safetensors").unlink()
    published = BgeM3(folder)
    np.testing.assert_array_equal(published.embed_passages(TEXTS), bge.embed_passages(TEXTS))
    assert published.name != bge.name


def test_weights_that_hold_more_than_tensors_are_not_run(checkpoint: Path, tmp_path: Path) -> None:
    folder = tmp_path / "spiked"
    shutil.copytree(checkpoint, folder)
    (folder / "model.safetensors").unlink()
    torch.save({"embeddings.word_embeddings.weight": Spike(tmp_path / "ran")}, folder / "pytorch_model.bin")
    with pytest.raises(EmbedderUnavailable, match="cannot be loaded"):
        BgeM3(folder)
    assert not (tmp_path / "ran").exists()


def test_a_tokenizer_that_does_not_open_a_text_is_refused(checkpoint: Path, tmp_path: Path) -> None:
    folder = tmp_path / "bare"
    shutil.copytree(checkpoint, folder)
    tokenizer = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))
    tokenizer["post_processor"] = None
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer), encoding="utf-8")
    with pytest.raises(EmbedderUnavailable, match=r"opens a text with \[\], the model reads its vector from \[0\]"):
        BgeM3(folder)


def test_a_text_beyond_the_models_length_is_named_and_not_cut_off(bge: BgeM3) -> None:
    bge.embed_question("bread " * 62)
    with pytest.raises(RetrievalError, match=r"'bread .*'\.\.\. has 65 tokens, BGE-M3 reads 64"):
        bge.embed_passages(["moon", "bread " * 63])


def test_a_folder_with_the_linear_layers_is_taken_for_bge_m3(bge: BgeM3, checkpoint: Path) -> None:
    loaded = load_embedder(str(checkpoint))
    assert isinstance(loaded, BgeM3)
    assert loaded.name == bge.name


def test_broken_weights_name_the_text_instead_of_storing_nan(checkpoint: Path, tmp_path: Path) -> None:
    shutil.copytree(checkpoint, tmp_path / "broken")
    weights = load_file(tmp_path / "broken" / "model.safetensors")
    weights["embeddings.LayerNorm.weight"][:] = float("nan")
    save_file(weights, tmp_path / "broken" / "model.safetensors", metadata={"format": "pt"})
    broken = BgeM3(tmp_path / "broken")
    with pytest.raises(RetrievalError, match="NaN or infinity for text 0 of 1, 'bread'"):
        broken.embed_passages(["bread"])


def test_missing_files_are_named_before_anything_is_loaded(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps({}))
    with pytest.raises(EmbedderUnavailable, match=r"lacks weights, config\.json or tokenizer\.json"):
        BgeM3(tmp_path)


def test_a_model_that_is_not_on_this_machine_is_not_downloaded(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    with pytest.raises(EmbedderUnavailable, match="run `hf download BAAI/bge-m3`"):
        cached_folder()
