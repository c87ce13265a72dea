"""The vector index: exact, equal bytes for equal content, rebuilt whenever its files are not the catalogue's, never outside its folder."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from retrieval.catalogue import Catalogue
from retrieval.errors import RetrievalError, UnknownCollection
from retrieval.index import VectorIndex, remove_index, stem
from retrieval.types import CollectionRow

Make = Callable[..., object]


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "index"


@pytest.fixture
def filled(catalogue: Catalogue, whole: Make) -> Catalogue:
    for number in (3, 1, 2):
        whole(number, [f"{number}.{page}" for page in range(10)]).add_to(catalogue)
    return catalogue


def test_search_finds_what_sorting_all_cosines_finds(filled: Catalogue, folder: Path) -> None:
    ids, vectors = filled.vectors("default")
    index = VectorIndex.open_or_build(folder, filled, "default")
    question = vectors[7]
    order = np.argsort(-(vectors @ question), kind="stable")
    found = index.search(question, 5)
    assert [chunk for chunk, _ in found] == ids[order[:5]].tolist()
    np.testing.assert_allclose([score for _, score in found], (vectors @ question)[order[:5]], atol=1e-6)
    assert found[0][1] == pytest.approx(1.0, abs=1e-6)
    assert len(index.search(question, 99)) == index.count == 30


def test_equal_scores_come_by_id() -> None:
    index = VectorIndex(np.array([5, 9, 2, 7], dtype=np.int64), np.tile(np.eye(1, 3, dtype=np.float32), (4, 1)))
    assert index.search(np.eye(1, 3, dtype=np.float32)[0], 4) == [(2, 1.0), (5, 1.0), (7, 1.0), (9, 1.0)]


def test_ids_use_all_63_bits() -> None:
    big = 2**63 - 1
    assert VectorIndex(np.array([big]), np.eye(1, 3, dtype=np.float32)).search(np.eye(1, 3, dtype=np.float32)[0], 1) == [(big, 1.0)]


def test_an_empty_collection_has_an_empty_index(catalogue: Catalogue, folder: Path) -> None:
    for _ in range(2):
        assert VectorIndex.open_or_build(folder, catalogue, "default").search(np.ones(8, dtype=np.float32), 3) == []


def test_a_deleted_document_is_never_found_again(filled: Catalogue, folder: Path) -> None:
    question = filled.vectors("default")[1][0]
    assert VectorIndex.open_or_build(folder, filled, "default").search(question, 1)[0][0] == 1000
    filled.delete_document("d1")
    found = VectorIndex.open_or_build(folder, filled, "default").search(question, 30)
    assert len(found) == 20
    assert all(chunk >= 2000 for chunk, _ in found)


def test_equal_content_gives_equal_bytes(filled: Catalogue, folder: Path, whole: Make, tmp_path: Path) -> None:
    VectorIndex.open_or_build(folder, filled, "default")
    other = Catalogue(tmp_path / "other.sqlite")
    other.create_collection(CollectionRow("default", {}, "drawn", 8))
    for number in (2, 9, 3, 1):
        whole(number, [f"{number}.{page}" for page in range(10)]).add_to(other)
    other.delete_document("d9")
    VectorIndex.open_or_build(tmp_path / "second", other, "default")
    assert contents(tmp_path / "second") == contents(folder)
    other.close()


def test_whole_files_are_used_as_they_are(filled: Catalogue, folder: Path) -> None:
    VectorIndex.open_or_build(folder, filled, "default")
    before = {path.name: path.stat().st_ino for path in folder.iterdir()}
    assert VectorIndex.open_or_build(folder, filled, "default").count == 30
    assert {path.name: path.stat().st_ino for path in folder.iterdir()} == before


def test_a_collection_that_never_stands_still_is_searched_all_the_same(
    filled: Catalogue, folder: Path, whole: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    true, numbers = VectorIndex._save, iter(range(10, 99))

    def save(self: VectorIndex, *args: object) -> None:
        true(self, *args)  # type: ignore[arg-type]
        number = next(numbers)
        whole(number, [f"{number}.0"]).add_to(filled)

    monkeypatch.setattr(VectorIndex, "_save", save)
    assert VectorIndex.open_or_build(folder, filled, "default").count >= 30
    assert contents(folder) == {}


def damage_nothing_left(path: Path) -> None:
    path.unlink()


def damage_truncated(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-7])


def damage_one_bit(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def damage_emptied(path: Path) -> None:
    path.write_bytes(b"")


@pytest.mark.parametrize("damage", [damage_nothing_left, damage_truncated, damage_one_bit, damage_emptied])
@pytest.mark.parametrize("ending", ["faiss", "json"])
def test_a_damaged_file_is_built_again_from_the_catalogue(
    damage: Callable[[Path], None], ending: str, filled: Catalogue, folder: Path
) -> None:
    VectorIndex.open_or_build(folder, filled, "default")
    whole_files = contents(folder)
    damage(folder / f"{stem('default')}.{ending}")
    assert contents(folder) != whole_files
    question = filled.vectors("default")[1][0]
    assert VectorIndex.open_or_build(folder, filled, "default").search(question, 1)[0][0] == 1000
    assert contents(folder) == whole_files


def test_a_side_file_of_another_format_or_embedder_is_stale(filled: Catalogue, folder: Path) -> None:
    VectorIndex.open_or_build(folder, filled, "default")
    whole_files = contents(folder)
    side = folder / f"{stem('default')}.json"
    facts = json.loads(side.read_text())
    assert (facts["embedder"], facts["dimension"], facts["count"]) == ("drawn", 8, 30)
    for change in ({"format": 0}, {"embedder": "another"}, {"digest": "0"}):
        side.write_text(json.dumps({**facts, **change}))
        VectorIndex.open_or_build(folder, filled, "default")
        assert contents(folder) == whole_files


@pytest.mark.parametrize("name", ["../../escape", "/etc/x", "CON", "a" * 4000, "ä\0b", ".", ""])
def test_a_collections_name_never_becomes_a_path(name: str, catalogue: Catalogue, whole: Make, folder: Path) -> None:
    catalogue.create_collection(CollectionRow(name, {}, "drawn", 8))
    whole(1, collection=name).add_to(catalogue)
    VectorIndex.open_or_build(folder, catalogue, name)
    assert {path.name for path in folder.iterdir()} == {f"{stem(name)}.faiss", f"{stem(name)}.json"}
    assert stem(name).isalnum()
    remove_index(folder, name)
    remove_index(folder, name)
    assert list(folder.iterdir()) == []


def test_a_wrong_question_or_folder_is_an_error_in_words(filled: Catalogue, folder: Path, tmp_path: Path) -> None:
    index = VectorIndex.open_or_build(folder, filled, "default")
    with pytest.raises(RetrievalError, match=r"shape \(9,\), the index holds 8"):
        index.search(np.ones(9, dtype=np.float32), 1)
    with pytest.raises(RetrievalError, match="top_k=0"):
        index.search(np.ones(8, dtype=np.float32), 0)
    with pytest.raises(UnknownCollection):
        VectorIndex.open_or_build(folder, filled, "nope")
    (tmp_path / "a file").write_text("")
    with pytest.raises(RetrievalError, match=r"cannot be kept in .*a file: .*Not a directory"):
        VectorIndex.open_or_build(tmp_path / "a file", filled, "default")


def test_a_changed_vector_under_the_same_id_is_noticed(filled: Catalogue, folder: Path, whole: Make) -> None:
    VectorIndex.open_or_build(folder, filled, "default")
    rows = whole(1, [f"1.{page}" for page in range(10)])
    replace(rows, vectors=rows.vectors[::-1]).add_to(filled, replaces="d1")
    assert VectorIndex.open_or_build(folder, filled, "default").search(rows.vectors[0], 1)[0][0] == 1009


def test_a_deletion_that_takes_a_half_written_file_away_costs_nobody_his_search(
    filled: Catalogue, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, taken = os.replace, []

    def deleted_in_between(source: str, target: Path) -> None:
        if len(taken) < 2:  # of the index, and of its side file
            taken.extend(remove_index(folder, "default"))
        real(source, target)

    monkeypatch.setattr("retrieval.index.os.replace", deleted_in_between)
    assert VectorIndex.open_or_build(folder, filled, "default").count == 30
    assert len(taken) == 2
    assert set(contents(folder)) == {f"{stem('default')}.faiss", f"{stem('default')}.json"}
