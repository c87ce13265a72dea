"""What a page holds behind others, against the model's own full prefill; and what Delta is and is not."""

from dataclasses import replace

import pytest
import torch

from cache_compiler.assemble import assemble
from cache_compiler.backbone import Backbone
from cache_compiler.condition import Deficit, as_matrices, condition, deficit
from cache_compiler.errors import PatchMismatch
from cache_compiler.prefill import full_prefill
from cache_compiler.prefix import Prefix
from cache_compiler.probe import probe
from cache_compiler.types import Canonical
from renderer.types import PageImage

CLOSE = 1e-4  # of the logits' spread


def far(backbone: Backbone, context, judge) -> float:
    ids = backbone.question_ids("Who is the owner of Brobo tower?")
    found, wanted = probe(backbone, context, ids, keep=len(ids)), probe(backbone, judge, ids, keep=len(ids))
    return float((found - wanted).abs().max() / wanted.std())


def test_conditioned_pages_laid_end_to_end_are_the_full_prefill(
    either: Backbone, images: list[PageImage], prefix: Prefix, pages: list[Canonical]
) -> None:
    conditioned = condition(either, prefix, either.encode(images))
    judge = full_prefill(either, images)
    assert far(either, assemble(either, prefix, conditioned), judge) < CLOSE
    assert far(either, assemble(either, prefix, pages), judge) > 100 * CLOSE  # blind reuse, the control


def test_a_canonical_in_first_place_saves_its_forward_and_changes_nothing(
    backbone: Backbone, images: list[PageImage], prefix: Prefix, pages: list[Canonical]
) -> None:
    encoded = backbone.encode(images)
    whole = condition(backbone, prefix, encoded)[1:]
    for found, wanted in zip(condition(backbone, prefix, encoded[1:], first=pages[0]), whole, strict=True):
        torch.testing.assert_close(found.rotary, wanted.rotary, rtol=0, atol=1e-4)
        torch.testing.assert_close(found.plain, wanted.plain, rtol=0, atol=1e-4)


def test_the_first_page_has_no_deficit_and_layer_zero_never_has(
    backbone: Backbone, images: list[PageImage], prefix: Prefix, pages: list[Canonical]
) -> None:
    deficits = [deficit(c, p) for c, p in zip(condition(backbone, prefix, backbone.encode(images)), pages, strict=True)]
    assert float(deficits[0].rotary.abs().max()) < 1e-4
    for delta in deficits[1:]:
        assert float(delta.rotary[0].abs().max()) == float(delta.plain[0].abs().max()) == 0.0
        assert float(delta.rotary[1].abs().max()) > 0.1
        assert float(delta.plain[1].abs().max()) > 0.1


def test_a_deficit_of_two_different_pages_is_refused(
    backbone: Backbone, images: list[PageImage], prefix: Prefix, pages: list[Canonical]
) -> None:
    behind = condition(backbone, prefix, backbone.encode(images[:2]))[1]
    with pytest.raises(PatchMismatch, match=pages[2].key):
        deficit(behind, pages[2])


def test_a_page_whose_pixels_have_changed_since_it_was_compiled_is_refused(
    backbone: Backbone, images: list[PageImage], prefix: Prefix, pages: list[Canonical], noise
) -> None:
    other = replace(noise(77, 6, 2), page_key=images[1].page_key)  # other pixels under the same key
    assert other.key == pages[1].key
    behind = condition(backbone, prefix, backbone.encode([images[0], other]))[1]
    with pytest.raises(PatchMismatch, match="pixels"):
        deficit(behind, pages[1])


@pytest.mark.parametrize("channel", ["rotary", "plain"])
def test_a_page_whose_numbers_have_overflowed_is_refused_and_not_factored(channel: str) -> None:
    page = Canonical("a", torch.zeros(2, 1, 3, 4), torch.zeros(2, 1, 3, 4), 0, 0)
    broken = getattr(page, channel).clone()
    broken[1, 0, 2, 3] = float("nan")
    with pytest.raises(PatchMismatch, match="not finite in float32"):
        deficit(replace(page, **{channel: broken}), page)


def test_deficits_add_and_scale() -> None:
    one, two = (Deficit("a" * 32 + "@72", torch.full((2, 2, 3, 4), v), torch.full((2, 1, 3, 4), -v)) for v in (1.0, 2.0))
    half = (one + two).scaled(0.5)
    assert float(half.rotary[0, 0, 0, 0]) == 1.5
    assert float(half.plain[0, 0, 0, 0]) == -1.5
    keys, values = half.matrices(1)
    assert keys.shape == (1, 3, 8)
    assert values.shape == (1, 3, 4)


def test_a_layer_as_a_matrix_has_one_heads_columns_behind_the_others() -> None:
    tensor = torch.arange(2 * 3 * 4 * 5).view(2, 3, 4, 5)
    matrix = as_matrices(tensor)
    assert matrix.shape == (2, 4, 15)
    assert torch.equal(matrix[1, 2], torch.cat([tensor[1, head, 2] for head in range(3)]))
