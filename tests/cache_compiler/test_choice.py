"""A page gets the stored patch that knows most of what stands before it, and never one that knows what does not (Kamera, Appendix D)."""

import logging
import shutil
from dataclasses import fields, replace
from pathlib import Path

import pytest
import torch

from cache_compiler.choice import choose, patch_for
from cache_compiler.errors import CacheMiss
from cache_compiler.identity import Identity
from cache_compiler.patch import Basis, Factors, Patch, PatchKey
from cache_compiler.patch_store import PatchStore

IDENTITY = Identity(**{field.name: f"{number}" * 8 for number, field in enumerate(fields(Identity))})
A, B, C, D, E = (f"{letter * 32}@72" for letter in "abcde")


@pytest.fixture
def store(tmp_path: Path) -> PatchStore:
    return PatchStore(tmp_path / "patches", IDENTITY)


def put(store: PatchStore, *given: str, kind: str = "exact", rank: int = 2, page: str = E, **more: object) -> PatchKey:
    key = PatchKey(page, given, kind, rank, **more)  # type: ignore[arg-type]
    store.put(Patch(key, *(Factors(torch.ones(1, 3, rank), torch.ones(1, rank, 4)) for _ in range(2))))
    return key


def chosen(store: PatchStore, *antecedents: str, missing: int = 1) -> tuple[PatchKey, str, tuple[str, ...]] | None:
    found = patch_for(store, E, antecedents, missing)
    return None if found is None else (found.patch.key, found.match, found.missing)


def test_a_page_that_leads_needs_no_patch(store: PatchStore) -> None:
    put(store, A)
    assert chosen(store) is None


def test_the_order_formed_for_comes_before_the_orbit_of_the_set_before_a_part_of_it(store: PatchStore) -> None:
    part = put(store, B, rank=9)
    assert chosen(store, A, B) == (part, "subset", (A,))
    orbit = put(store, B, A, kind="orbit")
    assert chosen(store, A, B) == (orbit, "orbit", ())
    exact = put(store, A, B, rank=1)
    assert chosen(store, A, B) == (exact, "exact", ())
    assert chosen(store, B, A) == (orbit, "orbit", ())


def test_an_exact_patch_of_another_order_is_not_taken(store: PatchStore) -> None:
    put(store, A, B)
    assert chosen(store, B, A) is None
    assert chosen(store, A, B) is not None


@pytest.mark.parametrize("kind", ["exact", "orbit"])
def test_a_patch_given_a_page_that_does_not_stand_in_front_is_never_taken(store: PatchStore, kind: str) -> None:
    """Conditioned on other content it does harm: eta -3.5."""
    put(store, A, D, kind=kind)
    put(store, D, kind=kind)
    assert chosen(store, A, missing=9) is None
    assert chosen(store, A, B, C, missing=9) is None


@pytest.mark.parametrize(("missing", "served"), [(0, 1), (1, 2), (2, 3), (3, 4)])
def test_a_patch_serves_while_it_lacks_no_more_pages_than_may_be_missing(store: PatchStore, missing: int, served: int) -> None:
    """eta falls from 0.93 over 0.71 and 0.39 to 0.08 for none to three pages that a patch does not know of."""
    key = put(store, D)
    for number, front in enumerate(([D], [C, D], [B, C, D], [A, B, C, D])):
        expected = (key, "subset" if number else "exact", tuple(front[:-1])) if number < served else None
        assert chosen(store, *front, missing=missing) == expected


def test_fewest_pages_missing_then_exact_then_rank_then_all_layers_then_a_basis_of_its_own(store: PatchStore) -> None:
    basis = Basis(1, torch.ones(1, 8, 4), torch.ones(1, 8, 4))
    store.put_basis(basis, [A])
    best = [
        put(store, A, C),
        put(store, A, C, kind="orbit", rank=9),
        put(store, C, rank=8),
        put(store, C, rank=8, basis=basis.digest),
        put(store, C, rank=8, first_layer=2),
        put(store, A, rank=7),
        put(store, C, kind="orbit", rank=16),
    ]
    for key in best:
        assert chosen(store, A, B, C, missing=2) is not None
        assert chosen(store, A, B, C, missing=2)[0] == key  # type: ignore[index]
        store.remove(key)
    assert chosen(store, A, B, C, missing=2) is None


