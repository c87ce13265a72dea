"""Formats of the store: an earlier one is brought up whatever stops it, a newer one is refused, and neither is left behind without a word."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from cache_compiler import formats
from cache_compiler.errors import StoreTooNew
from cache_compiler.files import write_atomic
from cache_compiler.formats import bring_up
from cache_compiler.identity import Identity
from cache_compiler.store import CacheStore

ONE = Identity("m", "w", "c", "float32", "p", "t", "template", "s", "5", "1")
TWO, THREE = replace(ONE, store="2"), replace(ONE, store="3")


def store_of(root: Path, identity: Identity, *names: str) -> Path:
    folder = CacheStore(root, identity).folder
    for name in names:
        write_atomic(folder / "caches" / name, f"{name} in format {identity.store}".encode())
    return folder


def step(to: str, stop_at: str = "") -> formats.Change:
    """Writes every file anew; stops in the middle where told. A file that is done already is passed over."""

    def change(folder: Path, identity: Identity) -> None:
        assert identity.store == to
        for path in sorted((folder / "caches").glob("*")):
            if path.name == stop_at:
                raise RuntimeError("the power went")
            if not path.read_text().endswith(f"format {to}"):
                assert path.read_text().endswith(f"format {int(to) - 1}")
                write_atomic(path, f"{path.name} in format {to}".encode())

    return change


def content(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in (folder / "caches").glob("*")}


def test_an_earlier_store_is_brought_up_step_by_step_under_its_new_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old = store_of(tmp_path, ONE, "a", "b")
    monkeypatch.setattr(formats, "CHANGES", {"1": step("2"), "2": step("3")})
    store = CacheStore(tmp_path, THREE)
    assert store.before == (ONE, TWO)
    assert content(store.folder) == {"a": "a in format 3", "b": "b in format 3"}
    assert not old.exists()
    assert json.loads((store.folder / "identity.json").read_text())["store"] == "3"
    assert CacheStore(tmp_path, THREE).folder == store.folder


def test_a_change_that_was_stopped_goes_on_where_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store_of(tmp_path, ONE, "a", "b")
    monkeypatch.setattr(formats, "CHANGES", {"1": step("2", stop_at="b")})
    with pytest.raises(RuntimeError):
        CacheStore(tmp_path, TWO)
    monkeypatch.setattr(formats, "CHANGES", {"1": step("2")})
    assert content(CacheStore(tmp_path, TWO).folder) == {"a": "a in format 2", "b": "b in format 2"}


def test_a_change_that_was_stopped_before_the_folders_new_name_is_finished(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(formats, "CHANGES", {"1": step("2")})
    old = store_of(tmp_path, ONE, "a")
    write_atomic(old / "caches" / "a", b"a in format 2")
    write_atomic(old / "identity.json", json.dumps(TWO.as_mapping()).encode())
    assert content(CacheStore(tmp_path, TWO).folder) == {"a": "a in format 2"}
    assert not old.exists()


def test_another_models_store_is_left_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = store_of(tmp_path, replace(ONE, weights="x"), "a")
    monkeypatch.setattr(formats, "CHANGES", {"1": step("2")})
    CacheStore(tmp_path, TWO)
    assert content(other) == {"a": "a in format 1"}


def test_a_newer_store_of_this_model_is_refused_by_name_and_nothing_is_touched(tmp_path: Path) -> None:
    newer = store_of(tmp_path, TWO, "a")
    store_of(tmp_path, replace(THREE, weights="another model's"))
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    with pytest.raises(StoreTooNew, match="store format 2, this version reads up to 1") as caught:
        CacheStore(tmp_path, ONE)
    assert newer.name in str(caught.value)
    assert (caught.value.field, caught.value.stored, caught.value.loaded) == ("store", "2", "1")
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


def test_a_format_without_a_way_to_todays_is_not_taken_for_an_earlier_one(tmp_path: Path) -> None:
    store_of(tmp_path, ONE, "a")
    assert bring_up(tmp_path, THREE) == ()
    (tmp_path / "x").mkdir()
    (tmp_path / "x" / "identity.json").write_text("no JSON")
    assert bring_up(tmp_path, THREE) == ()
