"""The patch store hands out the patch that was put in, or an error that names page and patch; and what knows of a page goes with it."""

import json
import os
import shutil
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path

import pytest
import torch

from cache_compiler.errors import CacheMiss, CorruptPatch, IdentityMismatch, PatchError
from cache_compiler.identity import Identity
from cache_compiler.patch import Basis, Factors, Patch, PatchKey
from cache_compiler.patch_files import PatchFiles, facts_for
from cache_compiler.patch_store import PatchStore
from cache_compiler.sealed import seal

IDENTITY = Identity(**{field.name: f"{number}" * 8 for number, field in enumerate(fields(Identity))})
A, B, C, D = (f"{number:032x}@72" for number in range(10, 14))


@pytest.fixture
def store(tmp_path: Path) -> PatchStore:
    return PatchStore(tmp_path / "patches", IDENTITY, ram_bytes=100_000)


def made(key: PatchKey, basis: Basis | None = None, dtype: torch.dtype = torch.float32) -> Patch:
    """A patch of random numbers, the same ones for the same key: 2 layers, 5 rows, 8 wide."""
    draw = torch.Generator().manual_seed(int(key.digest[:8], 16))
    left, right = ((2, 5, key.rank), (2, key.rank, 8))
    parts = []
    for channel in ("rotary", "plain"):
        drawn = torch.randn(right, generator=draw) if basis is None else getattr(basis, channel)
        parts.append(Factors(torch.randn(left, generator=draw).to(dtype), drawn.to(dtype)))
    return Patch(key, *parts)


def key(page: str = B, *given: str, **more: object) -> PatchKey:
    return PatchKey(page, given or (A,), **{"rank": 3, **more})  # type: ignore[arg-type]


def shared_basis() -> Basis:
    draw = torch.Generator().manual_seed(1)
    return Basis(1, torch.randn(2, 3, 8, generator=draw), torch.randn(2, 3, 8, generator=draw))


def same(found: Patch, put: Patch) -> bool:
    pairs = [(getattr(getattr(x, c), s)) for x in (found, put) for c in ("rotary", "plain") for s in ("left", "right")]
    return found.key == put.key and all(torch.equal(a, b) and a.dtype == b.dtype for a, b in zip(pairs[:4], pairs[4:], strict=True))


def files(store: PatchStore) -> list[str]:
    return sorted(str(path.relative_to(store.folder)) for path in store.folder.rglob("*") if path.is_file())


# -- in and out -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize(
    "which",
    [
        key(B, A),
        key(B, C, A),
        key(B, C, A, kind="orbit"),
        key(B, A, first_layer=7),
        key(B, A, C, kind="removal", left=(A,)),
        key(B, A, rank=0),
    ],
    ids=str,
)
def test_what_is_put_in_comes_out_to_the_bit(store: PatchStore, which: PatchKey, dtype: torch.dtype) -> None:
    patch = made(which, dtype=dtype)
    assert not store.has(which)
    store.put(patch)
    assert store.has(which)
    first, second = store.get(which), store.get(which)
    assert same(first.patch, patch)
    assert same(second.patch, patch)
    assert (first.tier, first.bytes_read) == ("disk", store.path(which).stat().st_size)
    assert (second.tier, second.bytes_read) == ("ram", 0)
    assert store.of_page(B) == [which] == list(store.keys())


def test_the_same_patch_is_the_same_bytes(tmp_path: Path) -> None:
    stores = [PatchStore(tmp_path / name, IDENTITY) for name in "ab"]
    for one in stores:
        one.put(made(key()))
    assert stores[0].path(key()).read_bytes() == stores[1].path(key()).read_bytes()
    assert files(stores[0]) == files(stores[1])


def test_a_patch_that_is_there_is_not_written_again(store: PatchStore) -> None:
    store.put(made(key()))
    before = store.path(key()).stat()
    store.put(made(key()))
    assert store.path(key()).stat().st_ino == before.st_ino


def test_a_patch_that_was_never_formed_is_missed(store: PatchStore) -> None:
    with pytest.raises(CacheMiss, match=f"{B}: patch .* not in the store"):
        store.get(key())
    assert store.of_page(B) == []
    assert store.remove(key()) == 0


