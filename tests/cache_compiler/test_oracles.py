"""The four exact oracles for position-independent page caches, for random models and for the embedded reader, under sdpa and eager attention.

Each compares the question's logits with a forward of the model's own class, to 1e-4 of the logits' spread; each has a
control that must be far off, so that a model too blunt to notice a wrong position could not pass.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pytest
import torch
from PIL import Image
from torch import Tensor
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

from cache_compiler.assemble import assemble
from cache_compiler.backbone import Backbone
from cache_compiler.compile import compile_pages
from cache_compiler.load import load_backbone
from cache_compiler.prefill import full_prefill
from cache_compiler.prefix import Prefix, compile_prefix, condition_ids
from cache_compiler.tiny import random_backbone
from cache_compiler.types import Anchor, Assembly, Canonical
from renderer.types import PageImage

QUESTION = "Who is the owner of Brobo tower?"
TOLERANCE = 1e-4  # of the logits' standard deviation


@pytest.fixture(scope="module", params=["random-sdpa", "random-eager", "random-partial-sdpa", "reader-sdpa", "reader-eager"])
def backbone(request: pytest.FixtureRequest) -> Backbone:
    kind, _, attention = request.param.rpartition("-")
    if kind == "reader":
        return load_backbone("reader", attention=attention)
    return random_backbone("tiny" if kind == "random" else "partial", attention=attention)


@pytest.fixture(scope="module")
def images(backbone: Backbone) -> list[PageImage]:
    """Three pages of noise of unequal grids: wide, tall and square, so that rows and positions part ways."""
    random = np.random.default_rng(7)
    cell = backbone.cell
    grids = [(3, 5), (6, 2), (4, 4)]
    return [
        PageImage(f"{number:032x}", 72, cell, Image.fromarray(random.integers(0, 255, (cell * rows, cell * columns, 3), dtype=np.uint8)))
        for number, (rows, columns) in enumerate(grids)
    ]


def ask(backbone: Backbone, assembly: Assembly, offset: int = 0) -> Tensor:
    """Logits [q, vocabulary] of the question behind an assembly; `offset` moves it, for controls."""
    ids = backbone.question_ids(QUESTION)
    positions = torch.arange(len(ids)) + assembly.next_position + offset
    return backbone.forward(torch.tensor([ids]), positions.expand(3, 1, -1), assembly.cache, keep=len(ids))[0]


def distance(found: Tensor, judge: Tensor) -> float:
    return float((found - judge).abs().max() / judge.std())


# -- oracle 1: one page is a full native prefill --------------------------------------------------------------------


def test_one_cached_page_answers_as_a_full_prefill_does(backbone: Backbone, images: list[PageImage]) -> None:
    prefix = compile_prefix(backbone, condition_ids(backbone, "template"))
    for image, canonical in zip(images, compile_pages(backbone, images, prefix), strict=True):
        judge = ask(backbone, full_prefill(backbone, [image]))
        assert distance(ask(backbone, assemble(backbone, prefix, [canonical])), judge) < TOLERANCE
        assert distance(ask(backbone, assemble(backbone, prefix, [canonical]), offset=1), judge) > 100 * TOLERANCE


def test_full_prefill_is_what_the_stock_class_does_with_its_own_positions(backbone: Backbone, images: list[PageImage]) -> None:
    """The judge itself is judged: no explicit positions, no cache of ours, only the class and its image processor."""
    ids = [
        *backbone.template.prefix,
        *(i for image in images for i in backbone.template.page_ids(image.tokens)),
        *backbone.question_ids(QUESTION),
    ]
    tokens = torch.tensor([ids])
    values, grid = backbone.pixels([image.image for image in images])
    with torch.inference_mode():
        stock = backbone.model(
            input_ids=tokens,
            attention_mask=torch.ones_like(tokens),
            pixel_values=values,
            image_grid_thw=grid,
            mm_token_type_ids=(tokens == backbone.template.image).int(),
        ).logits[0, -len(backbone.question_ids(QUESTION)) :]
    assert distance(ask(backbone, full_prefill(backbone, images)), stock) < TOLERANCE


# -- native forwards with a mask of our choosing --------------------------------------------------------------------


@dataclass
class Layout:
    """The whole sequence of a request as one native forward sees it: segments prefix, pages, question, with chosen positions."""

    ids: Tensor  # [1, n]
    lengths: list[int]  # rows of prefix, page 1, ..., question

    @property
    def segments(self) -> Tensor:
        return torch.repeat_interleave(torch.arange(len(self.lengths)), torch.tensor(self.lengths))


def layout(backbone: Backbone, images: Sequence[PageImage]) -> Layout:
    parts = [
        list(backbone.template.prefix),
        *(backbone.template.page_ids(image.tokens) for image in images),
        backbone.question_ids(QUESTION),
    ]
    return Layout(torch.tensor([[token for part in parts for token in part]]), [len(part) for part in parts])


def serve_positions(backbone: Backbone, images: Sequence[PageImage]) -> tuple[Tensor, list[Anchor]]:
    prefix = len(backbone.template.prefix)
    anchors, start = [], prefix
    for image in images:
        anchors.append(Anchor(start, *image.cells))
        start = anchors[-1].end
    question = torch.arange(len(backbone.question_ids(QUESTION))) + start
    return torch.cat([torch.arange(prefix).expand(3, -1), *(a.positions() for a in anchors), question.expand(3, -1)], 1)[:, None], anchors


def block_mask(plan: Layout, pages_see_prefix: bool, causal: bool = False) -> Tensor:
    """Which row sees which, bool [n, n]: causal; pages do not see each other; the question sees all."""
    segments, last = plan.segments, len(plan.lengths) - 1
    allowed = torch.ones(len(segments), len(segments)).tril().bool()
    if causal:
        return allowed
    same = segments[:, None] == segments[None]
    prefix = (segments[None] == 0) & (pages_see_prefix | (segments[:, None] == last))
    return allowed & (same | prefix | (segments[:, None] == last))


def native(backbone: Backbone, plan: Layout, positions: Tensor, allowed: Tensor, images: Sequence[PageImage]) -> Tensor:
    eager = backbone.config._attn_implementation != "sdpa"
    mask = torch.zeros(allowed.shape).masked_fill(~allowed, torch.finfo(torch.float32).min) if eager else allowed
    values, grid = backbone.pixels([image.image for image in images])
    with torch.inference_mode():
        return backbone.model(
            input_ids=plan.ids,
            attention_mask=mask[None, None],
            position_ids=positions,
            pixel_values=values,
            image_grid_thw=grid,
            use_cache=False,
        ).logits[0, -plan.lengths[-1] :]


# -- oracle 2: pages compiled where they are served = native forward with a block mask -----------------------------------


def compile_at(backbone: Backbone, image: PageImage, prefix: Prefix, start: int) -> Canonical:
    """One page compiled at a place of our choosing, by the room's own parts."""
    anchor = Anchor(start, *image.cells)
    cache = backbone.empty_cache(prefix.length + anchor.length)
    keys, values = cache.reserve(prefix.length)
    keys.copy_(prefix.rotary[:, None])
    values.copy_(prefix.plain[:, None])
    with backbone.capture() as taken:
        backbone.forward(
            torch.tensor([backbone.template.page_ids(image.tokens)]), anchor.positions()[:, None], cache, backbone.pixels([image.image])
        )
    return Canonical(
        image.key, torch.stack([k[0] for k in taken]), cache.plain_slab[:, 0, :, prefix.length :].clone(), anchor.rows, anchor.columns
    )


