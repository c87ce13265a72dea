"""The four exact oracles for position-independent page caches: for random models of every family and for the embedded reader.

Each compares the question's logits with a forward of the model's own class, to 1e-4 of the logits' spread; each has a
control that must be far off, so that a model too blunt to notice a wrong position could not pass. Pages are images of noise, or
runs of random tokens where the family reads text alone.
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
from cache_compiler.compile import compile_pages, compile_texts
from cache_compiler.load import load_backbone
from cache_compiler.prefill import full_prefill, prefill_encoded
from cache_compiler.prefix import Prefix, compile_prefix, condition_ids
from cache_compiler.tiny import random_backbone
from cache_compiler.types import Anchor, Assembly, Canonical
from renderer.types import PageImage

QUESTION = "Who is the owner of Brobo tower?"
TOLERANCE = 1e-4  # of the logits' standard deviation

KINDS = [
    *("glm4v-tiny-sdpa", "glm4v-tiny-eager", "glm4v-partial-sdpa", "reader-sdpa", "reader-eager"),
    *("qwen2_5_vl-tiny-sdpa", "qwen3_vl-tiny-sdpa", "qwen3_vl-tiny-eager", "llama-tiny-sdpa"),
    *("deepseek_v2-tiny-sdpa", "deepseek_v3-tiny-sdpa", "deepseek_v3-tiny-eager"),
]

Page = PageImage | tuple[str, list[int]]


@pytest.fixture(scope="module", params=KINDS)
def backbone(request: pytest.FixtureRequest) -> Backbone:
    kind, *size, attention = request.param.split("-")
    if kind == "reader":
        return load_backbone("reader", attention=attention)
    return random_backbone(*size, attention=attention, family=kind)


@pytest.fixture(scope="module")
def pages(backbone: Backbone) -> list[Page]:
    """Three pages of unequal grids: wide, tall and square, so that rows and positions part ways; or of unequal lengths."""
    random = np.random.default_rng(7)
    if not backbone.reads_images:
        return [(f"{n:032x}", random.integers(20, 1000, length).tolist()) for n, length in enumerate((17, 9, 23))]
    cell = backbone.cell
    grids = [(3, 5), (6, 2), (4, 4)]
    return [
        PageImage(f"{number:032x}", 72, cell, Image.fromarray(random.integers(0, 255, (cell * rows, cell * columns, 3), dtype=np.uint8)))
        for number, (rows, columns) in enumerate(grids)
    ]


def tokens(backbone: Backbone, page: Page) -> list[int]:
    return backbone.template.page_ids(page.tokens) if isinstance(page, PageImage) else page[1]


def key(page: Page) -> str:
    return page.key if isinstance(page, PageImage) else page[0]


def anchor_at(page: Page, start: int) -> Anchor:
    return Anchor(start, *page.cells) if isinstance(page, PageImage) else Anchor(start, 0, 0, len(page[1]))


def pixels(backbone: Backbone, pages: Sequence[Page]) -> tuple[Tensor, Tensor] | None:
    return backbone.pixels([page.image for page in pages]) if backbone.reads_images else None  # type: ignore[union-attr]


def compiled(backbone: Backbone, pages: Sequence[Page], prefix: Prefix) -> list[Canonical]:
    return (compile_pages if backbone.reads_images else compile_texts)(backbone, pages, prefix)  # type: ignore[operator]


def full(backbone: Backbone, pages: Sequence[Page]) -> Assembly:
    if backbone.reads_images:
        return full_prefill(backbone, pages)  # type: ignore[arg-type]
    return prefill_encoded(backbone, [backbone.encode_text(*page) for page in pages])  # type: ignore[misc]


def ask(backbone: Backbone, assembly: Assembly, offset: int = 0) -> Tensor:
    """Logits [q, vocabulary] of the question behind an assembly; `offset` moves it, for controls."""
    ids = backbone.question_ids(QUESTION)
    positions = torch.arange(len(ids)) + assembly.next_position + offset
    return backbone.forward(torch.tensor([ids]), positions.expand(backbone.axes, 1, -1), assembly.cache, keep=len(ids))[0]


def distance(found: Tensor, judge: Tensor) -> float:
    return float((found - judge).abs().max() / judge.std())


# -- oracle 1: one page is a full native prefill --------------------------------------------------------------------


def test_one_cached_page_answers_as_a_full_prefill_does(backbone: Backbone, pages: list[Page]) -> None:
    prefix = compile_prefix(backbone, condition_ids(backbone, "template"))
    for page, canonical in zip(pages, compiled(backbone, pages, prefix), strict=True):
        judge = ask(backbone, full(backbone, [page]))
        assert distance(ask(backbone, assemble(backbone, prefix, [canonical])), judge) < TOLERANCE
        assert distance(ask(backbone, assemble(backbone, prefix, [canonical]), offset=1), judge) > 100 * TOLERANCE


def test_full_prefill_is_what_the_stock_class_does_with_its_own_positions(backbone: Backbone, pages: list[Page]) -> None:
    """The judge itself is judged: no explicit positions, no cache of ours, only the class and its image processor."""
    ids = layout(backbone, pages).ids
    seen = {}
    if (given := pixels(backbone, pages)) is not None:
        values, grid = given
        seen = {"pixel_values": values, "image_grid_thw": grid, "mm_token_type_ids": (ids == backbone.template.image).int()}
    with torch.inference_mode():
        stock = backbone.model(input_ids=ids, attention_mask=torch.ones_like(ids), **seen).logits[
            0, -len(backbone.question_ids(QUESTION)) :
        ]
    assert distance(ask(backbone, full(backbone, pages)), stock) < TOLERANCE


# -- native forwards with a mask of our choosing --------------------------------------------------------------------


@dataclass
class Layout:
    """The whole sequence of a request as one native forward sees it: segments prefix, pages, question, with chosen positions."""

    ids: Tensor  # [1, n]
    lengths: list[int]  # rows of prefix, page 1, ..., question

    @property
    def segments(self) -> Tensor:
        return torch.repeat_interleave(torch.arange(len(self.lengths)), torch.tensor(self.lengths))


def layout(backbone: Backbone, pages: Sequence[Page]) -> Layout:
    parts = [list(backbone.template.prefix), *(tokens(backbone, page) for page in pages), backbone.question_ids(QUESTION)]
    return Layout(torch.tensor([[token for part in parts for token in part]]), [len(part) for part in parts])


def serve_positions(backbone: Backbone, pages: Sequence[Page]) -> tuple[Tensor, list[Anchor]]:
    """Positions [axes, 1, n] of the whole request, and where its pages stand."""
    axes, prefix = backbone.axes, len(backbone.template.prefix)
    anchors, start = [], prefix
    for page in pages:
        anchors.append(anchor_at(page, start))
        start = anchors[-1].end
    question = torch.arange(len(backbone.question_ids(QUESTION))) + start
    parts = [torch.arange(prefix).expand(axes, -1), *(a.positions(axes) for a in anchors), question.expand(axes, -1)]
    return torch.cat(parts, 1)[:, None], anchors


def block_mask(plan: Layout, pages_see_prefix: bool, causal: bool = False) -> Tensor:
    """Which row sees which, bool [n, n]: causal; pages do not see each other; the question sees all."""
    segments, last = plan.segments, len(plan.lengths) - 1
    allowed = torch.ones(len(segments), len(segments)).tril().bool()
    if causal:
        return allowed
    same = segments[:, None] == segments[None]
    prefix = (segments[None] == 0) & (pages_see_prefix | (segments[:, None] == last))
    return allowed & (same | prefix | (segments[:, None] == last))


def native(backbone: Backbone, plan: Layout, positions: Tensor, allowed: Tensor, pages: Sequence[Page]) -> Tensor:
    eager = backbone.config._attn_implementation != "sdpa"
    mask = torch.zeros(allowed.shape).masked_fill(~allowed, torch.finfo(torch.float32).min) if eager else allowed
    given = pixels(backbone, pages)
    with torch.inference_mode():
        return backbone.model(
            input_ids=plan.ids,
            attention_mask=mask[None, None],
            position_ids=positions if backbone.axes == 3 else positions[0],
            use_cache=False,
            **({} if given is None else {"pixel_values": given[0], "image_grid_thw": given[1]}),
        ).logits[0, -plan.lengths[-1] :]


# -- oracle 2: pages compiled where they are served = native forward with a block mask -----------------------------------


def compile_at(backbone: Backbone, page: Page, prefix: Prefix, start: int) -> Canonical:
    """One page compiled at a place of our choosing, by the room's own parts."""
    anchor = anchor_at(page, start)
    cache = backbone.empty_cache(prefix.length + anchor.length)
    rotary, plain = cache.reserve(prefix.length)
    rotary.copy_(prefix.rotary[:, None])
    plain.copy_(prefix.plain[:, None])
    with backbone.capture() as taken:
        where = anchor.positions(backbone.axes)[:, None]
        backbone.forward(torch.tensor([tokens(backbone, page)]), where, cache, pixels(backbone, [page]))
    own = cache.plain_slab[:, 0, :, prefix.length :].clone()
    return Canonical(key(page), torch.stack([k[0] for k in taken]), own, anchor.rows, anchor.columns)


