"""Patches at ingest: every neighbour, the same bytes on every run, and nothing of a page that goes."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch

from cache_compiler.choice import choose
from cache_compiler.condition import condition
from cache_compiler.errors import CacheMiss, PatchMismatch, RankTooHigh
from cache_compiler.patch import PatchKey
from ingest import patching
from ingest.patching import Encodings, adjacent_keys, delta_of, form, keep, make, pages_of, policy_keys
from ingest.pipeline import ingest
from ingest.policy import Policy
from ingest.remove import remove_document, remove_orphans
from ingest.repair import repair
from ingest.types import Progress
from ingest.workshop import Workshop
from retrieval.types import PageRef

from .conftest import Open, files_of


def nothing(*_: object) -> None:
    pass


def never() -> bool:
    return False


@pytest.fixture
def patched(take_in: Callable[..., Workshop]) -> Workshop:
    """The one document of two pages, taken in."""
    return take_in("b.txt")


def refs(workshop: Workshop, name: str = "b.txt") -> list[PageRef]:
    row = workshop.catalogue.document_named("default", name)
    assert row is not None
    return pages_of(workshop.catalogue.chunks_of(row.id))


def patch_files(workshop: Workshop) -> list[str]:
    return [name for name in files_of(workshop.home.root) if "/patches/" in name]


# -- what is formed -------------------------------------------------------------------------------------------------


def test_every_pair_of_dpis_that_a_plan_can_give_two_neighbours_has_its_patch(patched: Workshop) -> None:
    first, second = refs(patched)
    store = patched.store.patches
    assert sorted(map(str, store.keys())) == ["exact r32"] * 4
    for one in patched.dpis:
        for two in patched.dpis:
            found = choose(store, [f"{first.key}@{one}", f"{second.key}@{two}"], missing=0)
            assert found[0] is None
            assert found[1] is not None
            assert found[1].match == "exact"


def test_a_patch_brings_a_page_nearer_to_what_a_whole_forward_holds(patched: Workshop) -> None:
    first, second = (f"{ref.key}@72" for ref in refs(patched))
    key = PatchKey(second, (first,))
    encodings = Encodings(patched)
    whole = condition(patched.backbone, patched.prefix, [encodings(first), encodings(second)])[1]
    bare = patched.store.get(second).canonical
    patch = patched.store.patches.get(key).patch
    full = make(patched, PatchKey(second, (first,), rank=patching.most_rank(patched, bare.length)), encodings)
    for channel in ("rotary", "plain"):
        truth, alone = (getattr(item, channel)[1:].float() for item in (whole, bare))
        heads = alone.shape[1]
        left = [(alone + getattr(one, channel).product(heads) - truth).norm() for one in (patch, full)]
        assert left[0] < 0.5 * (alone - truth).norm()
        assert left[1] < 0.05 * (alone - truth).norm()


def test_a_rank_that_a_page_cannot_have_is_the_most_it_can(workshop: Workshop, records: Path) -> None:
    workshop.policy = Policy(rank=4096)
    ingest([records / "b.txt"], "default", workshop)
    keys = list(workshop.store.patches.keys())
    assert {key.rank for key in keys} == {
        patching.most_rank(workshop, ref.rows[dpi]) for ref in refs(workshop)[1:] for dpi in workshop.dpis
    }
    with pytest.raises(RankTooHigh, match="rank 4096 is above"):
        adjacent_keys(workshop, refs(workshop), 4096, capped=False)


def test_the_policy_off_forms_nothing(workshop: Workshop, records: Path) -> None:
    workshop.policy = Policy("off")
    ingest([records / "b.txt"], "default", workshop)
    assert patch_files(workshop) == []
    assert policy_keys(workshop, refs(workshop)) == []


def test_progress_counts_the_patches_to_the_end(workshop: Workshop, records: Path) -> None:
    seen: list[Progress] = []
    ingest([records / "b.txt"], "default", workshop, progress=seen.append)
    assert [(at.done, at.total) for at in seen if at.stage == "patch"] == [(n, 4) for n in range(1, 5)]


def test_a_page_is_encoded_once_for_all_its_patches(workshop: Workshop, records: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []
    true = workshop.backbone.encode
    monkeypatch.setattr(workshop.backbone, "encode", lambda images: calls.append(images[0].key) or true(images))
    ingest([records / "b.txt"], "default", workshop)
    assert sorted(calls) == sorted(f"{refs(workshop)[1].key}@{dpi}" for dpi in workshop.dpis)


def test_the_image_that_is_kept_is_the_one_that_was_compiled(patched: Workshop) -> None:
    """Of another page's picture layer 0 tells: its patch would be noise."""
    first, second = (f"{ref.key}@72" for ref in refs(patched))
    delta_of(patched, PatchKey(second, (first,)), Encodings(patched))
    other = patched.images.path(f"{refs(patched)[0].key}@72").read_bytes()
    patched.images.path(second).write_bytes(other)
    with pytest.raises(PatchMismatch, match=second):
        delta_of(patched, PatchKey(second, (first,)), Encodings(patched))


# -- again ----------------------------------------------------------------------------------------------------------


def test_what_is_there_is_not_formed_again(patched: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patching, "make", lambda *_: pytest.fail("formed again"))
    assert form(patched, policy_keys(patched, refs(patched)), nothing, never) == ()


