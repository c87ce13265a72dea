"""A zip's members come out each on its own: as a file of a random name, or as the reason why not."""

import io
import stat
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ingest.archive import Member, is_archive, unpack
from ingest.errors import BadName, Cancelled, DamagedFile, EmptyFile, IngestError, LoadError, PasswordNeeded, TooLarge, UnsupportedType
from ingest.types import Limits


def zipped(*members: tuple[str | zipfile.ZipInfo, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as container:
        for name, data in members:
            container.writestr(name, data)
    return out.getvalue()


@pytest.fixture
def members(tmp_path: Path) -> Callable[..., list[Member]]:
    """The members of an archive of these bytes, called a.zip; their files are in `tmp_path / "spool"`."""
    (tmp_path / "spool").mkdir()

    def members_(data: bytes, limits: Limits | None = None) -> list[Member]:
        path = tmp_path / "upload"
        path.write_bytes(data)
        return list(unpack(path, "a.zip", limits or Limits(), tmp_path / "spool"))

    return members_


Members = Callable[..., list[Member]]


def refused(member: Member) -> type[IngestError]:
    assert member.path is None
    assert str(member.error).startswith(f"{member.name}: ")
    return type(member.error)


def test_members_keep_their_folders_in_their_names_and_lie_under_random_ones(members: Members, tmp_path: Path) -> None:
    found = members(zipped(("b.txt", b"one"), ("in/ner/a.md", b"two"), ("empty.txt", b"")))
    assert [member.name for member in found] == ["a.zip/b.txt", "a.zip/in/ner/a.md", "a.zip/empty.txt"]
    assert [member.path.read_bytes() for member in found if member.path] == [b"one", b"two", b""]
    assert [member.bytes for member in found] == [3, 3, 0]
    assert all(member.path and member.path.parent == tmp_path / "spool" and len(member.path.name) == 32 for member in found)


def test_folders_and_hidden_files_are_passed_over_as_in_a_folder(members: Members) -> None:
    junk = [("d/", b""), ("d\\", b""), (".DS_Store", b"x"), ("__MACOSX/._a.txt", b"x"), ("d/.git/config", b"x")]
    assert [member.name for member in members(zipped(*junk, ("d/a.txt", b"x")))] == ["a.zip/d/a.txt"]


@pytest.mark.parametrize(
    "name", ["../../etc/cron.d/x", "/etc/passwd", "C:\\boot.ini", "..\\x.txt", "a/../../x", "a\nb.txt", "a\0b.txt", "x" * 300]
)
def test_a_name_that_leaves_its_folder_is_a_failed_line_and_touches_nothing(members: Members, tmp_path: Path, name: str) -> None:
    # The name is put in afterwards: zipfile itself would tidy it.
    stand_in = "n" * len(name)
    data = zipped((stand_in, b"evil"), ("good.txt", b"good")).replace(stand_in.encode(), name.encode())
    evil, good = members(data)
    assert refused(evil) is BadName
    assert not set(evil.name) & set("\n\0")
    assert good.path is not None
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == [tmp_path / "upload", good.path]


def test_links_and_devices_are_refused_and_never_made(members: Members, tmp_path: Path) -> None:
    def special(name: str, kind: int) -> zipfile.ZipInfo:
        info = zipfile.ZipInfo(name)
        info.external_attr = (kind | 0o777) << 16
        return info

    link, device, plain = members(
        zipped(
            (special("l.txt", stat.S_IFLNK), b"/etc/passwd"), (special("d.txt", stat.S_IFCHR), b""), (special("f.txt", stat.S_IFREG), b"x")
        )
    )
    assert refused(link) is refused(device) is UnsupportedType
    assert "a link" in str(link.error)
    assert plain.path is not None
    assert not any(path.is_symlink() for path in tmp_path.rglob("*"))


def test_an_encrypted_member_asks_for_a_password_and_the_others_go_on(members: Members) -> None:
    data = bytearray(zipped(("a.txt", b"x"), ("b.txt", b"y")))
    data[6] |= 1
    data[data.index(b"PK\x01\x02") + 8] |= 1
    locked, plain = members(bytes(data))
    assert refused(locked) is PasswordNeeded
    assert plain.path is not None


def test_a_name_that_stands_twice_goes_in_once(members: Members) -> None:
    with pytest.warns(UserWarning, match="Duplicate name"):
        data = zipped(("a.txt", b"1"), ("a.txt", b"2"), ("cafe\u0301.txt", b"3"), ("caf\u00e9.txt", b"4"))
    first, second, third, fourth = members(data)
    assert first.path is not None
    assert first.path.read_bytes() == b"1"
    assert third.path is not None
    assert third.path.read_bytes() == b"3"
    assert refused(second) is refused(fourth) is BadName


def test_a_zip_within_a_zip_is_not_opened(members: Members) -> None:
    inner, plain = members(zipped(("in.ZIP", zipped(("a.txt", b"x"))), ("a.txt", b"x")))
    assert refused(inner) is UnsupportedType
    assert plain.path is not None


def test_a_bomb_is_refused_alone_by_its_ratio_or_its_size(members: Members) -> None:
    data = zipped(("bomb.txt", b"\0" * (8 << 20)), ("big.txt", bytes(range(256)) * 40_000), ("a.txt", b"x"))
    assert len(data) < 1 << 18
    ratio, size, plain = members(data, Limits(file_bytes=9 << 20))
    assert refused(ratio) is TooLarge
    assert "over 200 times" in str(ratio.error)
    assert refused(size) is TooLarge
    assert "(file_bytes)" in str(size.error)
    assert plain.path is not None


def test_an_archive_over_a_limit_is_refused_whole_before_a_byte_is_written(members: Members, tmp_path: Path) -> None:
    many = zipped(*((f"{n}.txt", b"x" * 100) for n in range(20)))
    with pytest.raises(TooLarge, match=r"^a\.zip: it holds 20 files, over 19 \(archive_members\)"):
        members(many, Limits(archive_members=19))
    with pytest.raises(TooLarge, match=r"2,000 bytes, over 1,999 \(unpacked_bytes\)"):
        members(many, Limits(unpacked_bytes=1_999))
    assert list((tmp_path / "spool").iterdir()) == []


def test_a_directory_of_a_million_entries_is_refused_before_it_is_read(members: Members) -> None:
    # One entry's record, repeated: zipfile would make an object of each.
    data = zipped(("a.txt", b"x"))
    start, end = data.index(b"PK\x01\x02"), data.index(b"PK\x05\x06")
    directory = data[start:end] * 100_000
    tail = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, 0xFFFE, 0xFFFE, len(directory), start, 0)
    with pytest.raises(TooLarge, match=r"its directory has 5,100,000 bytes, over 1,024,000"):
        members(data[:start] + directory + tail)


def test_a_directory_that_lies_about_a_size_ends_in_a_wrong_checksum(members: Members, tmp_path: Path) -> None:
    honest = zipped(("a.txt", b"words " * 100_000), ("b.txt", b"x"))
    lying = honest.replace((600_000).to_bytes(4, "little"), (1_000).to_bytes(4, "little"))
    assert lying != honest
    lie, plain = members(lying)
    assert refused(lie) is DamagedFile
    assert plain.path is not None
    assert list((tmp_path / "spool").iterdir()) == [plain.path]


def test_methods_that_unpack_without_bound_are_refused(members: Members) -> None:
    (member,) = members(zipped(("a.txt", b"x" * 100), method=zipfile.ZIP_BZIP2))
    assert refused(member) is UnsupportedType


@pytest.mark.parametrize(
    ("codec", "names"),
    [("utf-8", ["größe.txt", "文書.txt"]), ("cp437", ["größe.txt", "schön.txt"]), ("cp932", ["文書.txt", "メモ帳.txt"])],
)
def test_names_without_a_mark_are_read_in_the_encoding_that_fits_them_all(members: Members, codec: str, names: list[str]) -> None:
    data = zipped(("0" * len(names[0].encode(codec)), b"x"), ("1" * len(names[1].encode(codec)), b"y"))
    for digit, name in zip("01", names, strict=True):
        data = data.replace((digit * len(name.encode(codec))).encode(), name.encode(codec))
    assert [member.name for member in members(data)] == [f"a.zip/{name}" for name in names]


def test_what_is_no_archive_says_so(members: Members) -> None:
    with pytest.raises(DamagedFile, match=r"^a\.zip: it is no zip archive, or cut short"):
        members(b"PK\x03\x04 and no more")
    with pytest.raises(DamagedFile):
        members(zipped(("a.txt", b"x" * 500))[:-40])
    with pytest.raises(EmptyFile, match="holds no files"):
        members(zipped(("d/", b"")))


def test_it_is_the_name_that_makes_a_zip_an_archive(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(zipped(("a.txt", b"x")))
    assert is_archive(path, "b/A.ZIP")
    assert not is_archive(path, "a.docx")
    path.write_bytes(b"text")
    assert not is_archive(path, "a.zip")
    assert not is_archive(tmp_path, "a.zip")
    assert not is_archive(tmp_path / "gone", "a.zip")


def test_cancelling_ends_between_members_and_leaves_nothing_half_written(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(zipped(("a.txt", b"x"), ("b.txt", b"y")))
    (tmp_path / "spool").mkdir()
    asked: list[bool] = []
    walk = unpack(tmp_path / "a", "a.zip", Limits(), tmp_path / "spool", lambda: bool(asked))
    first = next(walk)
    asked.append(True)
    with pytest.raises(Cancelled, match=r"^a\.zip: "):
        next(walk)
    assert list((tmp_path / "spool").iterdir()) == [first.path]


@given(st.data())
@settings(max_examples=60, derandomize=True, deadline=None)
def test_a_broken_archive_gives_members_or_a_clear_error_and_nothing_else(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    folder = tmp_path_factory.mktemp("fuzz")
    whole = bytearray(zipped(("a.txt", b"words " * 50), ("in/b.txt", b"more"), ("ö.txt", b"x")))
    for _ in range(data.draw(st.integers(1, 6))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    (folder / "a").write_bytes(whole[: data.draw(st.integers(1, len(whole)))])
    (folder / "spool").mkdir()
    try:
        found = list(unpack(folder / "a", "a.zip", Limits(file_bytes=1 << 20, unpacked_bytes=1 << 20), folder / "spool"))
    except LoadError:
        return
    assert all((member.path is None) == (member.error is not None) for member in found)
    assert {path for path in folder.rglob("*") if path.is_file()} == {folder / "a", *(member.path for member in found if member.path)}
