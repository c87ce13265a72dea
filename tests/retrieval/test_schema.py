"""Opening a catalogue: made once, refused when newer or another program's, durable by its settings."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from retrieval.catalogue import Catalogue
from retrieval.errors import CatalogueTooNew, RetrievalError
from retrieval.schema import APPLICATION, FORMAT, TABLES, connect
from retrieval.types import CollectionRow

ROOT = Path(__file__).resolve().parents[2]
NAMES = ("journal_mode", "synchronous", "foreign_keys", "secure_delete")


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


def test_a_catalogue_of_the_first_format_is_brought_up_with_all_that_it_holds(tmp_path: Path) -> None:
    path = tmp_path / "c.sqlite"
    first = sqlite3.connect(path)
    for statement in TABLES.replace(",\n    model TEXT NOT NULL DEFAULT ''", "").split(";")[:-1]:
        first.execute(statement)
    first.execute("INSERT INTO collections VALUES ('default', '{\"model\": \"glm4v\"}', 'minilm', 384)")
    first.execute(f"PRAGMA application_id = {APPLICATION}")
    first.execute("PRAGMA user_version = 1")
    first.commit()
    first.close()
    catalogue = Catalogue(path)
    old = CollectionRow("default", {"model": "glm4v"}, "minilm", 384)
    new = CollectionRow("new", {"model": "llama"}, "minilm", 384, "smollm2")
    catalogue.create_collection(new)
    assert catalogue.collections() == [old, new]
    assert [row.model_name for row in (old, new)] == ["glm4v", "smollm2"]
    catalogue.close()
    assert connect(path).execute("PRAGMA user_version").fetchone()[0] == FORMAT


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
