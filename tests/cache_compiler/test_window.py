"""The window, against fresh full forwards of the same pages in the same order; and what every operation leaves alone."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from cache_compiler import placed as placed_module
from cache_compiler.assemble import assemble
from cache_compiler.backbone import Backbone
from cache_compiler.condition import condition
from cache_compiler.errors import ContextTooLong, NotInWindow, PatchMismatch, WindowClosed, WindowError, WindowTooSmall
from cache_compiler.form import cut, exact_deficit, orbit_deficit, removal_deficit
from cache_compiler.patch import Factors, Patch, PatchKey
from cache_compiler.prefill import full_prefill
from cache_compiler.prefix import Prefix, compile_prefix
from cache_compiler.probe import probe
from cache_compiler.tiny import random_backbone
from cache_compiler.types import Assembly, Canonical
from cache_compiler.window import Window
from renderer.types import PageImage

CLOSE = 1e-4  # of the logits' spread
A, B, C = range(3)


class Workbench:
    """Three pages with their canonicals, their encodings, and full-rank patches for whatever order is asked for."""

    def __init__(self, backbone: Backbone, prefix: Prefix, images: list[PageImage], pages: list[Canonical]) -> None:
        self.backbone, self.prefix, self.images, self.pages = backbone, prefix, images, pages
        self.keys = [page.key for page in pages]
        self.encoded = dict(zip(self.keys, backbone.encode(images), strict=True))
        self.by_key = dict(zip(self.keys, pages, strict=True))
        self.known: dict[tuple[str, ...], Patch] = {}

    def choose(self, key: str, given: tuple[str, ...]) -> Patch:
        if (key, *given) not in self.known:
            delta = exact_deficit(self.backbone, self.prefix, [self.encoded[k] for k in given], self.encoded[key], self.by_key[key])
            self.known[key, *given] = cut(delta, given, self.by_key[key], None)
        return self.known[key, *given]

    def removal(self, key: str, given: tuple[str, ...], left: tuple[str, ...]) -> Patch:
        pages = [self.encoded[k] for k in given]
        delta = removal_deficit(self.backbone, self.prefix, pages, left, self.encoded[key], self.by_key[key])
        return cut(delta, given, self.by_key[key], None, kind="removal", left=left)

    def window(self, admitted: Sequence[int] = (A, B, C), budget: int = 1 << 30, **more: object) -> Window:
        options: dict[str, Any] = {"choose": self.choose, "fetch": self.by_key.__getitem__, **more}
        window = Window(self.backbone, self.prefix, budget, **options)
        for number in admitted:
            window.admit(self.pages[number])
        return window

    def fresh(self, order: Sequence[int]) -> Assembly:
        return full_prefill(self.backbone, [self.images[number] for number in order])

    def logits(self, context: Assembly) -> Tensor:
        ids = self.backbone.question_ids("Who is the owner of Brobo tower?")
        return probe(self.backbone, context, ids, keep=len(ids))

    def far(self, window: Window, judge: Assembly) -> float:
        wanted = self.logits(judge)
        return float((self.logits(window.assembly()) - wanted).abs().max() / wanted.std())


@pytest.fixture(scope="module")
def bench(backbone: Backbone, prefix: Prefix, images: list[PageImage], pages: list[Canonical]) -> Workbench:
    return Workbench(backbone, prefix, images, pages)


def rows(window: Window) -> tuple[Tensor, Tensor]:
    """Everything that is visible in the window's slab."""
    cache = window.assembly().cache
    return cache.rotary_slab[:, :, :, : cache.rows].clone(), cache.plain_slab[:, :, :, : cache.rows].clone()


def test_pages_admitted_with_whole_patches_are_the_full_forward(bench: Workbench) -> None:
    window = bench.window()
    assert window.keys == tuple(bench.keys)
    assert [patch is not None for patch in window.patches] == [False, True, True]
    assert bench.far(window, bench.fresh([A, B, C])) < CLOSE
    blind = bench.window(choose=lambda key, given: None)
    assert bench.far(blind, bench.fresh([A, B, C])) > 100 * CLOSE  # the control


def test_a_window_without_pages_is_the_prefix(bench: Workbench) -> None:
    window = bench.window([])
    assert torch.equal(rows(window)[0][:, 0], bench.prefix.rotary)
    assert window.assembly().next_position == bench.prefix.length
    assert (window.keys, window.bytes) == ((), 0)


