"""Pages that answers are read from together are counted as sets; what is retrieved often is formed in the background, and people come first."""

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext

import pytest

from cache_compiler.choice import patch_for
from ingest import together
from ingest.patching import keep, pages_of
from ingest.policy import Policy, Wanted
from ingest.remove import remove_document
from ingest.together import PatchWorker, Together, form_orbit
from ingest.workshop import Workshop


def test_a_set_is_counted_whatever_its_order_and_told_once() -> None:
    seen = Together(3)
    assert seen.saw(["a", "b", "c"]) == []
    assert seen.saw(["b", "a", "c"]) == []
    assert seen.saw(["a", "b", "c"]) == [Wanted("c", ("a", "b"))]
    assert seen.saw(["a", "b", "c"]) == [Wanted("b", ("a",))]
    assert seen.saw(["a", "b", "c"]) == []


def test_the_leading_page_and_a_page_that_stands_twice_are_not_counted() -> None:
    seen = Together(1)
    assert seen.saw(["a"]) == seen.saw([]) == []
    assert seen.saw(["a", "a", "b"]) == []


def test_the_sets_seen_longest_ago_are_forgotten() -> None:
    seen = Together(2, keep=2)
    for pages in (["a", "b"], ["a", "c"], ["a", "d"]):
        assert seen.saw(pages) == []
    assert seen.saw(["a", "b"]) == []  # a count of one again
    assert seen.saw(["a", "d"]) == [Wanted("d", ("a",))]


def test_what_could_not_be_formed_is_wanted_the_next_time() -> None:
    seen = Together(2)
    seen.saw(["a", "b"])
    (wanted,) = seen.saw(["a", "b"])
    seen.again(wanted)
    assert seen.saw(["a", "b"]) == [wanted]


@pytest.fixture
def hot(take_in: Callable[..., Workshop]) -> Workshop:
    """A home of three documents, four pages in all, and no patches but those that are retrieved together."""
    workshop = take_in("a.txt", "b.txt", "c.txt", policy=Policy("off"))
    workshop.policy = Policy("hot", rank=8, hot_after=2)
    return workshop


@pytest.fixture
def keys(hot: Workshop) -> list[str]:
    rows = hot.catalogue.documents("default")
    return [f"{ref.key}@72" for row in rows for ref in pages_of(hot.catalogue.chunks_of(row.id))]


@contextmanager
def working(workshop: Workshop, turn: together.Turn = nullcontext) -> Iterator[PatchWorker]:
    worker = PatchWorker(workshop, turn)
    worker.start()
    try:
        yield worker
    finally:
        worker.close()


def test_an_orbit_patch_serves_every_order_of_its_set(hot: Workshop, keys: list[str]) -> None:
    key = form_orbit(hot, keys[2], keys[:2])
    assert key is not None
    for order in (keys[:2], keys[1::-1]):
        found = patch_for(hot.store.patches, keys[2], order, missing=0)
        assert found is not None
        assert (found.match, found.patch.key) == ("orbit", key)
    assert form_orbit(hot, keys[2], keys[1::-1]) is None  # there already


def test_of_one_page_the_exact_patch_that_is_there_is_enough(hot: Workshop, keys: list[str]) -> None:
    key = form_orbit(hot, keys[1], keys[:1])
    assert key is not None
    patch = hot.store.patches.get(key).patch
    hot.store.patches.remove(key)
    hot.store.patches.put(type(patch)(type(key)(key.page, key.given, "exact", key.rank), patch.rotary, patch.plain))
    assert form_orbit(hot, keys[1], keys[:1]) is None


def test_what_stands_together_often_enough_is_formed_in_turns_of_its_own(hot: Workshop, keys: list[str]) -> None:
    turns: list[int] = []

    @contextmanager
    def turn() -> Iterator[bool]:
        turns.append(len(list(hot.store.patches.keys())))
        yield True

    with working(hot, turn) as worker:
        worker.note(keys[:3])
        worker.drain()
        assert list(hot.store.patches.keys()) == []
        worker.note([keys[1], keys[0], keys[2]])
        worker.drain()
        assert [(key.page, key.given) for key in hot.store.patches.keys()] == [(keys[2], tuple(sorted(keys[:2])))]  # noqa: SIM118
        worker.note(keys[:3])
        worker.drain()
    # A turn for each of the two orders and one for the cutting; then the other patch, of one order.
    assert turns == [0, 0, 0, 1, 1]
    assert {key.page for key in hot.store.patches.keys()} == {keys[1], keys[2]}  # noqa: SIM118


