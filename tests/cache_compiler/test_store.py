"""What the store hands out is what was put in, or an error by key: never other tensors."""

import hashlib
import json
import shutil
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path

import pytest
import torch

from cache_compiler.errors import CacheMiss, CorruptCache, IdentityMismatch, StoreUnwritable
from cache_compiler.files import UNFINISHED
from cache_compiler.identity import STORE_FORMAT, Identity
from cache_compiler.store import CacheStore
from cache_compiler.types import Canonical

Small = Callable[..., Canonical]
HEX = "ab" * 16
IDENTITY = Identity(**{field.name: f"{number}" * 8 for number, field in enumerate(fields(Identity))})


@pytest.fixture
def store(tmp_path: Path) -> CacheStore:
    return CacheStore(tmp_path, IDENTITY)


def same(found: Canonical, expected: Canonical) -> bool:
    return (
        (found.key, found.rows, found.columns) == (expected.key, expected.rows, expected.columns)
        and (found.rotary.dtype, found.plain.dtype) == (expected.rotary.dtype, expected.plain.dtype)
        and torch.equal(found.rotary, expected.rotary)
        and torch.equal(found.plain, expected.plain)
    )


# -- in and out -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_what_is_put_in_comes_out_from_disk_to_the_bit(store: CacheStore, small: Small, dtype: torch.dtype) -> None:
    page = small(1, dtype)
    store.put(page)
    fetched = store.get(page.key)
    assert same(fetched.canonical, page)
    assert (fetched.tier, fetched.bytes_read) == ("disk", store.path(page.key).stat().st_size)
    assert store.has(page.key)
    assert not store.has(small(2).key)


def test_real_canonicals_come_out_to_the_bit(store: CacheStore, pages: list[Canonical]) -> None:
    for page in pages:
        store.put(page)
    assert all(same(store.get(page.key).canonical, page) for page in pages)
    assert list(store.keys()) == sorted(page.key for page in pages)


def test_a_view_into_a_larger_tensor_is_stored_as_what_it_shows(store: CacheStore, small: Small) -> None:
    page = small(1)
    wide = torch.randn(2, 1, 4, 9)
    view = replace(page, rotary=wide[..., 1:9:2], plain=wide.transpose(0, 1)[:, :, :, :4].transpose(0, 1))
    store.put(view)
    assert same(store.get(page.key).canonical, view)


