"""The three conditions of QV-PIC's Q1, and the prefix's own cache."""

import pytest
import torch

from cache_compiler.backbone import Backbone
from cache_compiler.errors import TemplateError
from cache_compiler.prefix import compile_prefix, condition_ids


def test_each_condition_has_its_own_ids(backbone: Backbone) -> None:
    assert condition_ids(backbone, "template") == backbone.template.prefix
    assert condition_ids(backbone, "free") == ()
    dummy = condition_ids(backbone, "dummy-4")
    assert len(dummy) == 4
    assert backbone.tokenizer.decode(list(dummy)) == "xxxx"
    assert len(condition_ids(backbone, "dummy-128")) == 128


@pytest.mark.parametrize("word", ["", "Template", "dummy", "dummy-", "dummy-x", "dummy-1000", "dummy-4 ", "free\n"])
def test_another_word_is_no_condition(backbone: Backbone, word: str) -> None:
    with pytest.raises(TemplateError, match="condition"):
        condition_ids(backbone, word)


def check_against_the_library(backbone: Backbone) -> None:
    prefix = compile_prefix(backbone, backbone.template.prefix)
    with torch.inference_mode():
        stock = backbone.model(input_ids=torch.tensor([prefix.ids]), use_cache=True).cache
    for tensor, (heads, width) in ((prefix.rotary, backbone.rotary_shape), (prefix.plain, backbone.plain_shape)):
        assert tensor.shape == (backbone.layers, heads, prefix.length, width)
    for index, layer in enumerate(stock.layers):
        rotary, plain = (layer.values, layer.keys) if backbone.family.latent else (layer.keys, layer.values)
        assert torch.allclose(prefix.rotary[index], rotary[0], atol=1e-5)
        assert torch.allclose(prefix.plain[index], plain[0], atol=1e-5)


def test_a_prefixs_cache_is_that_of_the_model_itself_under_each_attention(either: Backbone) -> None:
    check_against_the_library(either)


def test_a_prefixs_cache_is_that_of_the_model_itself_in_every_family(every: Backbone) -> None:
    check_against_the_library(every)


def test_no_prefix_is_a_cache_without_rows(backbone: Backbone) -> None:
    prefix = compile_prefix(backbone, ())
    assert prefix.length == 0
    assert prefix.rotary.shape == prefix.plain.shape == (backbone.layers, backbone.rotary_shape[0], 0, backbone.rotary_shape[1])
