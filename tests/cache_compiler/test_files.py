"""A file is whole or absent, whatever stops the process."""

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from cache_compiler.errors import StoreUnwritable
from cache_compiler.files import UNFINISHED, YOUNG, sweep, unfinished, write_atomic


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.rglob("*") if path.is_file()}


def test_a_written_file_is_there_whole_and_alone(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b" / "file.bin"
    write_atomic(path, b"first")
    write_atomic(path, b"second, and longer")
    assert path.read_bytes() == b"second, and longer"
    assert names(tmp_path) == {"file.bin"}


def test_a_folder_that_cannot_be_made_is_an_error_that_names_it(tmp_path: Path) -> None:
    (tmp_path / "plain").write_bytes(b"")
    for path in (tmp_path / "plain" / "file.bin", tmp_path / "plain" / "deeper" / "file.bin"):
        with pytest.raises(StoreUnwritable, match="plain"):
            write_atomic(path, b"data")
    assert names(tmp_path) == {"plain"}


def test_a_name_that_is_taken_by_a_folder_is_an_error_and_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "taken").mkdir()
    with pytest.raises(StoreUnwritable):
        write_atomic(tmp_path / "taken", b"data")
    assert names(tmp_path) == set()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_full_disk_is_an_error_and_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "file.bin"
    write_atomic(path, b"old")
    unfinished(path).symlink_to("/dev/full")
    with pytest.raises(StoreUnwritable, match="space"):
        write_atomic(path, b"new")
    assert path.read_bytes() == b"old"
    assert names(tmp_path) == {"file.bin"}


def test_threads_that_write_one_file_never_show_a_part_of_it(tmp_path: Path) -> None:
    path, data, failures = tmp_path / "file.bin", os.urandom(1 << 16), []
    path.write_bytes(data)

    def work() -> None:
        try:
            for _ in range(12):
                write_atomic(path, data)
                if path.read_bytes() != data:
                    failures.append("a part")
        except StoreUnwritable as error:
            failures.append(str(error))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert names(tmp_path) == {"file.bin"}


def killed_while_writing(folder: Path) -> int:
    """Kill a process between its write and its rename; returns its id."""
    script = (
        "import os, pathlib, signal, sys\nfrom cache_compiler import files\n"
        "files.os.fsync = lambda handle: os.kill(os.getpid(), signal.SIGKILL)\n"
        "files.write_atomic(pathlib.Path(sys.argv[1]) / 'file.bin', b'half')\n"
    )
    root = Path(__file__).resolve().parents[2]
    process = subprocess.Popen([sys.executable, "-c", script, str(folder)], cwd=root)
    assert process.wait(timeout=60) != 0
    return process.pid


def test_a_killed_writer_leaves_no_file_and_its_remains_are_swept(tmp_path: Path) -> None:
    killed_while_writing(tmp_path / "ab")
    (left,) = names(tmp_path)
    assert left.startswith("file.bin.")
    assert left.endswith(UNFINISHED)
    assert sweep(tmp_path) == 1
    assert names(tmp_path) == set()


def test_a_live_writers_file_is_left_to_it(tmp_path: Path) -> None:
    write_atomic(tmp_path / "whole.bin", b"kept")
    parent = tmp_path / f"file.bin.1.{os.getppid()}{UNFINISHED}"
    mine = tmp_path / f"file.bin.1.{os.getpid()}{UNFINISHED}"
    odd = tmp_path / f"file.bin.x{UNFINISHED}"
    for path in (parent, mine, odd):
        path.write_bytes(b"half")
    assert sweep(tmp_path) == 2
    assert names(tmp_path) == {"whole.bin", parent.name}


def test_what_another_container_is_writing_is_left_to_it_though_its_process_has_our_number(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cache_compiler.files._MACHINE", "0123abcdm")
    theirs = unfinished(tmp_path / "file.bin")
    monkeypatch.undo()
    theirs.write_bytes(b"half")
    assert sweep(tmp_path) == 0
    os.utime(theirs, (time.time() - YOUNG - 1,) * 2)
    assert sweep(tmp_path) == 1
    assert names(tmp_path) == set()


def test_what_another_thread_of_this_process_is_writing_is_left_to_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cache_compiler.files.os.fsync", lambda _: sweep(tmp_path))  # between the write and the rename
    write_atomic(tmp_path / "file.bin", b"whole")
    assert names(tmp_path) == {"file.bin"}


def test_a_folder_that_is_not_there_has_nothing_to_sweep(tmp_path: Path) -> None:
    assert sweep(tmp_path / "nowhere") == 0
