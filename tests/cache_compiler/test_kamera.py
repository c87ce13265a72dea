"""Kamera's claims, family by family, against the model's own causal forward: GLM-4V, Qwen2.5-VL, Qwen3-VL (deepstack), MHA and GQA text, MLA.

Full rank is re-prefill and rank 0 is blind reuse; one patch serves at every place; a page that was moved, dropped or called back is
what a fresh forward over the new context would have made of it.
"""

from collections.abc import Sequence

import pytest
import torch
from torch import Tensor

from cache_compiler import form
from cache_compiler.assemble import assemble
from cache_compiler.backbone import Backbone
from cache_compiler.condition import condition
from cache_compiler.load import load_backbone
from cache_compiler.patch import Patch
from cache_compiler.place import place
from cache_compiler.prefill import prefill_encoded
from cache_compiler.prefix import Prefix, compile_prefix, condition_ids
from cache_compiler.probe import probe
from cache_compiler.types import Assembly, Canonical, Encoded
from cache_compiler.window import Window

CLOSE = 1e-4  # of the logits' spread
FAR = 1e-2


class Shelf:
    """A backbone with three pages: encoded, compiled alone, and the patches that a full rank gives them in any context."""

    def __init__(self, backbone: Backbone, encoded: Sequence[Encoded], condition_name: str = "template") -> None:
        self.backbone = backbone
        self.prefix: Prefix = compile_prefix(backbone, condition_ids(backbone, condition_name))
        self.encoded = {page.key: page for page in encoded}
        # A page alone behind the prefix is a context of one page.
        self.canonicals: dict[str, Canonical] = {page.key: condition(backbone, self.prefix, [page])[0] for page in encoded}
        self.keys = list(self.encoded)

    def patch(self, key: str, given: Sequence[str], rank: int | None = None) -> Patch | None:
        if not given:
            return None
        delta = form.exact_deficit(self.backbone, self.prefix, [self.encoded[k] for k in given], self.encoded[key], self.canonicals[key])
        return form.cut(delta, given, self.canonicals[key], rank)

    def linked(self, keys: Sequence[str], rank: int | None = None) -> Assembly:
        """The context from stored parts, each page patched for those before it."""
        patches = [self.patch(key, keys[:at], rank) for at, key in enumerate(keys)]
        return assemble(self.backbone, self.prefix, [self.canonicals[key] for key in keys], patches=patches)

    def judge(self, keys: Sequence[str]) -> Assembly:
        return prefill_encoded(self.backbone, [self.encoded[key] for key in keys])

    def window(self) -> Window:
        return Window(
            self.backbone, self.prefix, 1 << 30, choose=lambda key, given: self.patch(key, given), fetch=self.canonicals.__getitem__
        )

    def far(self, found: Assembly, judge: Assembly) -> float:
        """Largest difference of the question's logits, as a share of their spread."""
        one, two = self.logits(found), self.logits(judge)
        return float((one - two).abs().max() / two.std())

    def logits(self, context: Assembly) -> Tensor:
        ids = self.backbone.question_ids("Who is the owner of Brobo tower?")
        return probe(self.backbone, context, ids, keep=len(ids))


@pytest.fixture(scope="module")
def shelf(every: Backbone, three: list[Encoded]) -> Shelf:
    return Shelf(every, three)


@pytest.fixture(scope="module")
def reader(images) -> Shelf:
    backbone = load_backbone("reader")
    return Shelf(backbone, backbone.encode(images))


def check_ranks(shelf: Shelf) -> None:
    judge, blind = shelf.judge(shelf.keys), assemble(shelf.backbone, shelf.prefix, list(shelf.canonicals.values()))
    assert shelf.far(shelf.linked(shelf.keys), judge) < CLOSE
    assert shelf.far(shelf.linked(shelf.keys, rank=0), blind) < CLOSE
    assert shelf.far(blind, judge) > FAR


def check_windows(shelf: Shelf) -> None:
    a, b, c = shelf.keys
    window = shelf.window()
    for key in shelf.keys:
        window.admit(shelf.canonicals[key])
    assert shelf.far(window.assembly(), shelf.judge([a, b, c])) < CLOSE
    window.reorder([c, a, b])
    assert shelf.far(window.assembly(), shelf.judge([c, a, b])) < CLOSE
    window.evict(c)
    # A survivor keeps what it absorbed from the page that left: near, and not the same.
    kept = shelf.far(window.assembly(), shelf.judge([a, b]))
    window.recondition(a)
    window.recondition(b)
    assert shelf.far(window.assembly(), shelf.judge([a, b])) < CLOSE < kept
    window.recall(c)
    assert shelf.far(window.assembly(), shelf.judge([a, b, c])) < CLOSE
    for key in (a, b, c):
        window.clean_view(key)
    assert shelf.far(window.assembly(), assemble(shelf.backbone, shelf.prefix, [shelf.canonicals[key] for key in shelf.keys])) < CLOSE


def test_full_rank_is_the_causal_forward_and_rank_zero_is_blind_reuse_in_every_family(shelf: Shelf) -> None:
    check_ranks(shelf)


def test_full_rank_is_the_causal_forward_and_rank_zero_is_blind_reuse_for_the_reader(reader: Shelf) -> None:
    check_ranks(reader)


def test_reorder_slide_and_recall_meet_a_fresh_forward_in_every_family(shelf: Shelf) -> None:
    check_windows(shelf)


def test_reorder_slide_and_recall_meet_a_fresh_forward_for_the_reader(reader: Shelf) -> None:
    check_windows(reader)


def test_a_patch_formed_at_one_offset_serves_at_another_in_every_family(every: Backbone, three: list[Encoded]) -> None:
    """Without a prefix two pages may stand anywhere: the patch formed at position 0 is added to pages 300 further on, and the question
    must see what a native forward over those positions shows it. (An fp32 angle is rounded anew there, so the bound is wider.)"""
    shelf, offset = Shelf(every, three, "free"), 300
    a, b = shelf.keys[:2]
    judge = native_at(shelf, [a, b], offset)
    assert shelf.far(placed_at(shelf, [a, b], [None, shelf.patch(b, [a])], offset), judge) < 10 * CLOSE
    assert shelf.far(placed_at(shelf, [a, b], [None, None], offset), judge) > FAR


def placed_at(shelf: Shelf, keys: Sequence[str], patches: Sequence[Patch | None], start: int) -> Assembly:
    """Pages placed from `start` on, behind no rows at all."""
    cache = shelf.backbone.empty_cache(sum(shelf.canonicals[key].length for key in keys) + 32)
    for key, patch in zip(keys, patches, strict=True):
        page = shelf.canonicals[key]
        rotary, plain = cache.reserve(page.length)
        place(shelf.backbone, page, page.at(start), rotary[:, 0], plain[:, 0], patch)
        start = page.at(start).end
    return Assembly(cache, (), cache.rows, start)


def native_at(shelf: Shelf, keys: Sequence[str], start: int) -> Assembly:
    """The same by one forward of the model."""
    backbone, pages, positions = shelf.backbone, [shelf.encoded[key] for key in keys], []
    for page in pages:
        positions.append(page.at(start).positions(backbone.axes))
        start = page.at(start).end
    cache = backbone.empty_cache(sum(page.length for page in pages) + 32)
    backbone.forward_encoded(pages, torch.cat(positions, dim=1)[:, None], cache, keep=0)
    return Assembly(cache, (), cache.rows, start)
