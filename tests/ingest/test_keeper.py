"""Behind questions: uses noted in batches, caches put back, the limit held, and nothing remembered of what another process deleted."""

import time
from collections.abc import Callable

import pytest
import torch

from cache_compiler.types import Canonical
from ingest import keeper as room
from ingest.errors import HomeBusy
from ingest.evict import look
from ingest.keeper import Keeper
from ingest.pipeline import finish_run
from ingest.remove import remove_document
from ingest.workshop import Workshop


@pytest.fixture
def filled(take_in: Callable[..., Workshop]) -> Workshop:
    workshop = take_in("b.txt")
    workshop.store.ram.limit = 1 << 30
    return workshop


def whole(canonical: Canonical) -> Canonical:
    """A copy that does not hang on a file."""
    return Canonical(canonical.key, canonical.rotary.clone(), canonical.plain.clone(), canonical.rows, canonical.columns)


def test_what_was_read_is_noted_in_a_batch_and_never_while_it_is_read(filled: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    notes: list[object] = []
    true: Callable[..., None] = filled.catalogue.note_uses
    monkeypatch.setattr(filled.catalogue, "note_uses", lambda uses: (notes.append(uses), true(uses)))
    keeper, (first, second) = Keeper(filled), list(filled.store.keys())[:2]
    keeper.plan([first, second])
    keeper.plan([first])
    assert keeper.planned == {first, second}
    keeper.release([first, second])
    assert keeper.planned == {first}
    keeper.release([first])
    keeper.round()
    assert notes == []
    keeper.close()
    assert len(notes) == 1
    assert set(filled.catalogue.uses()) == {first, second}


def test_a_cache_is_put_back_unless_its_page_has_gone(filled: Workshop) -> None:
    keeper, (first, second) = Keeper(filled), list(filled.store.keys())[:2]
    kept = [whole(filled.store.get(key).canonical) for key in (first, second)]
    before = filled.store.path(first).read_bytes()
    filled.store.remove(first)
    filled.store.path(second).write_bytes(b"damaged")
    keeper.put_back(kept[0])
    keeper.put_back(kept[1], damaged=True)
    keeper.round()
    assert filled.store.path(first).read_bytes() == before
    filled.store.ram.drop(second)
    assert torch.equal(filled.store.get(second).canonical.rotary, kept[1].rotary)
    remove_document(filled, filled.catalogue.documents("default")[0].id)
    keeper.put_back(kept[0])
    keeper.round()
    assert list(filled.store.keys()) == []


def test_what_waits_is_not_lost_where_somebody_else_writes(filled: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    def busy() -> None:
        raise HomeBusy("somebody writes")

    keeper, key = Keeper(filled), next(filled.store.keys())
    kept = whole(filled.store.get(key).canonical)
    filled.store.remove(key)
    keeper.put_back(kept)
    with monkeypatch.context() as patch:
        patch.setattr(filled.home, "writing", busy)
        with pytest.raises(HomeBusy):
            keeper.round()
    keeper.round()
    assert filled.store.has(key)


def test_the_limit_is_held_and_what_a_question_has_planned_stays(filled: Workshop) -> None:
    keys = sorted(filled.store.keys(), key=lambda key: key.partition("@")[2])
    keeper = Keeper(filled)
    filled.disk_bytes = look(filled, ())[0] - 1
    keeper.plan(keys[:1])  # of the two at 120 DPI, which go first
    keeper.round()
    assert set(keys) - set(filled.store.keys()) == {keys[1]}
    assert look(filled, ())[0] <= filled.disk_bytes
    filled.disk_bytes = 0
    finish_run(filled, "default")  # as an upload that ends does
    assert list(filled.store.keys()) == keys[:1]


def test_what_another_process_deleted_is_forgotten_though_nobody_asks(filled: Workshop) -> None:
    from ingest.shelf import open_shelf

    told: list[bool] = []
    # The model is taken for long, then free.
    answers = iter([*[False] * 20, True])

    def forget() -> bool:
        told.append(next(answers))
        return told[-1]

    keeper, key = Keeper(filled, forget), next(filled.store.keys())
    filled.store.get(key)
    assert filled.store.ram.get(key) is not None
    keeper.round()
    assert told == []
    with open_shelf(filled.home.root) as other:
        remove_document(other, other.catalogue.documents("default")[0].id)
    for _ in range(25):
        keeper.round()
    assert told == [*[False] * 20, True]
    assert filled.store.ram.get(key) is None


def test_a_round_that_fails_is_not_the_last_one(
    filled: Workshop, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(room, "ROUND", 0.01)
    keeper, calls = Keeper(filled), []

    def fail() -> None:
        calls.append(1)
        if len(calls) < 3:
            raise RuntimeError("a defect")

    monkeypatch.setattr(keeper, "_put_back", fail)
    keeper.start()
    until = time.monotonic() + 30
    while len(calls) < 4:
        assert time.monotonic() < until, "there were no more rounds"
        time.sleep(0.01)
    keeper.close()
    assert "the next round tries again" in caplog.text
