"""Layerwise isolation: every layer seeing is a full prefill, none is the block-mask oracle, and other threads keep their own mask."""

import threading

import pytest
import torch

from cache_compiler.assemble import assemble
from cache_compiler.backbone import Backbone
from cache_compiler.compile import compile_pages
from cache_compiler.isolate import _masked, isolate
from cache_compiler.prefill import full_prefill
from cache_compiler.prefix import Prefix, compile_prefix
from cache_compiler.recompute import mask_of
from cache_compiler.types import Assembly, Canonical, Encoded
from renderer.types import PageImage

from .test_recompute import far, rows


@pytest.fixture(scope="module")
def encoded(backbone: Backbone, images: list[PageImage]) -> list[Encoded]:
    return backbone.encode(images)


@pytest.fixture
def blind(backbone: Backbone, prefix: Prefix, pages: list[Canonical]) -> Assembly:
    return assemble(backbone, prefix, pages, room=8)


def test_seeing_at_all_layers_is_a_full_prefill(either: Backbone, images: list[PageImage]) -> None:
    prefix = compile_prefix(either, either.template.prefix)
    blind = assemble(either, prefix, compile_pages(either, images, prefix))
    made = isolate(either, blind, either.encode(images), range(either.layers))
    assert far(made, full_prefill(either, images)) < 1e-4


def test_seeing_at_no_layer_is_a_page_computed_alone_at_its_own_place(either: Backbone, images: list[PageImage]) -> None:
    """Each page forwarded behind the prefix alone, at the positions it is served at, by the plain causal path."""
    prefix = compile_prefix(either, either.template.prefix)
    encoded = either.encode(images)
    blind = assemble(either, prefix, compile_pages(either, images, prefix))
    made = isolate(either, blind, encoded)
    for page, segment in zip(encoded, blind.segments, strict=True):
        cache = either.empty_cache(prefix.length + page.length)
        rotary, plain = cache.reserve(prefix.length)
        rotary.copy_(prefix.rotary[:, None])
        plain.copy_(prefix.plain[:, None])
        either.forward_encoded([page], segment.anchor.positions(either.axes)[:, None], cache, keep=0)
        for slab, alone in ((made.cache.rotary_slab, cache.rotary_slab), (made.cache.plain_slab, cache.plain_slab)):
            assert torch.allclose(slab[:, :, :, segment.first : segment.last], alone[:, :, :, prefix.length :], atol=1e-4)


def test_what_is_above_the_lowest_seeing_layer_changes_and_what_is_below_does_not(
    backbone: Backbone, blind: Assembly, encoded: list[Encoded]
) -> None:
    alone, seen = isolate(backbone, blind, encoded), isolate(backbone, blind, encoded, [1])
    begin = blind.segments[0].last
    # Layer 1's own keys come of what enters it; its attention reaches layer 2.
    assert torch.equal(rows(alone, begin)[:, :2], rows(seen, begin)[:, :2])
    assert float((rows(alone, begin) - rows(seen, begin))[:, 2].abs().max()) > 1e-3


def test_the_given_context_and_its_first_page_are_left_alone(backbone: Backbone, blind: Assembly, encoded: list[Encoded]) -> None:
    before, first = rows(blind).clone(), blind.segments[0].last
    made = isolate(backbone, blind, encoded, [0])
    assert torch.equal(rows(blind), before)
    assert torch.equal(rows(made, 0, first), before[:, :, :, :first])
    assert made.cache.rows == blind.length


def test_one_page_has_nobody_to_see(backbone: Backbone, prefix: Prefix, pages: list[Canonical], encoded: list[Encoded]) -> None:
    blind = assemble(backbone, prefix, pages[:1])
    assert torch.equal(rows(isolate(backbone, blind, encoded[:1], [0])), rows(blind))


def test_a_forward_of_another_thread_keeps_its_own_mask(backbone: Backbone, prefix: Prefix, images: list[PageImage]) -> None:
    judge = rows(full_prefill(backbone, images[:1]))
    n = judge.shape[-2]
    nothing = mask_of(backbone, torch.eye(n).bool())
    found: list[torch.Tensor] = []
    with _masked(backbone, dict.fromkeys(range(backbone.layers), nothing)):
        thread = threading.Thread(target=lambda: found.append(rows(full_prefill(backbone, images[:1]))))
        thread.start()
        thread.join()
        own = rows(full_prefill(backbone, images[:1]))
    assert torch.equal(found[0], judge)
    assert not torch.allclose(own, judge, atol=1e-3)
    assert torch.equal(rows(full_prefill(backbone, images[:1])), judge)


def test_a_layer_that_is_not_the_models_is_refused(backbone: Backbone, blind: Assembly, encoded: list[Encoded]) -> None:
    with pytest.raises(ValueError, match="layer 3"):
        isolate(backbone, blind, encoded, [3])
