"""The catalogue as a whole: collections, generations, many threads, and a process that dies in the middle."""

from __future__ import annotations

import random
import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest

from retrieval import jobs as jobs_table
from retrieval.catalogue import Catalogue
from retrieval.errors import EmbedderMismatch
from retrieval.types import CollectionRow, JobRow

Make = Callable[..., object]
ROOT = Path(__file__).resolve().parents[2]


def test_a_collection_is_made_once_and_bound_to_its_embedder(catalogue: Catalogue) -> None:
    row = catalogue.collection("default")
    before = catalogue.generation()
    assert catalogue.create_collection(row) == row
    assert catalogue.create_collection(CollectionRow("default", {"model": "another"}, "drawn", 8)) == row
    assert catalogue.generation() == before
    for other in (CollectionRow("default", {}, "another", 8), CollectionRow("default", {}, "drawn", 9)):
        with pytest.raises(EmbedderMismatch, match=f"with drawn \\(8 numbers\\), not with {other.embedder} \\({other.dimension}\\)"):
            catalogue.create_collection(other)
    catalogue.create_collection(CollectionRow("a", {}, "drawn", 8))
    assert [row.name for row in catalogue.collections()] == ["a", "default"]


def test_generations_grow_with_content_and_tell_collections_apart(catalogue: Catalogue, whole: Make) -> None:
    catalogue.create_collection(CollectionRow("other", {}, "drawn", 8))
    seen = [(catalogue.generation(), catalogue.generation("default"), catalogue.generation("other"))]
    steps = [
        lambda: whole(1).add_to(catalogue),
        lambda: whole(2, collection="other").add_to(catalogue),
        lambda: catalogue.delete_document("d1"),
        lambda: catalogue.delete_collection("other"),
        lambda: catalogue.create_collection(CollectionRow("other", {}, "drawn", 8)),
    ]
    for step in steps:
        step()
        seen.append((catalogue.generation(), catalogue.generation("default"), catalogue.generation("other")))
    grew = [tuple(new > old for old, new in zip(*pair, strict=True)) for pair in pairwise(seen)]
    default, other = (True, True, False), (True, False, True)
    assert grew == [default, other, default, other, other]
    assert catalogue.generation("never made") == 0


def test_content_outlives_its_process(catalogue: Catalogue, whole: Make) -> None:
    whole(1, ("a", "b")).add_to(catalogue)
    lines, number = list(catalogue.dump()), catalogue.generation()
    catalogue.close()
    again = Catalogue(catalogue.path)
    assert (list(again.dump()), again.generation()) == (lines, number)
    again.close()


def test_readers_beside_a_writer_see_whole_documents_only(catalogue: Catalogue, whole: Make) -> None:
    documents = [whole(number, [f"{number}.{page}" for page in range(5)]) for number in range(1, 25)]
    stop = threading.Event()
    faults: list[object] = []

    def read() -> None:
        try:
            while not stop.is_set():
                ids, vectors = catalogue.vectors("default")
                if len(ids) % 5 or len(vectors) != len(ids):
                    faults.append(len(ids))
                for chunk in catalogue.chunks(ids[-5:].tolist()):
                    if len(chunk.pages) != 1:
                        faults.append(chunk)
        except BaseException as reason:
            faults.append(reason)

    readers = [threading.Thread(target=read) for _ in range(4)]
    for reader in readers:
        reader.start()
    for document in documents:
        document.add_to(catalogue)
    for document in documents[::2]:
        catalogue.delete_document(document.row.id)
    stop.set()
    for reader in readers:
        reader.join()
    assert faults == []
    assert len(catalogue.documents("default")) == 12