def test_a_removal_patch_is_never_chosen(store: PatchStore) -> None:
    put(store, A, kind="removal", left=(A,))
    put(store, A, B, kind="removal", left=(B,))
    assert chosen(store, A) is None
    assert chosen(store, A, B) is None


def test_a_page_at_another_dpi_is_another_page(store: PatchStore) -> None:
    put(store, A.replace("@72", "@120"))
    assert chosen(store, A) is None
    assert chosen(store, A.replace("@72", "@120")) is not None


def test_a_page_that_stands_twice_is_known_as_often_as_it_was_given(store: PatchStore) -> None:
    key = put(store, A, A)
    assert chosen(store, A) is None
    assert chosen(store, A, A) == (key, "exact", ())
    assert chosen(store, A, B, A) == (key, "subset", (B,))
    orbit = put(store, A, A, B, kind="orbit")
    assert chosen(store, A, B, A) == (orbit, "orbit", ())


def test_every_page_of_a_context_is_given_those_before_it(store: PatchStore) -> None:
    put(store, A, page=B)
    put(store, A, B, page=C, kind="orbit")
    found = choose(store, [A, B, C, D])
    assert [None if item is None else (item.patch.key.page, item.match) for item in found] == [None, (B, "exact"), (C, "orbit"), None]
    assert choose(store, [B, A, C])[2].match == "orbit"  # type: ignore[union-attr]
    assert choose(store, []) == []


def test_a_choice_says_where_it_came_from(tmp_path: Path) -> None:
    store = PatchStore(tmp_path, IDENTITY, ram_bytes=10_000)
    key = put(store, A)
    first, second = patch_for(store, E, [A]), patch_for(store, E, [A])
    assert first is not None
    assert second is not None
    assert (first.tier, first.bytes_read) == ("disk", store.path(key).stat().st_size)
    assert (second.tier, second.bytes_read) == ("ram", 0)


def test_a_damaged_patch_is_passed_over_for_the_next_best_and_told(store: PatchStore, caplog: pytest.LogCaptureFixture) -> None:
    best, next_best = put(store, A, rank=3), put(store, A)
    path = store.path(best)
    path.write_bytes(path.read_bytes()[:-1] + b"\x07")
    with caplog.at_level(logging.WARNING):
        found = patch_for(store, E, [A])
    assert found is not None
    assert (found.patch.key, found.damaged) == (next_best, (f"{E}/{best.digest}",))
    assert "quire patch form" in caplog.text
    path.write_bytes(b"")
    caplog.clear()
    with caplog.at_level(logging.WARNING):
        found = patch_for(store, E, [A])
    assert found is not None
    assert found.damaged == (f"{E}/{best.digest}",)
    assert "quire repair" in caplog.text


def test_another_models_patch_is_passed_over_and_told(store: PatchStore, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    other = PatchStore(tmp_path / "other", replace(IDENTITY, weights="f" * 64))
    key = put(other, A)
    store.path(key).parent.mkdir(parents=True)
    shutil.copy(other.path(key), store.path(key))
    with caplog.at_level(logging.WARNING):
        assert patch_for(store, E, [A]) is None
    assert "another model" in caplog.text


def test_a_patch_that_vanishes_between_the_listing_and_the_reading_was_not_there(
    store: PatchStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone, stays = put(store, A, rank=3), put(store, A)
    true = store.get

    def get(key: PatchKey) -> object:
        if key == gone:
            store.remove(gone)
            with pytest.raises(CacheMiss):
                true(key)
        return true(key)

    monkeypatch.setattr(store, "get", get)
    found = patch_for(store, E, [A])
    assert found is not None
    assert (found.patch.key, found.damaged) == (stays, ())
