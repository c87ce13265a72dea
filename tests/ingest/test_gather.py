"""What lies in folders and zips: every file once, and what is kept out is told with its reason."""

import os
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from ingest.errors import BadName, DamagedFile, UnsupportedType
from ingest.gather import Found, gather
from ingest.types import Limits


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "given"
    (path / "b" / "c").mkdir(parents=True)
    for name in ("z.txt", "a.txt", "b/d.txt", "b/c/e.txt", ".hidden", "b/.git.txt"):
        (path / name).write_text(name)
    return path


@pytest.fixture
def look(tmp_path: Path) -> Callable[..., list[Found]]:
    spool = tmp_path / "spool"
    spool.mkdir()
    return lambda *paths, **options: list(gather(paths, Limits(**options), spool))


def told(found: list[Found]) -> list[tuple[str, str]]:
    return [(file.name, type(file.error).__name__ if file.error else "") for file in found]


def test_a_folders_files_come_sorted_by_their_path_within_it_without_hidden_ones(folder: Path, look: Callable[..., list[Found]]) -> None:
    assert told(look(folder)) == [("a.txt", ""), ("b/c/e.txt", ""), ("b/d.txt", ""), ("z.txt", "")]
    assert [file.named for file in look(folder, folder / "a.txt")] == [False] * 4 + [True]


def test_links_out_of_the_folder_are_told_and_links_within_are_followed(
    folder: Path, tmp_path: Path, look: Callable[..., list[Found]]
) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("secret")
    (folder / "out.txt").symlink_to(secret)
    (folder / "outside").symlink_to(tmp_path)
    (folder / "up.txt").symlink_to("b/../../secret.txt")
    (folder / "in.txt").symlink_to("b/d.txt")
    (folder / "within").symlink_to("b")
    (folder / "round").symlink_to(".")
    found = {file.name: file for file in look(folder)}
    for name in ("out.txt", "outside", "up.txt"):
        assert isinstance(found.pop(name).error, BadName)
    assert sorted(found) == ["a.txt", "b/c/e.txt", "b/d.txt", "in.txt", "z.txt"]
    assert found["in.txt"].path == folder / "b" / "d.txt"
    assert not any(file.error for file in found.values())
    assert not any("secret" in str(file.path) for file in found.values())


def test_a_folder_whose_name_another_begins_with_is_another_folder(folder: Path, look: Callable[..., list[Found]]) -> None:
    beside = folder.parent / "given-not"
    beside.mkdir()
    (beside / "x.txt").write_text("x")
    (folder / "x.txt").symlink_to(beside / "x.txt")
    assert ("x.txt", "BadName") in told(look(folder))


def test_a_link_that_is_named_is_taken_at_the_persons_word(folder: Path, tmp_path: Path, look: Callable[..., list[Found]]) -> None:
    (tmp_path / "link").symlink_to(folder)
    assert len(look(tmp_path / "link")) == 4
    (tmp_path / "one.txt").symlink_to(folder / "a.txt")
    assert told(look(tmp_path / "one.txt")) == [("one.txt", "")]


def test_a_folder_that_cannot_be_read_is_a_line_and_the_others_go_on(folder: Path, look: Callable[..., list[Found]]) -> None:
    """Too deep a path is the one thing that keeps even an administrator out."""
    here = os.open(folder, os.O_RDONLY)
    try:
        for _ in range(20):
            os.mkdir("n" * 250, dir_fd=here)
            below = os.open("n" * 250, os.O_RDONLY, dir_fd=here)
            os.close(here)
            here = below
    finally:
        os.close(here)
    found = look(folder)
    assert [name for name, error in told(found) if not error] == ["a.txt", "b/c/e.txt", "b/d.txt", "z.txt"]
    (lost,) = [file for file in found if file.error]
    assert isinstance(lost.error, OSError)
    assert lost.name.startswith("nnn")


def test_a_zips_members_are_files_of_their_own_wherever_it_lies(folder: Path, look: Callable[..., list[Found]]) -> None:
    with zipfile.ZipFile(folder / "m.zip", "w") as container:
        container.writestr("in/one.txt", "one")
        container.writestr("../out.txt", "out")
        container.writestr("inner.zip", "PK\x03\x04")
    found = {file.name: file for file in look(folder) if file.name.startswith("m.zip")}
    one = found.pop("m.zip/in/one.txt")
    assert (one.path.read_text(), one.unpacked, one.named, one.error) == ("one", True, False, None)
    assert one.source == f"{os.path.realpath(folder / 'm.zip')}!/m.zip/in/one.txt"
    assert {type(file.error) for file in found.values()} == {BadName, UnsupportedType}


def test_a_zip_that_is_none_and_one_over_the_limit_are_lines(folder: Path, look: Callable[..., list[Found]]) -> None:
    (folder / "broken.zip").write_bytes(b"PK\x03\x04 and no more")
    with zipfile.ZipFile(folder / "many.zip", "w") as container:
        for number in range(5):
            container.writestr(f"{number}.txt", "x")
    found = {file.name: file.error for file in look(folder, archive_members=4)}
    assert isinstance(found["broken.zip"], DamagedFile)
    assert "5 files, over 4" in str(found["many.zip"])