def test_a_run_stopped_between_any_two_patches_ends_in_the_same_bytes(
    workshop: Workshop, records: Path, open_at: Open, tmp_path: Path
) -> None:
    whole = open_at(tmp_path / "whole")
    ingest([records / "b.txt"], "default", whole)
    counts = []
    for stop_at in (0, 1, 3):
        patches: list[int] = []
        seen = lambda at, patches=patches: patches.append(at.done) if at.stage == "patch" else None  # noqa: E731
        compiled: list[int] = []

        def listen(at: Progress, compiled: list[int] = compiled, seen=seen) -> None:  # type: ignore[no-untyped-def]
            seen(at)
            if at.stage == "compile" and at.done == at.total:
                compiled.append(at.done)

        report = ingest(
            [records / "b.txt"],
            "default",
            workshop,
            progress=listen,
            cancelled=lambda compiled=compiled, patches=patches, stop_at=stop_at: bool(compiled) and len(patches) >= stop_at,  # type: ignore[misc]
        )
        assert report.cancelled
        counts.append(len(list(workshop.store.patches.keys())))
    assert counts == [0, 1, 3]
    ingest([records / "b.txt"], "default", workshop)
    assert files_of(workshop.home.root) == files_of(whole.home.root)


def test_a_patch_depends_on_no_other_that_was_formed_before_it(patched: Workshop) -> None:
    store = patched.store.patches
    before = files_of(patched.home.root)
    keys = policy_keys(patched, refs(patched))
    for key in keys:
        store.remove(key)
    assert form(patched, keys[::-1], nothing, never) == tuple(keys[::-1])
    assert files_of(patched.home.root) == before


# -- deletion -------------------------------------------------------------------------------------------------------


def test_a_patch_goes_with_its_page_and_with_what_it_was_given(patched: Workshop, records: Path) -> None:
    """Its antecedent's document goes; the page itself lives on in another one."""
    pages = (records / "b.txt").read_text().split("\f")
    (records / "second.txt").write_text(pages[1])
    ingest([records / "second.txt"], "default", patched)
    row = patched.catalogue.document_named("default", "b.txt")
    assert row is not None
    first, second = (f"{ref.key}@72" for ref in refs(patched))
    going = [patched.store.patches.path(key) for key in patched.store.patches.keys()]  # noqa: SIM118 (not a mapping)
    assert [path for path in patched.home.derived_files(first) if "patches" in path.parts]
    patched.store.patches.get(PatchKey(second, (first,)))
    removal = remove_document(patched, row.id)
    assert removal.receipt.shared_pages == (second.partition("@")[0],)
    assert {str(path.relative_to(patched.home.root)) for path in going} <= set(removal.files)
    assert patch_files(patched) == []
    assert patched.store.patches.ram.bytes == 0
    assert len(patched.home.derived_files(second)) == 2  # its cache and its image


def test_patches_of_other_models_go_too(patched: Workshop) -> None:
    foreign = patched.home.store_root / "other" / "patches"
    own = patched.store.patches.folder
    for name in patch_files(patched):
        path = patched.home.root / name
        copy = foreign / path.relative_to(own)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(path.read_bytes())
    row = patched.catalogue.document_named("default", "b.txt")
    assert row is not None
    remove_document(patched, row.id)
    assert patch_files(patched) == []


def test_patches_of_a_document_that_never_went_in_are_orphans(workshop: Workshop, records: Path) -> None:
    stages: list[str] = []
    ingest(
        [records / "b.txt"], "default", workshop, progress=lambda at: stages.append(at.stage), cancelled=lambda: stages.count("patch") > 2
    )
    assert len(list(workshop.store.patches.keys())) == 3
    remove_orphans(workshop)
    assert patch_files(workshop) == []


def test_a_deletion_while_a_patch_is_formed_leaves_nothing_behind(patched: Workshop) -> None:
    key = policy_keys(patched, refs(patched))[0]
    patched.store.patches.remove(key)
    patch = make(patched, key, Encodings(patched))
    row = patched.catalogue.document_named("default", "b.txt")
    assert row is not None
    remove_document(patched, row.id)
    assert not keep(patched, patch)
    assert form(patched, [key], nothing, never) == ()
    assert patch_files(patched) == []


def test_pages_that_a_deletion_takes_before_the_commit_are_made_again_with_their_patches(
    workshop: Workshop, records: Path, open_at: Open, tmp_path: Path
) -> None:
    taken: list[str] = []

    def take(at: Progress) -> None:
        if at.stage == "index" and not taken:
            taken.extend(remove_orphans(workshop))

    ingest([records / "b.txt"], "default", workshop, progress=take)
    assert any("/patches/" in name for name in taken)
    whole = open_at(tmp_path / "whole")
    ingest([records / "b.txt"], "default", whole)
    assert files_of(workshop.home.root) == files_of(whole.home.root)


def test_a_page_that_is_missing_though_nobody_deleted_it_is_an_error(patched: Workshop) -> None:
    key = policy_keys(patched, refs(patched))[0]
    patched.store.patches.remove(key)
    patched.store.remove(key.page)
    with pytest.raises(CacheMiss, match=key.page):
        form(patched, [key], nothing, never)


# -- repair ---------------------------------------------------------------------------------------------------------


def test_a_flipped_byte_and_a_missing_patch_are_formed_again_to_the_same_bytes(patched: Workshop) -> None:
    before = files_of(patched.home.root)
    keys = sorted(patched.store.patches.keys(), key=lambda key: key.digest)
    for key in keys:
        patched.store.patches.get(key)
    path = patched.store.patches.path(keys[0])
    path.write_bytes(path.read_bytes()[:-1] + b"\x01")
    patched.store.patches.remove(keys[1])
    patched.store.patches.path(keys[2]).write_bytes(b"")
    mended = repair(patched, "default")
    assert (mended.pages, set(mended.patches)) == ((), set(keys[:3]))
    assert mended.dropped >= 1
    assert files_of(patched.home.root) == before


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)