def test_pages_compiled_where_they_are_served_equal_a_block_mask(backbone: Backbone, images: list[PageImage]) -> None:
    prefix = compile_prefix(backbone, backbone.template.prefix)
    plan = layout(backbone, images)
    positions, anchors = serve_positions(backbone, images)
    pages = [compile_at(backbone, image, prefix, anchor.start) for image, anchor in zip(images, anchors, strict=True)]
    found = ask(backbone, assemble(backbone, prefix, pages))
    assert distance(found, native(backbone, plan, positions, block_mask(plan, True), images)) < TOLERANCE
    assert distance(found, native(backbone, plan, positions, block_mask(plan, True, causal=True), images)) > 100 * TOLERANCE


# -- oracle 3: pages compiled without a prefix at position 0, re-anchored = native forward in which pages see only themselves


def test_prefix_free_pages_re_anchored_equal_a_mask_in_which_pages_see_only_themselves(backbone: Backbone, images: list[PageImage]) -> None:
    prefix = compile_prefix(backbone, backbone.template.prefix)
    pages = compile_pages(backbone, images, compile_prefix(backbone, ()))
    plan = layout(backbone, images)
    positions, _ = serve_positions(backbone, images)
    found = ask(backbone, assemble(backbone, prefix, pages))
    assert distance(found, native(backbone, plan, positions, block_mask(plan, False), images)) < TOLERANCE
    shifted = positions.clone()
    shifted[:, :, -plan.lengths[-1] :] += 1
    assert distance(found, native(backbone, plan, shifted, block_mask(plan, False), images)) > 100 * TOLERANCE