@pytest.mark.parametrize("page", ["", "../../x@72", f"{'b' * 32}", f"{'b' * 32}@72/../x", f"{'b' * 32}@72\0"])
def test_a_page_that_is_no_key_never_becomes_a_path(store: PatchStore, page: str) -> None:
    for use in (store.path, store.has, store.get, store.remove):
        with pytest.raises(CacheMiss, match="not a page image's key"):
            use(key(page))
    for patch in (made(key(page)), made(key(B, page))):
        with pytest.raises(CacheMiss, match="not a page image's key"):
            store.put(patch)
    with pytest.raises(CacheMiss, match="not the digest"):
        store.files.basis_path("../x")
    assert files(store) == []


# -- over a basis ---------------------------------------------------------------------------------------------------


def test_a_pooled_patch_holds_its_coefficients_alone_and_comes_out_whole(store: PatchStore) -> None:
    basis = shared_basis()
    store.put_basis(basis, [A, B])
    pooled = made(key(basis=basis.digest), basis)
    store.put(pooled)
    store.put(made(key()))
    assert store.path(pooled.key).stat().st_size < store.path(key()).stat().st_size
    first = store.get(pooled.key)
    assert same(first.patch, pooled)
    assert first.bytes_read == sum(path.stat().st_size for path in (store.path(pooled.key), store.files.basis_path(basis.digest)))
    assert store.get(pooled.key).tier == "ram"
    found, pages = store.get_basis(basis.digest)
    assert torch.equal(found.rotary, basis.rotary)
    assert torch.equal(found.plain, basis.plain)
    assert (found.first_layer, pages) == (1, (A, B))


def test_a_pooled_patch_without_its_basis_is_refused(store: PatchStore) -> None:
    basis = shared_basis()
    with pytest.raises(PatchError, match=f"basis {basis.digest}"):
        store.put(made(key(basis=basis.digest), basis))
    assert files(store) == []


# -- damage ---------------------------------------------------------------------------------------------------------


def test_a_flipped_byte_anywhere_is_found_by_page_and_patch_with_its_cure(tmp_path: Path) -> None:
    store, patch = PatchStore(tmp_path, IDENTITY), made(key())
    store.put(patch)
    path = store.path(patch.key)
    whole = path.read_bytes()
    for at in range(0, len(whole), 7):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 1 << at % 8]) + whole[at + 1 :])
        try:
            found = store.get(patch.key).patch
        except CorruptPatch as error:
            refused = error
        else:
            # Nothing but the spelling of the header itself may change unseen.
            assert same(found, patch)
            assert at < 8 + int.from_bytes(whole[:8], "little")
            continue
        assert refused.key == B
        assert B in str(refused)
        assert patch.key.digest in str(refused)
        assert "quire patch form" in str(refused)
    path.write_bytes(whole)
    assert same(store.get(patch.key).patch, patch)


def test_a_damaged_basis_is_found_by_the_patch_that_stands_over_it(tmp_path: Path) -> None:
    store, basis = PatchStore(tmp_path, IDENTITY), shared_basis()
    store.put_basis(basis, [A])
    store.put(made(key(basis=basis.digest), basis))
    path = store.files.basis_path(basis.digest)
    path.write_bytes(path.read_bytes()[:-1] + b"\x01")
    with pytest.raises(CorruptPatch, match=f"its basis {basis.digest}"):
        store.get(key(basis=basis.digest))


def test_another_patchs_file_in_its_place_is_found(store: PatchStore) -> None:
    other = key(B, C)
    for which in (key(), other):
        store.put(made(which))
    shutil.copy(store.path(other), store.path(key()))
    with pytest.raises(CorruptPatch, match="another patch"):
        store.get(key())
    assert store.files.listing(B).damaged == (key().digest,)
    assert store.files.listing(B).keys == (other,)


def test_another_models_patch_is_refused_by_name(store: PatchStore, tmp_path: Path) -> None:
    other = PatchStore(tmp_path / "other", replace(IDENTITY, weights="f" * 64))
    other.put(made(key()))
    store.path(key()).parent.mkdir(parents=True)
    shutil.copy(other.path(key()), store.path(key()))
    with pytest.raises(IdentityMismatch, match="another model") as caught:
        store.get(key())
    assert caught.value.loaded == IDENTITY.fingerprint


