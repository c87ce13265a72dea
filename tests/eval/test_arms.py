"""The arms: the same pages by different ways, and on one page `template` is the very computation that `full` is."""

import pytest
import torch

from cache_compiler.errors import TemplateError
from cache_compiler.load import load_backbone
from eval.arms import Bench, TextPage
from eval.records import samples
from renderer import preset

SAMPLES = samples("build", 2, 1, 12, seed=21, each=2)


@pytest.fixture(scope="module")
def bench() -> Bench:
    backbone = load_backbone("reader")
    return Bench(backbone, preset(backbone.card.style, cell=backbone.cell))


def test_template_gives_the_full_prefills_tokens_on_single_pages(bench: Bench) -> None:
    for sample in SAMPLES:
        images = bench.images(["\n".join(sample.pages[0])], [120])
        full, template = (bench.reply(bench.assemble(arm, images, 64), sample.question) for arm in ("full", "template"))
        assert template.ids == full.ids


def test_an_assembly_takes_the_next_question_as_if_it_were_the_first(bench: Bench) -> None:
    images = bench.images(["\n".join(SAMPLES[0].pages[0])], [120])
    kept = bench.assemble("template", images, 64)
    bench.reply(kept, SAMPLES[0].question)
    again = bench.reply(kept, SAMPLES[1].question)
    assert again.ids == bench.reply(bench.assemble("template", images, 64), SAMPLES[1].question).ids


def test_the_conditions_compile_other_caches_and_each_page_once(bench: Bench) -> None:
    images = bench.images(["\n".join(SAMPLES[0].pages[0])], [72])
    found = {condition: bench.canonicals(condition, images)[0] for condition in ("template", "free", "dummy-4")}
    assert bench.canonicals("free", images)[0] is found["free"]
    assert len({float(canonical.plain.double().sum()) for canonical in found.values()}) == 3


def test_text_pages_go_the_same_ways_as_images_and_may_stand_beside_them(bench: Bench) -> None:
    pages = [TextPage(tuple(bench.backbone.question_ids(text))) for text in ("One line.", "Another line, which is longer.")]
    for mixed in (pages[:1], [bench.images(["One line."], [72])[0]]):
        full, linked = (bench.reply(bench.assemble(arm, mixed, 64), "What is said?") for arm in ("full", "template"))
        assert linked.ids == full.ids
    assert pages[0].key != pages[1].key == TextPage(pages[1].ids).key
    both = [*bench.images(["One line."], [72]), *pages]
    assert [segment.key for segment in bench.assemble("full", both, 8).segments] == [page.key for page in both]
    assert [canonical.key for canonical in bench.canonicals("free", both)] == [page.key for page in both]


def test_rows_that_are_all_recomputed_are_those_of_full_prefill_and_their_time_is_told(bench: Bench) -> None:
    images = bench.images(["\n".join(sample.pages[0]) for sample in SAMPLES[::2]], [72, 72])
    full, blind = bench.assemble("full", images, 8), bench.assemble("template", images, 8)
    judge = full.cache.plain_slab[..., : full.length, :]
    assert set(blind.seconds) == {"place"}
    assert not torch.allclose(blind.cache.plain_slab[..., : full.length, :], judge, atol=1e-3)
    made = bench.recomputed(blind, bench.encoded(images), 10_000)
    assert torch.allclose(made.cache.plain_slab[..., : full.length, :], judge, atol=1e-3)
    assert set(made.seconds) == {"place", "recompute"}


def test_an_unknown_arm_is_refused(bench: Bench) -> None:
    with pytest.raises(TemplateError, match="dummy-K"):
        bench.assemble("nonsense", bench.images(["One line."], [72]), 8)


def test_a_context_page_that_takes_two_pages_is_a_mistake_of_the_callers(bench: Bench) -> None:
    with pytest.raises(ValueError, match="fewer lines"):
        bench.images(["\n".join(["line"] * 13)], [72])