@pytest.mark.parametrize("order", [(C, A, B), (B, A, C), (A, C, B)])
def test_reorder_with_patches_chosen_anew_is_the_full_forward_of_that_order(bench: Workbench, order: tuple[int, ...]) -> None:
    window = bench.window()
    step = window.reorder([bench.keys[number] for number in order])
    assert bench.far(window, bench.fresh(order)) < CLOSE
    assert bench.far(window, bench.fresh([A, B, C])) > 100 * CLOSE
    assert (step.operation, step.dropped, step.bare, step.freed) == ("reorder", (), (), 0)


def test_reorder_names_the_pages_that_no_patch_was_found_for_and_leaves_them_clean(bench: Workbench) -> None:
    window = bench.window(
        choose=lambda key, given: bench.choose(key, given) if (*given, key) == tuple(bench.keys[: len(given) + 1]) else None
    )
    order = [bench.keys[number] for number in (A, C, B)]
    step = window.reorder(order)
    assert step.bare == (bench.keys[C], bench.keys[B])
    assert window.patches == (None, None, None)
    wanted = assemble(bench.backbone, bench.prefix, [bench.by_key[key] for key in order])
    assert torch.equal(bench.logits(window.assembly()), bench.logits(wanted))


def test_an_orbit_patch_serves_a_new_order_of_its_set_and_is_not_rewritten_for_it(bench: Workbench) -> None:
    given = bench.keys[:2]
    delta = orbit_deficit(bench.backbone, bench.prefix, [bench.encoded[k] for k in given], bench.encoded[bench.keys[C]], bench.pages[C])
    orbit = cut(delta, given, bench.pages[C], None, kind="orbit")
    window = bench.window(choose=lambda key, before: orbit if set(before) == set(given) and key == bench.keys[C] else None)
    assert window.patches[2] is orbit
    window._choose = lambda key, before: None
    step = window.reorder([bench.keys[number] for number in (B, A, C)])
    assert window.patches == (None, None, orbit)
    assert step.patched == 0


def test_reorder_takes_every_page_once(bench: Workbench) -> None:
    window = bench.window()
    for order in (bench.keys[:2], [*bench.keys[:2], bench.keys[0]]):
        with pytest.raises(WindowError):
            window.reorder(order)
    with pytest.raises(NotInWindow, match="stranger"):
        window.reorder([*bench.keys[:2], "stranger"])
    assert bench.far(window, bench.fresh([A, B, C])) < CLOSE


def test_survivors_keep_what_they_absorbed_and_are_rotated_to_their_new_places(bench: Workbench) -> None:
    """Keep-as-is: the very rows that an assembly of the same conditioned pages at the new places has."""
    window = bench.window()
    before = rows(window)[1]
    step = window.evict(bench.keys[A])
    wanted = assemble(
        bench.backbone, bench.prefix, bench.pages[1:], patches=[bench.choose(bench.keys[B], (bench.keys[A],)), window.patches[1]]
    )
    assert torch.equal(bench.logits(window.assembly()), bench.logits(wanted))
    length = sum(page.length for page in bench.pages[1:])
    assert torch.equal(rows(window)[1][:, :, :, -length:], before[:, :, :, -length:])  # values are the same bits, moved
    assert (step.moved, step.rows, step.patched, step.placed) == (2, length, 0, 0)
    assert (step.dropped, step.freed) == ((bench.keys[A],), bench.pages[A].bytes)
    conditioned = condition(bench.backbone, bench.prefix, [bench.encoded[key] for key in bench.keys])[1:]
    judge = assemble(bench.backbone, bench.prefix, conditioned)
    assert bench.far(window, judge) < CLOSE
    assert bench.far(window, bench.fresh([B, C])) > 100 * CLOSE  # it is not what a fresh forward would hold


@pytest.mark.parametrize("gone", [[A], [B], [A, B]])
def test_with_whole_removal_patches_the_survivors_are_a_fresh_forward(bench: Workbench, gone: list[int]) -> None:
    window = bench.window()
    window.evict(*[bench.keys[number] for number in gone], removal=bench.removal)
    assert bench.far(window, bench.fresh([number for number in (A, B, C) if number not in gone])) < CLOSE


def test_a_page_that_absorbed_nothing_has_nothing_removed(bench: Workbench) -> None:
    window = bench.window(choose=lambda key, given: None)
    asked: list[str] = []
    window.evict(bench.keys[A], removal=lambda key, given, left: asked.append(key))
    assert asked == []