def test_pages_compiled_where_they_are_served_equal_a_block_mask(backbone: Backbone, pages: list[Page]) -> None:
    prefix = compile_prefix(backbone, backbone.template.prefix)
    plan = layout(backbone, pages)
    positions, anchors = serve_positions(backbone, pages)
    own = [compile_at(backbone, page, prefix, anchor.start) for page, anchor in zip(pages, anchors, strict=True)]
    found = ask(backbone, assemble(backbone, prefix, own))
    assert distance(found, native(backbone, plan, positions, block_mask(plan, True), pages)) < TOLERANCE
    assert distance(found, native(backbone, plan, positions, block_mask(plan, True, causal=True), pages)) > 100 * TOLERANCE


# -- oracle 3: pages compiled without a prefix at position 0, re-anchored = native forward in which pages see only themselves


def test_prefix_free_pages_re_anchored_equal_a_mask_in_which_pages_see_only_themselves(backbone: Backbone, pages: list[Page]) -> None:
    prefix = compile_prefix(backbone, backbone.template.prefix)
    own = compiled(backbone, pages, compile_prefix(backbone, ()))
    plan = layout(backbone, pages)
    positions, _ = serve_positions(backbone, pages)
    found = ask(backbone, assemble(backbone, prefix, own))
    assert distance(found, native(backbone, plan, positions, block_mask(plan, False), pages)) < TOLERANCE
    shifted = positions.clone()
    shifted[:, :, -plan.lengths[-1] :] += 1
    assert distance(found, native(backbone, plan, shifted, block_mask(plan, False), pages)) > 100 * TOLERANCE


