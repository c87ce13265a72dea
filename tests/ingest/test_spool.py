"""Uploads on the disk: whole or not at all, under names of the house's own."""

import hashlib
import io
from pathlib import Path

import pytest

from ingest.errors import TooLarge
from ingest.spool import Spool, digest_of_request


def test_an_upload_is_kept_whole_under_a_name_of_the_houses_own(tmp_path: Path) -> None:
    spool = Spool(tmp_path)
    kept = spool.keep("../Geheim .PDF", io.BytesIO(b"words"), 100)
    assert spool.path(kept.file).read_bytes() == b"words"
    assert kept.file == f"{kept.job}.pdf"
    assert (kept.sha256, kept.bytes) == (hashlib.sha256(b"words").hexdigest(), 5)
    assert spool.keep("x.we!rd", io.BytesIO(b""), 100).file.isalnum()
    assert spool.has(kept.file)
    assert (spool.drop(kept.file), spool.drop(kept.file), spool.drop("")) == (5, 0, 0)
    assert not spool.has(kept.file)
    assert not spool.has("")


def test_nothing_is_kept_of_an_upload_that_is_too_large_or_breaks_off(tmp_path: Path) -> None:
    class Broken(io.BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            raise ConnectionError("gone")

    for data, error in ((io.BytesIO(b"x" * 11), TooLarge), (Broken(), ConnectionError)):
        with pytest.raises(error):
            Spool(tmp_path).keep("a.txt", data, 10)
    assert list(tmp_path.iterdir()) == []


def test_a_sweep_leaves_only_what_a_job_waits_for(tmp_path: Path) -> None:
    spool = Spool(tmp_path)
    wanted, stray = (spool.keep(name, io.BytesIO(b"w"), 10).file for name in ("a.txt", "b.txt"))
    spool.unpacked.mkdir()
    (spool.unpacked / "member").write_bytes(b"of an archive")
    assert spool.sweep([wanted]) == 1
    assert [path.name for path in tmp_path.iterdir()] == [wanted] != [stray]


def test_requests_are_told_apart_by_place_manner_names_and_bytes() -> None:
    seen = {
        digest_of_request(*request)
        for request in (
            ("a", False, [("x", "1"), ("y", "2")]),
            ("b", False, [("x", "1"), ("y", "2")]),
            ("a", True, [("x", "1"), ("y", "2")]),
            ("a", False, [("y", "2"), ("x", "1")]),
            ("a", False, [("x", "1")]),
            ("a", False, [("x1", "y2")]),
        )
    }
    assert len(seen) == 6