def test_slide_evicts_from_the_left_until_the_page_fits(bench: Workbench) -> None:
    budget = bench.pages[B].bytes + bench.pages[C].bytes
    window = bench.window([A, B], budget=max(budget, bench.pages[A].bytes + bench.pages[B].bytes))
    step = window.slide(bench.pages[C])
    assert window.keys == tuple(bench.keys[1:])
    assert step.dropped == (bench.keys[A],)
    assert window.bytes <= window.budget
    patches = [bench.choose(bench.keys[B], (bench.keys[A],)), bench.choose(bench.keys[C], (bench.keys[B],))]
    wanted = assemble(bench.backbone, bench.prefix, bench.pages[1:], patches=patches)
    assert torch.equal(bench.logits(window.assembly()), bench.logits(wanted))
    whole = bench.window([A, B], budget=window.budget)
    whole.slide(bench.pages[C], removal=bench.removal)
    assert bench.far(whole, bench.fresh([B, C])) < CLOSE


def test_slide_makes_room_in_positions_too(images: list[PageImage], prefix: Prefix, pages: list[Canonical]) -> None:
    small = random_backbone("tiny", positions=prefix.length + 20)  # the pages take 7, 8 and 6
    window = Window(small, compile_prefix(small, small.template.prefix), 1 << 30)
    for page in pages:
        window.slide(page)
    assert window.keys == tuple(page.key for page in pages[1:])
    with pytest.raises(ContextTooLong, match="evict a page"):
        window.admit(pages[A])
    assert window.keys == tuple(page.key for page in pages[1:])


def test_a_recalled_page_is_conditioned_on_what_stands_before_it_now(bench: Workbench) -> None:
    window = bench.window()
    window.evict(bench.keys[B], removal=bench.removal)
    assert window.evicted == (bench.keys[B],)
    step = window.recall(bench.keys[B])
    assert bench.far(window, bench.fresh([A, C, B])) < CLOSE
    assert (step.operation, step.placed, step.moved) == ("recall", 1, 0)
    assert not window.evicted


def test_a_patch_frozen_at_eviction_is_replayed_only_behind_the_pages_it_was_formed_behind(bench: Workbench) -> None:
    window = bench.window()
    frozen = window.patches[2]
    window.evict(bench.keys[C])
    window._choose = lambda key, given: None
    window.recall(bench.keys[C])
    assert window.patches[2] is frozen
    window.evict(bench.keys[C])
    step = window.recall(bench.keys[C], at=1)  # behind A alone
    assert window.patches[1] is None
    assert step.bare == (bench.keys[C],)


def test_a_patch_that_lost_something_is_not_taken_for_that_of_all_its_antecedents(bench: Workbench) -> None:
    window = bench.window()
    window.evict(bench.keys[A], removal=bench.removal)
    window.evict(bench.keys[C])
    window.admit(bench.pages[A], at=0)
    window._choose = lambda key, given: None
    window.recall(bench.keys[C])  # its patch is now of B alone, and A is back
    assert window.patches[2] is None


def test_recall_takes_only_what_was_evicted_and_not_forgotten(bench: Workbench) -> None:
    window = bench.window()
    with pytest.raises(NotInWindow, match="not evicted"):
        window.recall(bench.keys[A])
    window.evict(bench.keys[A])
    window.forget(bench.keys[A])
    with pytest.raises(NotInWindow, match=bench.keys[A]):
        window.recall(bench.keys[A])
    bare = bench.window(fetch=None)
    bare.evict(bench.keys[A])
    with pytest.raises(WindowError, match="fetch"):
        bare.recall(bench.keys[A])


def test_nothing_is_left_of_a_page_that_is_forgotten(bench: Workbench) -> None:
    """Neither in its rows, nor in what others absorbed from it, nor in a patch that an evicted page held."""
    window = bench.window()
    window.evict(bench.keys[C])
    length = window.segments[1].last
    step = window.forget(bench.keys[A], "stranger")
    assert (step.dropped, window.keys, window.evicted) == ((bench.keys[A],), (bench.keys[B],), (bench.keys[C],))
    assert bench.far(window, bench.fresh([B])) < CLOSE  # B had absorbed A
    slab = window._owned().cache
    window.forget(bench.keys[A])  # once more: the question above has been written behind the pages
    assert not slab.rotary_slab[:, :, :, slab.rows : length].any()
    assert not slab.plain_slab[:, :, :, slab.rows : length].any()
    window.admit(bench.pages[A], at=0)
    window._choose = lambda key, given: None
    window.recall(bench.keys[C])  # behind the very pages its patch was formed behind, but the patch is gone
    assert window.patches[2] is None


