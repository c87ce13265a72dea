"""The exact oracles for position-independent page caches: for random models of every family and for the embedded reader.

Each compares the question's logits with one forward of the model, to 1e-4 of the logits' spread; each has a control that must be far off,
so that a model too blunt to notice a wrong position could not pass. The judge is judged in turn, by the model's own class with nothing of
ours around it. Pages are images of noise, or runs of random tokens where the family reads text alone.
"""

from collections.abc import Sequence

import numpy as np
import pytest
import torch
from PIL import Image
from torch import Tensor

from cache_compiler.assemble import assemble
from cache_compiler.backbone import Backbone
from cache_compiler.compile import compile_pages, compile_texts
from cache_compiler.judge import Sight, native, request
from cache_compiler.load import load_backbone
from cache_compiler.oracles import EXACT, ORACLES, QUESTION, ROUNDINGS, alone, bound, distance, rounding, served
from cache_compiler.prefill import full_prefill, prefill_encoded
from cache_compiler.prefix import compile_prefix
from cache_compiler.probe import probe
from cache_compiler.tiny import random_backbone
from cache_compiler.types import Assembly, Encoded
from renderer.types import PageImage

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
    return make_pages(backbone)


def make_pages(backbone: Backbone) -> list[Page]:
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


@pytest.fixture(scope="module")
def encoded(backbone: Backbone, pages: list[Page]) -> list[Encoded]:
    return encode(backbone, pages)


def encode(backbone: Backbone, pages: Sequence[Page]) -> list[Encoded]:
    if backbone.reads_images:
        return backbone.encode(pages)  # type: ignore[arg-type]
    return [backbone.encode_text(*page) for page in pages]  # type: ignore[misc]


def full(backbone: Backbone, pages: Sequence[Page]) -> Assembly:
    return full_prefill(backbone, pages) if backbone.reads_images else prefill_encoded(backbone, encode(backbone, pages))  # type: ignore[arg-type]


def ask(backbone: Backbone, context: Assembly) -> Tensor:
    ids = backbone.question_ids(QUESTION)
    return probe(backbone, context, ids, len(ids))


@pytest.mark.parametrize("name", ORACLES)
def test_every_oracle_holds_and_notices_what_is_wrong_on_purpose(name: str, backbone: Backbone, encoded: list[Encoded]) -> None:
    reading = ORACLES[name](backbone, encoded)
    assert reading.passes(EXACT)
    assert not reading.blunt(100 * EXACT)


def test_pages_that_are_compiled_in_one_batch_answer_as_a_full_prefill_does(backbone: Backbone, pages: list[Page]) -> None:
    prefix = compile_prefix(backbone, backbone.template.prefix)
    compiled = (compile_pages if backbone.reads_images else compile_texts)(backbone, pages, prefix)  # type: ignore[operator]
    for page, canonical in zip(pages, compiled, strict=True):
        context = assemble(backbone, prefix, [canonical])
        judge = ask(backbone, full(backbone, [page]))
        assert distance(ask(backbone, context), judge) < EXACT
        context.next_position += 1
        assert distance(ask(backbone, context), judge) > 100 * EXACT


# -- the judge itself, by the model's own class and its image processor --------------------------------------------------


def stock(backbone: Backbone, pages: Sequence[Page], encoded: Sequence[Encoded], **how: object) -> Tensor:
    """Logits of the question by the class alone: ids and pixels go in, no cache of ours."""
    whole = request(backbone, encoded, backbone.question_ids(QUESTION))
    ids = torch.tensor([[token for part in whole.parts for token in part.ids]])
    seen: dict[str, object] = {}
    if backbone.reads_images:
        values, grid = backbone.pixels([page.image for page in pages])  # type: ignore[union-attr]
        seen = {"pixel_values": values, "image_grid_thw": grid, "mm_token_type_ids": (ids == backbone.template.image).int()}
    with torch.inference_mode():
        logits: Tensor = backbone.model(input_ids=ids, use_cache=False, **{"attention_mask": torch.ones_like(ids), **seen, **how}).logits
    return logits[0, -whole.asked :]


def test_full_prefill_is_what_the_stock_class_does_with_its_own_positions(
    backbone: Backbone, pages: list[Page], encoded: list[Encoded]
) -> None:
    assert distance(ask(backbone, full(backbone, pages)), stock(backbone, pages, encoded)) < EXACT


@pytest.mark.parametrize(("sight", "compiled"), [("causal", False), ("own", False), ("itself", False), ("own", True)])
def test_the_judge_is_what_the_stock_class_does_with_that_mask(
    sight: Sight, compiled: bool, backbone: Backbone, pages: list[Page], encoded: list[Encoded]
) -> None:
    whole = request(backbone, encoded, backbone.question_ids(QUESTION))
    allowed, where = whole.allowed(sight), whole.positions(backbone.axes, compiled)
    eager = backbone.config._attn_implementation != "sdpa"
    mask = torch.zeros(allowed.shape).masked_fill(~allowed, torch.finfo(torch.float32).min) if eager else allowed
    positions = where[:, None] if backbone.axes == 3 else where
    judge = stock(backbone, pages, encoded, attention_mask=mask[None, None], position_ids=positions)
    assert distance(native(backbone, whole, sight, where), judge) < EXACT


def test_pages_see_what_they_are_said_to_see(backbone: Backbone, encoded: list[Encoded]) -> None:
    whole = request(backbone, encoded, backbone.question_ids(QUESTION))
    ends = torch.tensor(whole.lengths).cumsum(0).tolist()
    last_of_second, begin = ends[2] - 1, [0, *ends[:-1]]
    for sight, parts in (("causal", {0, 1, 2}), ("own", {0, 2}), ("itself", {2})):
        row = whole.allowed(sight)[last_of_second]  # type: ignore[arg-type]
        assert {part for part in range(len(ends)) if bool(row[begin[part] : ends[part]].all())} == parts
        assert int(row.sum()) == sum(whole.lengths[part] for part in parts)
        assert bool(whole.allowed(sight)[-1].all())  # type: ignore[arg-type]


# -- fewer bits, and a model that is broken -------------------------------------------------------------------------------


@pytest.mark.parametrize("family", ["glm4v", "deepseek_v2"])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_in_fewer_bits_oracles_stay_within_the_model_s_own_rounding(family: str, dtype: torch.dtype) -> None:
    model = random_backbone("tiny", family=family, sharpen=1.0)
    model.model.to(dtype)
    three = encode(model, make_pages(model))
    allowed = bound(model, three)
    assert allowed == ROUNDINGS * rounding(model, three) > EXACT
    for oracle in ORACLES.values():
        reading = oracle(model, three)
        assert reading.passes(allowed)
        assert not reading.blunt(allowed)


def test_a_rotation_that_is_a_little_off_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    model = random_backbone("tiny", family="llama")
    three = encode(model, make_pages(model))
    right = model.table
    monkeypatch.setattr(model, "table", lambda positions, *more: right(positions * 1.01, *more))
    assert not alone(model, three).passes(EXACT)
    assert not served(model, three).passes(EXACT)
