"""Opening a catalogue: made once, refused when newer or another program's, durable by its settings."""

from __future__ import annotations

import gzip
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from retrieval.catalogue import Catalogue
from retrieval.errors import CatalogueTooNew, RetrievalError
from retrieval.jobs import Forgotten
from retrieval.schema import connect
from retrieval.tables import CHANGES, FORMAT

ROOT = Path(__file__).resolve().parents[2]
TABLE_NAMES = ("collections", "documents", "chunks", "pages", "chunk_pages", "removals", "meta", "jobs")
NAMES = ("journal_mode", "synchronous", "foreign_keys", "secure_delete")


def _columns(connection: sqlite3.Connection) -> dict[str, list[tuple[object, ...]]]:
    """Name, type, default and key of every column of every table."""
    tables = [row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")]
    return {table: [row[1:] for row in connection.execute(f"PRAGMA table_info({table})")] for table in tables}


def test_a_new_catalogue_waits_for_the_disk_keeps_its_references_and_writes_over_what_is_deleted(tmp_path: Path) -> None:
    connection = connect(tmp_path / "c.sqlite")
    settings = {name: connection.execute(f"PRAGMA {name}").fetchone()[0] for name in NAMES}
    assert settings == {"journal_mode": "wal", "synchronous": 2, "foreign_keys": 1, "secure_delete": 1}
    assert connection.execute("PRAGMA user_version").fetchone()[0] == FORMAT
    connection.close()


def test_a_newer_catalogue_is_refused_with_both_formats_and_left_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "c.sqlite"
    Catalogue(path).close()
    newer = sqlite3.connect(path)
    newer.execute(f"PRAGMA user_version = {FORMAT + 1}")
    newer.close()
    before = path.read_bytes()
    with pytest.raises(CatalogueTooNew, match=f"format {FORMAT + 1}, this version reads up to {FORMAT}"):
        Catalogue(path)
    assert path.read_bytes() == before


@pytest.fixture(params=[1, 2])
def old(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A catalogue as the version of that format wrote it: two documents that share a page, one that was deleted, two jobs."""
    path = tmp_path / "c.sqlite"
    path.write_bytes(gzip.decompress((Path(__file__).parent / "old" / f"catalogue-{request.param}.sqlite.gz").read_bytes()))
    return path


def test_a_catalogue_of_an_earlier_format_is_brought_up_with_all_that_it_holds(old: Path) -> None:
    with closing(sqlite3.connect(old)) as before:
        found = {table: before.execute(f"SELECT * FROM {table}").fetchall() for table in TABLE_NAMES}
        had = before.execute("PRAGMA user_version").fetchone()[0]
    begun = time.time()
    catalogue = Catalogue(old)
    assert [row.name for row in catalogue.documents("default")] == ["file-1.txt", "file-2.txt"]
    assert catalogue.collection("default").model_name == ("glm4v" if had == 1 else "reader")
    assert not any(row.pinned for row in catalogue.collections())
    assert {catalogue.page(key).kind for key in catalogue.page_keys()} == {"text"}
    assert [(row.id, row.state) for row in catalogue.jobs()] == [("j2", "queued"), ("j1", "done")]
    # Of before jobs had times: as if of now, for what is of 1970 would be forgotten by the first collection. SQLite's clock has milliseconds.
    assert all(begun - 0.01 <= row.created == row.updated <= time.time() + 0.01 for row in catalogue.jobs())
    assert catalogue.forget_finished(before=begun - 1) == Forgotten()
    assert catalogue.pending_removals() == ["aaaa0004@72"]
    assert catalogue.faults() == []  # the words of its chunks are in
    catalogue.close()
    with closing(connect(old)) as after:
        assert after.execute("PRAGMA user_version").fetchone()[0] == FORMAT
        for table, rows in found.items():
            assert [row[: len(rows[0])] for row in after.execute(f"SELECT * FROM {table}")] == rows
        assert after.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


def test_a_catalogue_that_was_brought_up_has_the_tables_of_a_new_one(old: Path, tmp_path: Path) -> None:
    with closing(connect(old)) as brought, closing(connect(tmp_path / "new.sqlite")) as new:
        for connection in (brought, new):
            assert _columns(connection) == _columns(new)


def test_a_catalogue_that_was_brought_up_takes_documents_in_and_lets_them_go(old: Path, whole: Callable[..., Any]) -> None:
    catalogue = Catalogue(old)
    whole(7, ("bbbb0001",), collection="empty", dimension=4).add_to(catalogue)
    catalogue.delete_document("d1")
    assert catalogue.page_keys() == {"bbbb0001", "aaaa0002", "aaaa0003"}
    # The job that had brought it in goes with it.
    assert [row.id for row in catalogue.jobs()] == ["j2"]
    catalogue.close()


def test_a_change_that_fails_leaves_the_catalogue_in_its_earlier_format(old: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    had = sqlite3.connect(old).execute("PRAGMA user_version").fetchone()[0]
    monkeypatch.setitem(CHANGES, 2, (*CHANGES[2], "ALTER TABLE there_is_none ADD COLUMN x TEXT"))
    with pytest.raises(RetrievalError, match="does not open"):
        Catalogue(old)
    with closing(sqlite3.connect(old)) as connection:
        assert connection.execute("PRAGMA user_version").fetchone()[0] == had
        assert "pinned" not in [column[0] for column in _columns(connection)["collections"]]
        assert "uses" not in _columns(connection)


def test_every_format_has_its_way_to_the_next_one() -> None:
    assert sorted(CHANGES) == list(range(1, FORMAT))


def test_a_file_that_is_no_catalogue_is_refused_and_left_as_it_was(tmp_path: Path) -> None:
    other = tmp_path / "other.sqlite"
    connection = sqlite3.connect(other)
    connection.execute("CREATE TABLE mine (x)")
    connection.close()
    before = other.read_bytes()
    with pytest.raises(RetrievalError, match="another program"):
        Catalogue(other)
    assert other.read_bytes() == before

    noise = tmp_path / "noise"
    noise.write_bytes(b"not a database at all, but long enough to have a header" * 20)
    with pytest.raises(RetrievalError, match=r"does not open.*put a copy of it back"):
        Catalogue(noise)
    with pytest.raises(RetrievalError, match=r"does not open.*writable"):
        Catalogue(tmp_path / "no such folder" / "c.sqlite")


def test_processes_that_open_a_new_catalogue_at_once_all_get_it(tmp_path: Path) -> None:
    program = "import sys, pathlib; from retrieval.schema import connect; connect(pathlib.Path(sys.argv[1])).execute('SELECT * FROM jobs')"
    command = [sys.executable, "-c", program, str(tmp_path / "c.sqlite")]
    racing = [subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True) for _ in range(4)]
    outcomes = [(process.communicate()[1], process.returncode) for process in racing]
    assert outcomes == [("", 0)] * 4
