"""A collection's patches in every kind: formed to the end or up to a stop, counted in bytes, dropped without a trace."""

from pathlib import Path

import pytest

from cache_compiler.choice import patch_for
from cache_compiler.errors import RankTooHigh
from ingest import patchwork
from ingest.errors import HomeBusy
from ingest.patching import pages_of
from ingest.patchwork import Formed, Want, collection_pages, drop, form_collection, sort_of, tallies
from ingest.pipeline import ingest
from ingest.policy import Policy
from ingest.remove import remove_document
from ingest.workshop import Workshop

from .conftest import files_of


@pytest.fixture
def bare(workshop: Workshop, tmp_path: Path) -> Workshop:
    """One document of three short pages, without patches."""
    (tmp_path / "short.txt").write_text("\f".join(f"Brobo tower has gate {number}.\n" for number in range(3)))
    workshop.policy = Policy("off")
    ingest([tmp_path / "short.txt"], "default", workshop)
    return workshop


def own(workshop: Workshop) -> list[str]:
    return collection_pages(workshop.store.patches.files, workshop.catalogue.page_keys("default"))


def counted(workshop: Workshop) -> dict[tuple[str, int], int]:
    return {(row.sort, row.rank): row.patches for row in tallies(workshop.store.patches.files, own(workshop), 1)}


@pytest.mark.parametrize(
    ("want", "expected"),
    [
        (Want("exact", 4), {("exact", 4): 8}),
        (Want("deep", 4), {("deep", 4): 8}),
        (Want("orbit", 4, together=3), {("orbit", 4): 6}),
        (Want("pooled", 4), {("pooled", 4): 8, ("basis", 4): 1}),
    ],
    ids=lambda value: value.sort if isinstance(value, Want) else "",
)
def test_every_kind_is_formed_once_and_counted(bare: Workshop, want: Want, expected: dict[tuple[str, int], int]) -> None:
    patches = sum(count for (sort, _), count in expected.items() if sort != "basis")
    assert form_collection(bare, "default", want) == Formed(patches, 0)
    assert counted(bare) == expected
    before = files_of(bare.home.root)
    assert form_collection(bare, "default", want) == Formed(0, patches)
    assert files_of(bare.home.root) == before
    assert all(sort_of(key) == want.sort and bare.store.patches.sound(key) for key in bare.store.patches.keys())  # noqa: SIM118


def test_bytes_are_those_on_the_disk_and_the_share_is_of_the_pages(bare: Workshop) -> None:
    form_collection(bare, "default", Want("exact", 4))
    (row,) = tallies(bare.store.patches.files, own(bare), 1000)
    assert row.bytes == sum(path.stat().st_size for path in bare.store.patches.folder.rglob("*.safetensors"))
    assert row.share == row.bytes / 1000


def test_a_patch_that_is_deleted_while_they_are_counted_is_not_counted(bare: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    form_collection(bare, "default", Want("exact", 4))
    files = bare.store.patches.files
    listed = {page: files.listing(page) for page in own(bare)}
    gone = next(key for listing in listed.values() for key in listing.keys)
    files.remove_patch(gone.page, gone.digest)
    monkeypatch.setattr(files, "listing", listed.__getitem__)
    assert [row.patches for row in tallies(files, listed, 1)] == [7]


def test_a_rank_above_a_pages_is_refused_before_anything_is_formed(bare: Workshop) -> None:
    for sort in ("exact", "orbit", "deep", "pooled"):
        with pytest.raises(RankTooHigh, match="give a lower rank, or 'full'"):
            form_collection(bare, "default", Want(sort, 5000, capped=False))  # type: ignore[arg-type]
    assert list(bare.store.patches.keys()) == []


def test_a_stop_keeps_what_was_formed_and_the_next_run_goes_on(bare: Workshop) -> None:
    seen: list[int] = []
    stopped = form_collection(bare, "default", Want("exact", 4), progress=lambda at: seen.append(at.done), cancelled=lambda: len(seen) >= 3)
    assert stopped == Formed(3, 0, stopped=True)
    assert form_collection(bare, "default", Want("exact", 4)) == Formed(5, 3)


def test_a_damaged_patch_is_formed_again_by_the_command_that_its_error_names(bare: Workshop) -> None:
    form_collection(bare, "default", Want("exact", 4))
    before = files_of(bare.home.root)
    path = bare.store.patches.path(next(bare.store.patches.keys()))
    path.write_bytes(path.read_bytes()[:-1] + b"\x01")
    assert form_collection(bare, "default", Want("exact", 4)) == Formed(1, 7)
    assert files_of(bare.home.root) == before


def test_a_damaged_basis_is_pooled_anew_with_all_its_patches(bare: Workshop) -> None:
    form_collection(bare, "default", Want("pooled", 4))
    before = files_of(bare.home.root)
    (path,) = bare.store.patches.files.bases()
    path.write_bytes(b"damage")
    assert form_collection(bare, "default", Want("pooled", 4)) == Formed(8, 0)
    assert files_of(bare.home.root) == before


def test_dropping_one_kind_leaves_the_others_and_dropping_all_leaves_nothing(bare: Workshop) -> None:
    for want in (Want("exact", 4), Want("pooled", 4), Want("deep", 4)):
        form_collection(bare, "default", want)
    before = counted(bare)
    patches, size = drop(bare.home, bare.store.patches.files, own(bare), "pooled")
    assert patches == 8
    assert size > 0
    assert counted(bare) == {row: count for row, count in before.items() if row[0] in ("exact", "deep")}
    ref = pages_of(bare.catalogue.chunks_of(bare.catalogue.documents("default")[0].id))
    assert patch_for(bare.store.patches, f"{ref[1].key}@72", [f"{ref[0].key}@72"]) is not None
    assert drop(bare.home, bare.store.patches.files, own(bare))[0] == 16
    assert [name for name in files_of(bare.home.root) if "/patches/" in name] == []
    assert drop(bare.home, bare.store.patches.files, own(bare)) == (0, 0)


def test_a_basis_is_not_kept_when_a_deletion_took_one_of_its_pages_meanwhile(bare: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    true = patchwork.pool

    def pool(*args: object) -> object:
        basis = true(*args)  # type: ignore[arg-type]
        remove_document(bare, bare.catalogue.documents("default")[0].id)
        return basis

    monkeypatch.setattr(patchwork, "pool", pool)
    with pytest.raises(HomeBusy, match="run the same command again"):
        form_collection(bare, "default", Want("pooled", 4))
    assert not [path for path in bare.store.patches.folder.rglob("*") if path.is_file()]


def test_a_basis_goes_with_a_document_it_was_pooled_over(bare: Workshop, records: Path) -> None:
    ingest([records / "b.txt"], "default", bare)
    form_collection(bare, "default", Want("pooled", 4))
    remove_document(bare, next(row.id for row in bare.catalogue.documents("default") if row.name == "short.txt"))
    assert [name for name in files_of(bare.home.root) if "/patches/" in name] == []
    assert form_collection(bare, "default", Want("pooled", 4)).formed == 4