def test_a_header_that_cannot_be_read_is_listed_as_damaged(store: PatchStore) -> None:
    store.put(made(key()))
    for data in (b"", b"\xff" * 20, (2).to_bytes(8, "little") + b"{}", (4).to_bytes(8, "little") + b"null"):
        store.path(key()).write_bytes(data)
        assert store.files.listing(B).damaged == (key().digest,)
    assert store.remove_named(B, key().digest) == 12
    assert files(store) == []


# -- what is remembered ---------------------------------------------------------------------------------------------


def test_what_another_store_puts_or_removes_is_seen_at_once(store: PatchStore, tmp_path: Path) -> None:
    other = PatchStore(tmp_path / "patches", IDENTITY)
    one, two = key(B, A), key(B, C)
    store.put(made(one))
    folder = store.files.page_folder(B)
    os.utime(folder, ns=(0, 0))  # long unchanged: the list may be remembered
    assert store.of_page(B) == [one]
    other.put(made(two))
    assert set(store.of_page(B)) == {one, two}
    store.get(two)
    other.remove(two)
    assert store.of_page(B) == [one]
    with pytest.raises(CacheMiss):
        store.get(two)  # though memory had it
    assert store.ram.get(f"{B}/{two.digest}") is None


def test_a_folder_that_changed_a_moment_ago_is_read_again(store: PatchStore) -> None:
    """Two changes within one tick of the file system's clock leave the same time behind."""
    store.put(made(key(B, A)))
    folder = store.files.page_folder(B)
    assert len(store.of_page(B)) == 1
    stamp = folder.stat().st_mtime_ns
    PatchStore(store.folder, IDENTITY).put(made(key(B, C)))
    os.utime(folder, ns=(stamp, stamp))
    assert len(store.of_page(B)) == 2


def test_a_list_that_is_remembered_is_not_read_again(store: PatchStore, monkeypatch: pytest.MonkeyPatch) -> None:
    store.put(made(key()))
    os.utime(store.files.page_folder(B), ns=(0, 0))
    store.of_page(B)
    monkeypatch.setattr(PatchFiles, "listing", lambda *_: pytest.fail("read again"))
    assert store.of_page(B) == [key()]


def test_a_patch_removed_while_it_is_read_is_not_kept_in_memory(store: PatchStore, monkeypatch: pytest.MonkeyPatch) -> None:
    store.put(made(key()))
    true = store.ram.keep

    def keep(name: str, parts: object, copied: Callable[[object], object]) -> object:
        store.remove(key())
        return true(name, parts, copied)  # type: ignore[arg-type]

    monkeypatch.setattr(store.ram, "keep", keep)
    assert same(store.get(key()).patch, made(key()))
    assert store.ram.bytes == 0


# -- out for good ---------------------------------------------------------------------------------------------------


def test_removing_a_patch_frees_disk_and_memory_and_leaves_no_name(store: PatchStore) -> None:
    store.put(made(key()))
    store.get(key())
    assert store.remove(key()) > 0
    assert store.ram.bytes == 0
    assert [path for path in store.folder.rglob("*") if B in path.name or A in path.name] == []


def test_everything_that_knows_of_a_page_goes_with_it_and_nothing_else(store: PatchStore) -> None:
    own, given, far, orbit, left = key(A, B), key(B, A), key(C, B), key(D, A, B, kind="orbit"), key(C, A, B, kind="removal", left=(A,))
    for which in (own, given, far, orbit, left):
        store.put(made(which))
        store.get(which)
    going = [store.path(which) for which in (own, given, orbit, left)]
    size = sum(path.stat().st_size for path in going)
    assert store.files.knowing(A) == sorted(going)
    assert set(store.files.pages()) == {A, B, C, D}
    removed = store.remove_pages([A])
    gone, freed = tuple(path for path, _ in removed), sum(size for _, size in removed)
    assert set(gone) == set(going)
    assert freed == size
    assert list(store.keys()) == [far]
    assert [path for path in store.folder.rglob("*") if A in path.name] == []
    assert store.ram.bytes == sum(t.numel() * 4 for f in (made(far).rotary, made(far).plain) for t in (f.left, f.right))
    assert store.remove_pages([A]) == []
    assert [path for path, _ in store.remove_pages([B])] == [store.folder / C[:2] / C / f"{far.digest}.safetensors"]
    assert files(store) == []