def test_pages_that_were_evicted_long_ago_are_forgotten(bench: Workbench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cache_compiler.window._REMEMBERED", 2)
    window = bench.window()
    for key in bench.keys:
        window.evict(key)
    assert window.evicted == tuple(bench.keys[1:])


def test_admitted_in_the_middle_the_pages_behind_move_on_as_they_are(bench: Workbench) -> None:
    window = bench.window([A, C])
    held = window.patches[1]
    step = window.admit(bench.pages[B], at=1)
    assert window.keys == tuple(bench.keys)
    assert window.patches[2] is held
    assert (step.placed, step.moved, step.rows) == (1, 1, bench.pages[C].length)
    patches = [None, bench.choose(bench.keys[B], (bench.keys[A],)), held]
    assert torch.equal(bench.logits(window.assembly()), bench.logits(assemble(bench.backbone, bench.prefix, bench.pages, patches=patches)))


def test_the_clean_view_is_blind_reuse_and_conditioning_comes_back_exactly(bench: Workbench) -> None:
    window = bench.window()
    before = rows(window)
    for key in bench.keys[1:]:
        window.clean_view(key)
    blind = assemble(bench.backbone, bench.prefix, bench.pages)
    assert torch.equal(bench.logits(window.assembly()), bench.logits(blind))
    for key in bench.keys[1:]:
        step = window.recondition(key)
        assert (step.patched, step.placed, step.moved) == (1, 1, 0)
    for was, now in zip(before, rows(window), strict=True):
        assert torch.equal(was, now)


def test_recondition_takes_the_patch_that_it_is_given_and_refuses_anothers(bench: Workbench) -> None:
    window = bench.window()
    patch = bench.choose(bench.keys[B], (bench.keys[C],))
    window.recondition(bench.keys[B], patch)
    assert window.patches[1] is patch
    with pytest.raises(PatchMismatch, match=bench.keys[B]):
        window.recondition(bench.keys[C], patch)
    assert window.patches[2] is not patch


def test_only_rows_behind_the_first_change_are_written(bench: Workbench) -> None:
    """A mark that no operation would write is still there behind operations on the pages to its right."""
    window = bench.window()
    window.assembly(room=64)
    first = window.segments[0]
    slab = window._owned()
    with torch.inference_mode():
        slab.rows(first)[0].fill_(7.0)
        slab.rows(first)[1].fill_(-7.0)
    window.clean_view(bench.keys[B])
    window.evict(bench.keys[B])
    window.recall(bench.keys[B])
    window.reorder(bench.keys)
    assert window._owned() is slab
    for tensor, mark in zip(slab.rows(first), (7.0, -7.0), strict=True):
        assert torch.equal(tensor, torch.full_like(tensor, mark))


def test_two_pages_of_equal_size_can_change_places(bench: Workbench, noise: Callable[..., PageImage]) -> None:
    """Each moves onto the rows that the other has yet to leave."""
    from cache_compiler.compile import compile_pages

    one, two = compile_pages(bench.backbone, [noise(20, 2, 3), noise(21, 2, 3)], bench.prefix)
    window = Window(bench.backbone, bench.prefix, 1 << 30)
    window.admit(one)
    window.admit(two)
    window.reorder([two.key, one.key])
    assert torch.equal(bench.logits(window.assembly()), bench.logits(assemble(bench.backbone, bench.prefix, [two, one])))


def test_a_fork_shares_the_slab_until_it_changes_and_does_not_disturb_its_parent(bench: Workbench) -> None:
    window = bench.window()
    before = rows(window)
    fork = window.fork()
    assert fork._owned() is window._owned()
    fork.evict(bench.keys[A])
    fork.clean_view(bench.keys[C])
    assert fork._owned() is not window._owned()
    for was, now in zip(before, rows(window), strict=True):
        assert torch.equal(was, now)
    assert window.keys == tuple(bench.keys)
    assert window.evicted == ()
    assert fork.keys == tuple(bench.keys[1:])


def test_a_fork_that_is_asked_writes_nothing_into_an_answer_of_its_parent(bench: Workbench) -> None:
    window = bench.window()
    context = window.assembly(room=64)
    ids = torch.tensor([bench.backbone.question_ids("Who?")])
    positions = torch.arange(context.next_position, context.next_position + ids.shape[1]).expand(3, 1, -1)
    bench.backbone.forward(ids, positions, context.cache)
    half = context.cache.rows
    fork = window.fork()
    fork.evict(bench.keys[B])
    bench.logits(fork.assembly())
    assert context.cache.rows == half
    fork.close()
    owned = window._owned()
    window.assembly()
    assert window._owned() is owned  # nobody shares it any more


def test_a_parent_that_changes_leaves_its_fork_as_it_was(bench: Workbench) -> None:
    window = bench.window()
    before = rows(window)
    fork = window.fork()
    window.reorder(list(reversed(bench.keys)))
    window.close()
    for was, now in zip(before, rows(fork), strict=True):
        assert torch.equal(was, now)


def test_toggling_an_antecedents_patches_off_tells_whether_the_answer_hangs_on_them(bench: Workbench) -> None:
    window = bench.window()
    before = rows(window)
    ids = bench.backbone.question_ids("Who is the owner?")
    told = window.disposable(ids, bench.keys[A], max_tokens=8)
    for was, now in zip(before, rows(window), strict=True):
        assert torch.equal(was, now)
    assert told.divergence > 1e-3  # a random model with sharp attention: conditioning matters
    clean = bench.window(choose=lambda key, given: None)
    assert told.without == clean.disposable(ids, bench.keys[A], max_tokens=8).answer
    nothing = window.disposable(ids, bench.keys[C], max_tokens=8)  # nobody is conditioned on the last page
    assert (nothing.same, nothing.divergence) == (True, 0.0)
    assert nothing.answer == nothing.without == told.answer
    with pytest.raises(NotInWindow):
        window.disposable(ids, "stranger")


def test_a_page_larger_than_the_budget_changes_nothing(bench: Workbench) -> None:
    window = bench.window([A, B], budget=bench.pages[A].bytes + bench.pages[B].bytes)
    before = rows(window)
    with pytest.raises(WindowTooSmall, match="slide"):
        window.admit(bench.pages[C])
    window.budget = bench.pages[C].bytes - 1
    with pytest.raises(WindowTooSmall, match="raise the budget"):
        window.slide(bench.pages[C])
    assert window.keys == tuple(bench.keys[:2])
    for was, now in zip(before, rows(window), strict=True):
        assert torch.equal(was, now)


def test_a_page_does_not_stand_in_the_window_twice(bench: Workbench) -> None:
    window = bench.window()
    for operation in (window.admit, window.slide):
        with pytest.raises(WindowError, match="already"):
            operation(bench.pages[B])
    assert window.keys == tuple(bench.keys)


@pytest.mark.parametrize("share", [False, True])
def test_an_operation_that_breaks_in_the_midst_of_writing_leaves_the_window_as_it_was(
    bench: Workbench, monkeypatch: pytest.MonkeyPatch, share: bool
) -> None:
    window = bench.window()
    window.assembly(room=8)
    fork = window.fork() if share else None
    before = bench.logits(window.assembly())
    true, calls = placed_module.place_keys, []

    def failing(*args: object) -> None:
        calls.append(args)
        if len(calls) == 2:
            raise MemoryError("no room")
        true(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(placed_module, "place_keys", failing)
    with pytest.raises(MemoryError):
        window.evict(bench.keys[A])  # B has moved by then, C has not
    assert window.keys == tuple(bench.keys)
    assert torch.equal(bench.logits(window.assembly()), before)
    assert fork is None or torch.equal(bench.logits(fork.assembly()), before)


def test_an_operation_whose_choice_or_fetch_fails_leaves_the_window_as_it_was(bench: Workbench) -> None:
    window = bench.window()
    window.evict(bench.keys[B])
    before = rows(window)

    def broken(*args: object) -> Patch:
        raise OSError("the disk is gone")

    window._choose = broken
    with pytest.raises(OSError, match="disk"):
        window.reorder(window.keys[::-1])
    with pytest.raises(OSError, match="disk"):
        window.recall(bench.keys[B])
    window._fetch = broken  # type: ignore[assignment]
    with pytest.raises(OSError, match="disk"):
        window.recall(bench.keys[B])
    assert window.evicted == (bench.keys[B],)
    for was, now in zip(before, rows(window), strict=True):
        assert torch.equal(was, now)


def test_a_question_is_forgotten_when_the_next_one_comes_even_one_that_outgrew_the_slab(bench: Workbench) -> None:
    window = bench.window()
    before = bench.logits(window.assembly())
    ids = torch.tensor([bench.backbone.question_ids("What is all this about? " * 20)])
    context = window.assembly()
    positions = torch.arange(context.next_position, context.next_position + ids.shape[1]).expand(3, 1, -1)
    bench.backbone.forward(ids, positions, context.cache)
    assert torch.equal(bench.logits(window.assembly()), before)
    window.evict(bench.keys[C])
    assert bench.far(window, bench.fresh([A, B])) < CLOSE


def test_a_question_gets_the_room_it_asks_for(bench: Workbench) -> None:
    window = bench.window()
    before = bench.logits(window.assembly())
    context = window.assembly(room=500)
    assert context.cache.rotary_slab.shape[3] >= context.length + 500
    assert torch.equal(bench.logits(context), before)


def test_a_closed_window_is_of_no_more_use_and_closing_it_again_is_no_error(bench: Workbench) -> None:
    window = bench.window()
    window.evict(bench.keys[C])
    window.close()
    window.close()
    uses: list[Callable[[], object]] = [
        lambda: window.admit(bench.pages[C]),
        lambda: window.slide(bench.pages[C]),
        lambda: window.evict(bench.keys[A]),
        lambda: window.reorder(bench.keys),
        lambda: window.recall(bench.keys[C]),
        lambda: window.clean_view(bench.keys[B]),
        lambda: window.recondition(bench.keys[B]),
        lambda: window.disposable([1], bench.keys[A]),
        lambda: window.forget(bench.keys[C]),
        lambda: window.keys,
        lambda: window.bytes,
        window.assembly,
        window.fork,
    ]
    for use in uses:
        with pytest.raises(WindowClosed):
            use()


def drawn(page: Canonical, kind: str, given: Sequence[str], rank: int, seed: int, left: tuple[str, ...] = ()) -> Patch:
    """A patch of random numbers."""
    draw = torch.Generator().manual_seed(seed)
    factors = []
    for tensor in (page.rotary, page.plain):
        layers, heads, n, dim = tensor.shape
        left_shape, right_shape = (layers - 1, n, rank), (layers - 1, rank, heads * dim)
        factors.append(Factors(torch.randn(left_shape, generator=draw), torch.randn(right_shape, generator=draw)))
    return Patch(PatchKey(page.key, tuple(given), kind, rank, left=left), *factors)  # type: ignore[arg-type]


OPERATIONS = ("admit", "admit", "slide", "evict", "reorder", "recall", "clean_view", "recondition", "fork", "forget", "close", "ask")


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_whatever_is_done_the_rows_are_those_of_an_assembly_made_from_scratch(bench: Workbench, data: st.DataObject) -> None:
    """To the bit, in every fork; and what is refused changes nothing."""

    def choose(key: str, before: tuple[str, ...]) -> Patch | None:
        number = (len(before) * 7 + bench.keys.index(key)) % 5
        return None if number == 0 else drawn(bench.by_key[key], "orbit" if number == 1 else "exact", before, number, number)

    def removal(key: str, before: tuple[str, ...], left: tuple[str, ...]) -> Patch | None:
        return drawn(bench.by_key[key], "removal", before, 2, len(left), left)

    budget = data.draw(st.sampled_from([1 << 30, bench.pages[A].bytes + bench.pages[B].bytes]))
    windows = [bench.window([], budget, choose=choose)]
    for _ in range(data.draw(st.integers(1, 12))):
        window, operation = data.draw(st.sampled_from(windows)), data.draw(st.sampled_from(OPERATIONS))
        page = data.draw(st.sampled_from(bench.pages))
        before = (window.keys, window.patches, window.evicted)
        try:
            match operation:
                case "admit":
                    window.admit(page, data.draw(st.sampled_from([None, 0, 1])))
                case "slide":
                    window.slide(page, removal)
                case "evict":
                    window.evict(page.key, removal=data.draw(st.sampled_from([None, removal])))
                case "reorder":
                    window.reorder(data.draw(st.permutations(window.keys)))
                case "fork" if len(windows) < 3:
                    windows.append(window.fork())
                case "close" if len(windows) > 1:
                    window.close()
                    windows.remove(window)
                    continue
                case "ask":
                    bench.logits(window.assembly())
                case "recall" | "clean_view" | "recondition" | "forget":
                    getattr(window, operation)(page.key)
        except WindowError:
            assert (window.keys, window.patches, window.evicted) == before
        for each in windows:
            made = assemble(bench.backbone, bench.prefix, each.pages, patches=each.patches)
            for mine, other in zip(rows(each), (made.cache.rotary_slab, made.cache.plain_slab), strict=True):
                assert torch.equal(mine, other[:, :, :, : made.length])
            assert each.segments == made.segments
