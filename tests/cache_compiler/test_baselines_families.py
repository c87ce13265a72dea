"""Token recompute and layerwise isolation in every family, DeepStack and latent attention included: their ends are the causal forward and the page alone."""

import pytest
import torch

from cache_compiler.assemble import assemble
from cache_compiler.backbone import Backbone
from cache_compiler.baselines import deep, sink
from cache_compiler.condition import condition
from cache_compiler.isolate import isolate
from cache_compiler.prefill import prefill_encoded
from cache_compiler.prefix import compile_prefix
from cache_compiler.recompute import recompute
from cache_compiler.types import Assembly, Encoded

CLOSE, APART = 1e-4, 1e-2  # of the spread of what is compared


def far(one: Assembly, other: Assembly, first: int = 0) -> float:
    """The larger of the two slabs' distances: they differ in shape where attention is latent."""
    found = []
    for name in ("rotary_slab", "plain_slab"):
        ours, judge = (getattr(which.cache, name)[:, 0, :, first : which.length] for which in (one, other))
        found.append(float((ours - judge).abs().max() / judge.std()))
    return max(found)


@pytest.fixture(scope="module")
def contexts(every: Backbone, three: list[Encoded]) -> tuple[Assembly, Assembly]:
    """(blind reuse, the model's own causal forward)."""
    prefix = compile_prefix(every, every.template.prefix)
    blind = assemble(every, prefix, [condition(every, prefix, [page])[0] for page in three])
    return blind, prefill_encoded(every, three)


def test_all_rows_are_the_causal_forward(every: Backbone, three: list[Encoded], contexts: tuple[Assembly, Assembly]) -> None:
    blind, judge = contexts
    assert far(recompute(every, blind, three, range(blind.segments[0].last, blind.length)), judge) < CLOSE
    assert far(blind, judge) > APART


def test_rows_recomputed_in_two_goes_are_the_causal_forward_too(
    every: Backbone, three: list[Encoded], contexts: tuple[Assembly, Assembly]
) -> None:
    """Page by page: the second go attends to what the first one wrote."""
    blind, judge = contexts
    _, two, three_ = blind.segments
    once = recompute(every, blind, three, range(two.first, two.last))
    assert far(recompute(every, once, three, range(three_.first, three_.last)), judge) < CLOSE


def test_a_page_that_sees_at_all_layers_is_the_causal_forward_and_one_that_sees_at_none_is_itself_alone(
    every: Backbone, three: list[Encoded], contexts: tuple[Assembly, Assembly]
) -> None:
    blind, judge = contexts
    assert far(isolate(every, blind, three, range(every.layers)), judge) < CLOSE
    alone = isolate(every, blind, three)
    # A sink of no tokens computes each page by a causal forward of its own, without any mask.
    assert far(sink(every, blind, three, 0), alone, blind.segments[0].last) < CLOSE
    assert far(alone, judge) > APART


def test_a_deep_re_prefill_keeps_the_shallow_layers_as_they_were(
    every: Backbone, three: list[Encoded], contexts: tuple[Assembly, Assembly]
) -> None:
    blind, judge = contexts
    made = deep(every, blind, three, 1)
    for name in ("rotary_slab", "plain_slab"):
        assert torch.equal(getattr(made.cache, name)[0], getattr(blind.cache, name)[0])
    assert far(deep(every, blind, three, 0), judge) < CLOSE