# -- oracle 4: the real thing = one forward at compile positions, in which the question sees each page's keys rotated on -----


def turned(backbone: Backbone, keys: Tensor, shift: Tensor) -> Tensor:
    """Keys [1, heads, n, d] as the model has them in attention, rotated on by `shift` [n] positions; of latent attention the last band.

    By the formula, not by the model's function: that may read another layout than the one it has written.
    """
    band = backbone.rotary_shape[1] if backbone.family.latent else keys.shape[-1]
    cos, sin = backbone.pair_table(shift.expand(backbone.axes, -1))
    kept, keys = keys[..., : keys.shape[-1] - band], keys[..., keys.shape[-1] - band :]
    width = 2 * cos.shape[1]
    moved, passed = keys[..., :width], keys[..., width:]
    pairs = backbone.layout[1]
    x, y = (moved[..., 0::2], moved[..., 1::2]) if pairs else moved.chunk(2, -1)
    x, y = x * cos - y * sin, y * cos + x * sin
    return torch.cat([kept, torch.stack([x, y], -1).flatten(-2) if pairs else torch.cat([x, y], -1), passed], -1)


@pytest.fixture
def rotated_on() -> dict[str, object]:
    """An attention function whose last rows see every key rotated on by a shift of its own; all other rows see them as compiled."""
    state: dict[str, object] = {}

    def attention(
        module: torch.nn.Module, query: Tensor, keys: Tensor, value: Tensor, mask: Tensor, scaling: float, **_: object
    ) -> tuple[Tensor, None]:
        backbone: Backbone = state["backbone"]  # type: ignore[assignment]
        shift: Tensor = state["shift"]  # type: ignore[assignment]
        last: int = state["question"]  # type: ignore[assignment]
        groups = module.num_key_value_groups

        def scores(keys: Tensor) -> Tensor:
            return query @ keys.repeat_interleave(groups, 1).transpose(2, 3) * scaling

        weights = scores(keys)
        weights[:, :, -last:] = scores(turned(backbone, keys, shift))[:, :, -last:]
        weights = (weights + mask).softmax(-1)
        return (weights @ value.repeat_interleave(groups, 1)).transpose(1, 2).contiguous(), None

    ALL_ATTENTION_FUNCTIONS.register("rotated_on", attention)
    return state


def test_canonical_pages_in_any_order_equal_a_forward_whose_question_sees_rotated_keys(
    backbone: Backbone, pages: list[Page], rotated_on: dict[str, object]
) -> None:
    prefix = compile_prefix(backbone, backbone.template.prefix)
    canonicals = compiled(backbone, pages, prefix)
    for order in ([0, 1, 2], [2, 0, 1]):
        chosen = [pages[i] for i in order]
        plan = layout(backbone, chosen)
        served, anchors = serve_positions(backbone, chosen)
        at_compile = torch.cat([anchor_at(page, prefix.length).positions(backbone.axes) for page in chosen], 1)
        positions = torch.cat([served[:, 0, : prefix.length], at_compile, served[:, 0, -plan.lengths[-1] :]], 1)[:, None]
        shifts = [0, *(anchor.start - prefix.length for anchor in anchors), 0]
        rotated_on.update(
            backbone=backbone, question=plan.lengths[-1], shift=torch.repeat_interleave(torch.tensor(shifts), torch.tensor(plan.lengths))
        )
        found = ask(backbone, assemble(backbone, prefix, [canonicals[i] for i in order]))
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
