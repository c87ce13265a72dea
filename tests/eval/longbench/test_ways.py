"""What a way has beforehand and what it does online: patches know their antecedents, and EPIC leaves an exact first page alone."""

import pytest
import torch

from cache_compiler.errors import TemplateError
from eval.arms import Bench, TextPage
from eval.longbench.ways import Patching, Way, link, prepare
from renderer import preset

PAGES = [TextPage((5, 6, 7, 8, 9)), TextPage((10, 11, 12)), TextPage((20, 21, 22, 23))]


@pytest.fixture(scope="module")
def bench(llama) -> Bench:
    return Bench(llama, preset(llama.card.style))


def given(bench, patching) -> list[tuple[str, ...] | None]:
    patches = prepare(bench, Way("template", patching), PAGES).patches
    return [None if patch is None else patch.key.given for patch in patches]


def test_a_patch_is_of_the_page_before_or_of_all_before(bench) -> None:
    one, two, _ = (page.key for page in PAGES)
    assert given(bench, Patching("before")) == [None, (one,), (two,)]
    assert given(bench, Patching("chain")) == [None, (one,), (one, two)]


def test_a_rank_above_what_a_page_can_have_is_the_whole_of_it(bench) -> None:
    whole, high = (prepare(bench, Way("template", Patching("before", rank)), PAGES).patches for rank in (None, 32))
    for ours, theirs in zip(whole[1:], high[1:], strict=True):
        assert torch.allclose(ours.plain.product(4), theirs.plain.product(4), atol=1e-5)


def test_a_neighbours_patch_is_what_two_pages_alone_need(bench) -> None:
    patched = link(bench, prepare(bench, Way("template", Patching("before", None)), PAGES[:2]), 0)
    full = bench.prefilled(PAGES[:2], 0)
    assert torch.allclose(patched.cache.rotary_slab[..., : full.length, :], full.cache.rotary_slab[..., : full.length, :], atol=1e-4)
    assert torch.allclose(patched.cache.plain_slab[..., : full.length, :], full.cache.plain_slab[..., : full.length, :], atol=1e-4)


@pytest.mark.parametrize("pages", [PAGES[:1], PAGES])
@pytest.mark.parametrize("patching", [Patching("before"), Patching("chain")])
def test_the_first_page_has_no_patch_even_where_it_is_the_only_one(patching, pages, bench) -> None:
    ready = prepare(bench, Way("template", patching), pages)
    assert ready.patches[0] is None
    assert ready.facts["formed"] == len(pages) - 1


@pytest.mark.parametrize(("condition", "touched"), [("template", [False, True, True]), ("free", [True, True, True])])
def test_epic_recomputes_the_first_page_only_where_its_cache_is_not_exact(condition, touched, bench) -> None:
    blind, made = (link(bench, prepare(bench, Way(condition, epic=epic), PAGES), 0) for epic in (0, 2))
    changed = (blind.cache.plain_slab != made.cache.plain_slab).any(-1).any(2)[:, 0].any(0)
    for page, expected in zip(made.segments, touched, strict=True):
        assert bool(changed[page.first : page.first + 2].any()) is expected
        assert not changed[page.first + 2 : page.last].any()
    assert set(made.seconds) == {"place", "recompute"}


def test_an_unknown_condition_is_refused(bench) -> None:
    with pytest.raises(TemplateError, match="dummy-K"):
        prepare(bench, Way("nonsense"), PAGES)
