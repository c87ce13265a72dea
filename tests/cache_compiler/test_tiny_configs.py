"""Small configurations of the real classes, as unlike as the families are."""

from typing import Any

import pytest
from transformers import AutoTokenizer

from cache_compiler.errors import UnsupportedFamily
from cache_compiler.families import FAMILIES
from cache_compiler.load import READER
from cache_compiler.tiny_configs import tiny_config


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    return AutoTokenizer.from_pretrained(READER, local_files_only=True)


@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_has_a_tiny_and_a_small_shape_with_the_readers_vocabulary(family: str, tokenizer: Any) -> None:
    tiny, small = (tiny_config(family, size, tokenizer, 512).get_text_config(decoder=True) for size in ("tiny", "small"))  # type: ignore[arg-type]
    assert tiny.vocab_size == small.vocab_size == len(tokenizer)
    assert tiny.max_position_embeddings == 512
    assert tiny.hidden_size < small.hidden_size
    assert tiny.rope_parameters["rope_type"] == "default"


def test_the_shapes_are_unlike_where_the_families_are(tokenizer: Any) -> None:
    llama, qwen = (tiny_config(family, "tiny", tokenizer, 512).get_text_config(decoder=True) for family in ("llama", "qwen2_5_vl"))
    assert llama.num_key_value_heads == llama.num_attention_heads
    assert qwen.num_key_value_heads < qwen.num_attention_heads
    cells = [2 * tiny_config(family, "tiny", tokenizer, 512).vision_config.patch_size for family in ("glm4v", "qwen2_5_vl", "qwen3_vl")]
    assert cells == [16, 28, 32]


@pytest.mark.parametrize(("family", "size"), [("bert", "tiny"), ("llama", "partial"), ("glm4v", "huge")])
def test_a_shape_that_is_not_there_is_refused_by_name(family: str, size: str, tokenizer: Any) -> None:
    with pytest.raises(UnsupportedFamily, match=f"'{family}'.*'{size}'"):
        tiny_config(family, size, tokenizer, 512)  # type: ignore[arg-type]