def test_writers_of_several_threads_wait_for_each_other(catalogue: Catalogue, whole: Make) -> None:
    faults: list[BaseException] = []

    def write(first: int) -> None:
        try:
            for number in range(first, first + 6):
                whole(number, (f"{number}",)).add_to(catalogue)
        except BaseException as reason:
            faults.append(reason)

    writers = [threading.Thread(target=write, args=(first,)) for first in (100, 200, 300)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert faults == []
    assert len(catalogue.documents("default")) == 18


# Opens the catalogue given as the first argument and adds documents with a page of their own and one in common, each replacing the
# one before; says "stored N" after each. The process kills itself before the statement whose number is the second argument.
CHILD = """
import os, pathlib, signal, sqlite3, sys
from tests_retrieval_conftest import make_whole

real, seen = sqlite3.connect, 0

def count(statement):
    global seen
    seen += 1
    if seen == int(sys.argv[2]):
        os.kill(os.getpid(), signal.SIGKILL)

def connect(*arguments, **options):
    connection = real(*arguments, **options)
    connection.set_trace_callback(count)
    return connection

sqlite3.connect = connect
from retrieval.catalogue import Catalogue
catalogue = Catalogue(pathlib.Path(sys.argv[1]))
for number in range(1, 40):
    pages = ["common", *(f"{number}.{page}" for page in range(3))]
    make_whole(number, pages, name="the file").add_to(catalogue, replaces=f"d{number - 1}" if number > 1 else None)
    print("stored", number, flush=True)
"""


@pytest.mark.parametrize("statement", [30, 75, 90, 105, 150])
def test_a_process_killed_in_the_middle_leaves_the_last_acknowledged_document_whole(
    statement: int, catalogue: Catalogue, whole: Make, tmp_path: Path
) -> None:
    catalogue.close()
    (tmp_path / "tests_retrieval_conftest.py").write_text((Path(__file__).parent / "conftest.py").read_text(encoding="utf-8"), "utf-8")
    child = subprocess.run(
        [sys.executable, "-c", CHILD, str(catalogue.path), str(statement)],
        cwd=ROOT,
        env={"PYTHONPATH": f"{ROOT}:{tmp_path}", "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
    )
    assert child.returncode == -signal.SIGKILL, child.stderr
    acknowledged = len(child.stdout.splitlines())

    again = Catalogue(catalogue.path)
    rows = again.documents("default")
    # The one whose commit was under way may be in although nobody was told; never is there half of one, or both, or none.
    number = int(rows[0].id[1:]) if rows else 0
    assert len(rows) == (number > 0)
    assert number in (acknowledged, acknowledged + 1)
    if number:
        expected = whole(number, ["common", *(f"{number}.{page}" for page in range(3))], name="the file")
        assert again.chunks_of(rows[0].id) == list(expected.chunks)
        assert again.page_keys() == {"common", *(f"{number}.{page}" for page in range(3))}
    assert again.pending_removals() == sorted(f"{n}.{page}@{dpi}" for n in range(1, number) for page in range(3) for dpi in (72, 120))
    assert again.generation("default") == 1 + number
    again.close()
    raw = sqlite3.connect(catalogue.path)
    assert raw.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    assert raw.execute("PRAGMA foreign_key_check").fetchall() == []
    raw.close()


def test_a_file_that_is_written_anew_holds_no_bytes_of_rows_that_went(catalogue: Catalogue) -> None:
    """Rows that grow split the file's pages, and `secure_delete` does not reach what a split leaves behind."""
    rng = random.Random(1)
    jobs = [JobRow(f"{number:032x}", "default", f"marker-{number:04d}.csv", f"{number:032x}.csv") for number in range(300)]
    gone = []
    with catalogue._connections.write() as connection:
        for number, job in enumerate(jobs):
            jobs_table.insert(connection, job)
            for _ in range(12):
                other = rng.choice(jobs[max(0, number - 4) : number + 1])
                if other not in gone:
                    jobs_table.update(connection, other.id, {"detail": {"notes": ["y" * rng.randint(0, 900)]}})
            if number > 20 and (old := rng.choice(jobs[:number])) not in gone:
                connection.execute("DELETE FROM jobs WHERE id = ?", (old.id,))
                gone.append(old)
        connection.execute("INSERT OR REPLACE INTO meta VALUES ('worn', 1)")
    assert catalogue.empty_log()

    def left() -> list[str]:
        data = catalogue.path.read_bytes()
        return [job.name for job in gone if job.name.encode() in data]

    assert left(), "nothing to clean: this test proves nothing any more"
    assert catalogue.worn
    assert not catalogue.rewrite(most=1000)
    assert catalogue.rewrite()
    assert catalogue.empty_log()
    assert left() == []
    assert not catalogue.worn
    assert catalogue.jobs()
    assert catalogue.faults() == []


def test_every_deletion_wears_the_file(catalogue: Catalogue, whole: Make) -> None:
    assert not catalogue.worn
    whole(1).add_to(catalogue)
    assert not catalogue.worn
    catalogue.delete_document(catalogue.documents("default")[0].id)
    assert catalogue.worn
    assert catalogue.rewrite()
    catalogue.delete_collection("default")
    assert catalogue.worn