def test_a_basis_goes_with_a_page_it_was_pooled_over_and_takes_its_patches_along(store: PatchStore) -> None:
    basis = shared_basis()
    store.put_basis(basis, [A, D])
    pooled = made(key(C, B, basis=basis.digest), basis)
    store.put(pooled)
    store.put(made(key(C, B)))
    assert set(store.files.knowing(D)) == {store.path(pooled.key), store.files.basis_path(basis.digest)}
    gone = tuple(path for path, _ in store.remove_pages([D]))
    assert set(gone) == {
        store.folder / C[:2] / C / f"{pooled.key.digest}.safetensors",
        store.folder / "bases" / f"{basis.digest}.safetensors",
    }
    assert list(store.keys()) == [key(C, B)]
    assert [name for name in files(store) if "basis" in name or "bases" in name] == []


def test_a_damaged_patch_and_a_damaged_basis_go_without_a_trace(store: PatchStore) -> None:
    basis = shared_basis()
    store.put_basis(basis, [A, D])
    store.put(made(key(B, A, basis=basis.digest), basis))
    store.put(made(key(C, A, D)))
    store.path(key(C, A, D)).write_bytes(b"damage")
    store.files.basis_path(basis.digest).write_bytes(b"damage")
    store.remove_pages([A])
    assert files(store) == []


@pytest.mark.parametrize("gone", [A, B, C])
def test_a_flipped_byte_in_the_names_of_a_header_keeps_no_page_from_being_removed(tmp_path: Path, gone: str) -> None:
    """Whatever the header says now, another page's key or none at all: nothing of it stays, and no one's removal fails."""
    basis = shared_basis()
    for number, name in enumerate((A, B, C)):
        for bit in (0, 6):  # another digit, or no digit any more
            store = PatchStore(tmp_path / f"{number}{bit}", IDENTITY)
            store.put(made(key(B, A, C)))
            store.put_basis(basis, [A, B, C])
            for path in (store.path(key(B, A, C)), store.files.basis_path(basis.digest)):
                data = bytearray(path.read_bytes())
                data[data.index(name.encode()) + 3] ^= 1 << bit
                path.write_bytes(bytes(data))
            assert store.files.listing(B).damaged == (key(B, A, C).digest,)
            assert len(store.remove_pages([gone])) == 2
            assert files(store) == []


def test_a_sealed_file_that_is_no_patch_is_damage_and_no_other_error(store: PatchStore) -> None:
    basis = shared_basis()
    store.put_basis(basis, [A])
    pooled = key(basis=basis.digest)
    store.put(made(key()))
    store.put(made(pooled, basis))
    whole = store.path(pooled).read_bytes()
    for facts in ({}, {"patch": "words"}, {"patch": 3}, {"patch": {"given": 1}}, {"patch": facts_for(key())}):
        for path in (store.path(key()), store.path(pooled), store.files.basis_path(basis.digest)):
            path.write_bytes(seal({**facts, "identity": IDENTITY.fingerprint}, {"rotary_left": torch.zeros(1)}))
        store.path(pooled).write_bytes(whole)
        for which in (key(), pooled):
            with pytest.raises(CorruptPatch):
                store.get(which)


def test_a_removal_cut_short_is_finished_by_the_next(store: PatchStore) -> None:
    store.put(made(key(B, A, C)))
    markers = [name for name in files(store) if name.startswith("given/")]
    assert len(markers) == 2
    store.path(key(B, A, C)).unlink()  # and then the process dies
    assert store.remove_pages([A]) == []
    assert len(files(store)) == 1
    assert store.files.sweep() == 1
    assert files(store) == []


def test_a_sweep_leaves_what_speaks_of_a_patch(store: PatchStore) -> None:
    basis = shared_basis()
    store.put_basis(basis, [A])
    store.put(made(key(B, A, basis=basis.digest), basis))
    before = files(store)
    assert store.files.sweep() == 0
    assert files(store) == before


def test_a_header_says_the_whole_key(store: PatchStore) -> None:
    which = key(B, C, A, kind="removal", left=(A,), first_layer=2)
    store.put(made(which))
    data = store.path(which).read_bytes()
    header = json.loads(json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])["__metadata__"]["quire"])
    assert header["identity"] == IDENTITY.fingerprint
    assert header["patch"] == {
        "page": B, "given": [C, A], "kind": "removal", "rank": 3, "first_layer": 2, "basis": None, "left": [A],
    }  # fmt: skip