# -- oracle 4: the real thing = one forward at compile positions, in which the question sees each page's keys rotated on -----


@pytest.fixture
def rotated_on() -> dict[str, object]:
    """An attention function whose last rows see every key rotated on by a shift of its own; all other rows see them as compiled."""
    state: dict[str, object] = {}

    def attention(
        module: torch.nn.Module, query: Tensor, key: Tensor, value: Tensor, mask: Tensor, scaling: float, **_: object
    ) -> tuple[Tensor, None]:
        backbone: Backbone = state["backbone"]  # type: ignore[assignment]
        shift: Tensor = state["shift"]  # type: ignore[assignment]
        last: int = state["question"]  # type: ignore[assignment]
        groups = module.num_key_value_groups

        def scores(keys: Tensor) -> Tensor:
            return query @ keys.repeat_interleave(groups, 1).transpose(2, 3) * scaling

        weights = scores(key)
        weights[:, :, -last:] = scores(backbone.rotate(key, backbone.table(shift.expand(3, 1, -1))))[:, :, -last:]
        weights = (weights + mask).softmax(-1)
        return (weights @ value.repeat_interleave(groups, 1)).transpose(1, 2).contiguous(), None

    ALL_ATTENTION_FUNCTIONS.register("rotated_on", attention)
    return state


def test_canonical_pages_in_any_order_equal_a_forward_whose_question_sees_rotated_keys(
    backbone: Backbone, images: list[PageImage], rotated_on: dict[str, object]
) -> None:
    prefix = compile_prefix(backbone, backbone.template.prefix)
    compiled = dict(zip([image.key for image in images], compile_pages(backbone, images, prefix), strict=True))
    for order in ([0, 1, 2], [2, 0, 1]):
        chosen = [images[i] for i in order]
        plan = layout(backbone, chosen)
        served, anchors = serve_positions(backbone, chosen)
        at_compile = [Anchor(prefix.length, *image.cells) for image in chosen]
        positions = torch.cat([served[:, 0, : prefix.length], *(a.positions() for a in at_compile), served[:, 0, -plan.lengths[-1] :]], 1)[
            :, None
        ]
        shifts = [0, *(anchor.start - prefix.length for anchor in anchors), 0]
        rotated_on.update(
            backbone=backbone, question=plan.lengths[-1], shift=torch.repeat_interleave(torch.tensor(shifts), torch.tensor(plan.lengths))
        )
        found = ask(backbone, assemble(backbone, prefix, [compiled[image.key] for image in chosen]))
        before = backbone.config._attn_implementation
        backbone.config._attn_implementation = "rotated_on"
        try:
            judge = native(backbone, plan, positions, block_mask(plan, True), chosen)
            rotated_on["shift"] = torch.zeros_like(rotated_on["shift"])  # type: ignore[arg-type]
            unmoved = native(backbone, plan, positions, block_mask(plan, True), chosen)
        finally:
            backbone.config._attn_implementation = before
        assert distance(found, judge) < TOLERANCE
        assert distance(found, unmoved) > 100 * TOLERANCE