@pytest.mark.parametrize("word", ["adjacent", "off"])
def test_under_another_policy_nothing_is_counted_or_formed(hot: Workshop, keys: list[str], word: str) -> None:
    hot.policy = Policy(word, hot_after=1)  # type: ignore[arg-type]
    with working(hot) as worker:
        worker.note(keys)
        worker.drain()
    assert list(hot.store.patches.keys()) == []


def test_an_error_is_logged_and_the_next_patch_is_formed(hot: Workshop, keys: list[str], caplog: pytest.LogCaptureFixture) -> None:
    hot.store.path(keys[0]).write_bytes(b"damage")
    with working(hot) as worker, caplog.at_level(logging.ERROR):
        for pages in ([keys[1], keys[0]], [keys[1], keys[2]]):
            worker.note(pages)
            worker.note(pages)
        worker.drain()
    assert "CorruptCache" in caplog.text
    assert [key.page for key in hot.store.patches.keys()] == [keys[2]]  # noqa: SIM118


def test_a_turn_that_says_not_now_leaves_the_patch_for_the_next_time(hot: Workshop, keys: list[str]) -> None:
    answers = iter([False, True, True])

    @contextmanager
    def turn() -> Iterator[bool]:
        yield next(answers)

    with working(hot, turn) as worker:
        for formed in (0, 0, 1):
            worker.note(keys[:2])
            worker.drain()
            assert len(list(hot.store.patches.keys())) == formed


def test_pages_of_a_document_that_is_gone_are_not_formed(hot: Workshop, keys: list[str]) -> None:
    remove_document(hot, hot.catalogue.documents("default")[0].id)
    with working(hot) as worker:
        for _ in range(2):
            worker.note(keys[:2])
        worker.drain()
    assert not list(hot.store.patches.folder.rglob("*.safetensors"))


def test_a_deletion_while_an_orbit_is_formed_leaves_no_file_behind(hot: Workshop, keys: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    true = together.cut

    def cut(*args: object, **more: object) -> object:
        patch = true(*args, **more)  # type: ignore[arg-type]
        remove_document(hot, hot.catalogue.documents("default")[0].id)
        return patch

    monkeypatch.setattr(together, "cut", cut)
    assert form_orbit(hot, keys[1], keys[:1]) is None
    assert not [path for path in hot.store.folder.rglob("*") if path.is_file() and keys[0] in str(path)]


def test_a_person_who_comes_between_two_orders_goes_first_and_the_orbit_is_formed_behind(hot: Workshop, keys: list[str]) -> None:
    """The very patch that is formed in one go; for as long as somebody is there, the worker has no turn."""
    key = form_orbit(hot, keys[2], keys[:2])
    assert key is not None
    whole = hot.store.patches.path(key).read_bytes()
    hot.store.patches.remove(key)
    said: list[bool] = []

    @contextmanager
    def turn() -> Iterator[bool]:
        said.append(len(said) not in (1, 2))
        yield said[-1]

    with working(hot, turn) as worker:
        for order in ((0, 1, 2), (1, 0, 2)):
            worker.note([keys[number] for number in order])
        worker.drain()
    assert said == [True, False, False, True, True]
    assert hot.store.patches.path(key).read_bytes() == whole


def test_a_deletion_between_two_orders_ends_the_orbit_without_an_error(
    hot: Workshop, keys: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    steps = together.orbit_steps(hot, keys[2], keys[:2])
    next(steps)
    remove_document(hot, hot.catalogue.documents("default")[0].id)
    next(steps)  # the second order; the pages had been encoded
    with pytest.raises(StopIteration) as end:
        next(steps)
    assert not keep(hot, end.value.value)  # formed, and not kept: a page of it is gone
    for number in (0, 2):  # gone before its first forward
        assert form_orbit(hot, keys[2 - number], keys[number : number + 1]) is None
    assert not list(hot.store.patches.folder.rglob("*.safetensors"))
    assert caplog.text == ""


def test_closing_waits_for_the_forward_in_hand_and_leaves_the_rest(hot: Workshop, keys: list[str]) -> None:
    begun, go_on = threading.Event(), threading.Event()

    @contextmanager
    def turn() -> Iterator[bool]:
        begun.set()
        go_on.wait(30)
        yield True

    worker = PatchWorker(hot, turn)
    worker.start()
    for pages in (keys[:2], keys[:2], keys[2:4], keys[2:4]):
        worker.note(pages)
    assert begun.wait(30)
    closing = threading.Thread(target=worker.close)
    closing.start()
    while not worker._stopping.is_set():
        pass
    go_on.set()
    closing.join(30)
    assert not closing.is_alive()
    assert list(hot.store.patches.keys()) == []
    worker.note(keys)  # after the end: heard by nobody, and no error