def test_memory_hands_out_the_same_as_disk_and_reads_nothing(tmp_path: Path, small: Small) -> None:
    store, page = CacheStore(tmp_path, IDENTITY, ram_bytes=small(1).bytes * 4 // 3), small(1)
    store.put(page)
    assert store.get(page.key).tier == "disk"
    fetched = store.get(page.key)
    assert (fetched.tier, fetched.bytes_read) == ("ram", 0)
    assert same(fetched.canonical, page)
    store.put(small(2))
    store.get(small(2).key)
    assert store.get(page.key).tier == "disk"


def test_a_canonical_read_from_disk_stays_whole_when_its_file_is_removed(store: CacheStore, small: Small) -> None:
    page = small(1)
    store.put(page)
    fetched = store.get(page.key).canonical
    assert store.remove(page.key) > 0
    assert same(fetched, page)


def test_another_store_on_the_same_folder_sees_what_the_first_wrote(store: CacheStore, tmp_path: Path, small: Small) -> None:
    store.put(small(1))
    assert same(CacheStore(tmp_path, IDENTITY).get(small(1).key).canonical, small(1))


def test_a_key_that_is_there_is_not_written_again(store: CacheStore, small: Small) -> None:
    store.put(small(1))
    before = store.path(small(1).key).stat()
    store.put(small(1))
    after = store.path(small(1).key).stat()
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


# -- equal caches are equal bytes -----------------------------------------------------------------------------------


def test_the_same_canonical_is_the_same_bytes(tmp_path: Path, small: Small) -> None:
    stores = [CacheStore(tmp_path / name, IDENTITY) for name in "ab"]
    for store in stores:
        store.put(small(1))
    first, second = (store.path(small(1).key).read_bytes() for store in stores)
    assert first == second


def test_the_bytes_of_a_canonical_are_those_of_every_other_process_and_machine(store: CacheStore) -> None:
    """If this digest changes, caches written before can no longer be told from damaged ones: STORE_FORMAT must grow with it."""
    numbers = torch.arange(32, dtype=torch.float32).reshape(2, 1, 4, 4)
    page = Canonical(f"{HEX}@120", numbers, -numbers, 1, 2)
    store.put(page)
    assert STORE_FORMAT == "1"
    assert (
        hashlib.sha256(store.path(page.key).read_bytes()).hexdigest() == "1847e9143e7d4d7f33c3ad6ec48d54bea34ae6ab95c7d688f2d44297bc2061d6"
    )


# -- damage ---------------------------------------------------------------------------------------------------------


def damaged_reads(store: CacheStore, page: Canonical, data: bytes) -> bool:
    """Whether a damaged file still reads as the identical canonical; anything but that or CorruptCache by key fails the test."""
    store.path(page.key).write_bytes(data)
    try:
        found = store.get(page.key).canonical
    except CorruptCache as error:
        refused = error
    else:
        assert same(found, page)
        return True
    assert refused.key == page.key
    assert page.key in str(refused)
    return False


def test_a_changed_byte_anywhere_is_found_or_harmless(store: CacheStore, small: Small) -> None:
    """Every byte of the header and of the payload: a bit of it, all its bits, and in the header a letter that means something to JSON."""
    page = small(1)
    store.put(page)
    whole = store.path(page.key).read_bytes()
    header = 8 + int.from_bytes(whole[:8], "little")
    found = 0
    for at in range(len(whole)):
        values = {whole[at] ^ 1 << at % 8, whole[at] ^ 0xFF} if at < header or at % 4 == 0 else set()
        if at < header:
            values |= {whole[at] ^ 1 << (at + 3) % 8, b'"\\{}[],: 09'[at % 11]}
        for value in values - {whole[at]}:
            harmless = damaged_reads(store, page, whole[:at] + bytes([value]) + whole[at + 1 :])
            found += not harmless
            assert at < header or not harmless
    assert found > 2 * header
    assert damaged_reads(store, page, whole)


def test_a_file_cut_anywhere_or_made_longer_is_found(store: CacheStore, small: Small) -> None:
    page = small(1)
    store.put(page)
    whole = store.path(page.key).read_bytes()
    for length in {*range(0, len(whole), 9), *range(12), len(whole) - 1}:
        assert not damaged_reads(store, page, whole[:length])
    assert not damaged_reads(store, page, whole + b"\0")


def test_bytes_that_changed_places_are_found(store: CacheStore, small: Small) -> None:
    page = small(1)
    store.put(page)
    whole = store.path(page.key).read_bytes()
    start = 8 + int.from_bytes(whole[:8], "little")
    half = (len(whole) - start) // 2
    assert not damaged_reads(store, page, whole[:start] + whole[start + half :] + whole[start : start + half])
    assert not damaged_reads(store, page, whole[:start] + bytes(len(whole) - start))


def test_another_pages_file_under_this_key_is_found(store: CacheStore, small: Small) -> None:
    for number in (1, 2):
        store.put(small(number))
    shutil.copy(store.path(small(2).key), store.path(small(1).key))
    with pytest.raises(CorruptCache, match=small(1).key):
        store.get(small(1).key)


def test_a_damaged_page_can_be_removed_and_put_again(store: CacheStore, small: Small) -> None:
    page = small(1)
    store.put(page)
    store.path(page.key).write_bytes(b"damage")
    with pytest.raises(CorruptCache):
        store.get(page.key)
    assert store.remove(page.key) == len(b"damage")
    store.put(page)
    assert same(store.get(page.key).canonical, page)


# -- keys -----------------------------------------------------------------------------------------------------------


def test_a_page_that_was_never_compiled_is_missed_by_key(store: CacheStore, small: Small) -> None:
    with pytest.raises(CacheMiss, match=small(1).key) as caught:
        store.get(small(1).key)
    assert caught.value.key == small(1).key
    assert store.remove(small(1).key) == 0


@pytest.mark.parametrize(
    "key",
    [
        "",
        "@72",
        "../../etc/x@72",
        "/etc/passwd",
        f"{HEX}",
        f"{HEX}@",
        f"{HEX}@7",
        f"{HEX}@7200",
        f"{HEX}@72\n",
        f"{HEX}@72\0",
        f"{HEX}@72/../x",
        f"{HEX}@72.safetensors",
        f"{HEX}@\N{ARABIC-INDIC DIGIT SEVEN}2",
        f"{HEX.upper()}@72",
        f"{HEX * 3}@72",
    ],
)
def test_a_key_that_is_not_a_key_never_becomes_a_path(key: str, store: CacheStore, small: Small) -> None:
    for use in (store.path, store.has, store.get, store.remove):
        with pytest.raises(CacheMiss, match="not a page image's key"):
            use(key)
    with pytest.raises(CacheMiss, match="not a page image's key"):
        store.put(replace(small(1), key=key))
    assert not (store.folder / "caches").exists()


def test_a_file_that_the_store_did_not_write_is_no_key(store: CacheStore, small: Small) -> None:
    store.put(small(1))
    path = store.path(small(1).key)
    for name in ("notes.safetensors", f"{'b' * 32}@72.safetensors", "readme.txt", f"x.1{UNFINISHED}"):
        (path.parent / name).write_bytes(b"")
    assert list(store.keys()) == [small(1).key]
    store.seal()


# -- writing --------------------------------------------------------------------------------------------------------


def test_removing_frees_disk_and_memory(tmp_path: Path, small: Small) -> None:
    store, page = CacheStore(tmp_path, IDENTITY, ram_bytes=10_000), small(1)
    store.put(page)
    store.get(page.key)
    size = store.path(page.key).stat().st_size
    assert store.remove(page.key) == size
    assert store.ram.bytes == 0
    with pytest.raises(CacheMiss):
        store.get(page.key)


def test_a_cache_that_another_process_deleted_is_not_handed_out_from_memory(tmp_path: Path, small: Small) -> None:
    store, page = CacheStore(tmp_path, IDENTITY, ram_bytes=1 << 20), small(5)
    store.put(page)
    store.get(page.key)
    assert store.get(page.key).tier == "ram"
    store.path(page.key).unlink()
    with pytest.raises(CacheMiss, match=page.key):
        store.get(page.key)
    assert store.ram.get(page.key) is None


def test_a_cache_deleted_while_it_is_read_is_not_kept_in_memory(tmp_path: Path, small: Small, monkeypatch: pytest.MonkeyPatch) -> None:
    store, page = CacheStore(tmp_path, IDENTITY, ram_bytes=10_000), small(1)
    store.put(page)
    true = store.ram.keep

    def keep(key: str, canonical: Canonical, copied: Callable[[Canonical], Canonical]) -> Canonical:
        store.remove(page.key)  # another thread's deletion, between the reading and the keeping
        return true(key, canonical, copied)

    monkeypatch.setattr(store.ram, "keep", keep)
    assert same(store.get(page.key).canonical, page)
    assert store.ram.bytes == 0


def test_a_place_that_cannot_be_written_is_an_error_that_names_it(tmp_path: Path) -> None:
    (tmp_path / "plain").write_bytes(b"")
    with pytest.raises(StoreUnwritable, match="plain"):
        CacheStore(tmp_path / "plain", IDENTITY)


def test_the_manifest_counts_what_is_there(store: CacheStore, small: Small) -> None:
    def manifest() -> dict[str, object]:
        store.seal()
        found: dict[str, object] = json.loads((store.folder / "manifest.json").read_text(encoding="utf-8"))
        return found

    empty = manifest()
    assert (empty["caches"], empty["bytes"]) == (0, 0)
    for number in (1, 2, 3):
        store.put(small(number, tokens=number))
    full = manifest()
    assert full["caches"] == 3
    assert full["bytes"] == sum(store.path(key).stat().st_size for key in store.keys())  # noqa: SIM118 (not a mapping)
    assert full["identity"] == IDENTITY.fingerprint
    assert full["keys"] != empty["keys"]
    store.remove(small(2).key)
    assert manifest()["caches"] == 2
    store.put(small(2, tokens=2))
    assert manifest() == full


# -- identity -------------------------------------------------------------------------------------------------------


def test_each_identity_has_a_folder_of_its_own(tmp_path: Path, store: CacheStore, small: Small) -> None:
    store.put(small(1))
    other = CacheStore(tmp_path, replace(IDENTITY, style="another"))
    assert other.folder != store.folder
    assert not other.has(small(1).key)


@pytest.mark.parametrize("name", [field.name for field in fields(Identity)])
def test_a_store_that_something_else_made_is_refused_by_the_field(name: str, tmp_path: Path, small: Small) -> None:
    theirs = CacheStore(tmp_path / "theirs", replace(IDENTITY, **{name: "another"}))
    theirs.put(small(1))
    ours = tmp_path / "ours" / IDENTITY.fingerprint[:16]
    shutil.copytree(theirs.folder, ours)
    with pytest.raises(IdentityMismatch, match=f"another {name} ") as caught:
        CacheStore(tmp_path / "ours", IDENTITY)
    assert (caught.value.field, caught.value.stored, caught.value.loaded) == (name, "another", getattr(IDENTITY, name))


@pytest.mark.parametrize("data", [b"", b"{", b"[1]", b"3", b"\xff\xfe", b"{}"])
def test_an_identity_that_cannot_be_read_is_refused_not_replaced(data: bytes, store: CacheStore, tmp_path: Path) -> None:
    path = store.folder / "identity.json"
    path.write_bytes(data)
    with pytest.raises(IdentityMismatch):
        CacheStore(tmp_path, IDENTITY)
    assert path.read_bytes() == data
