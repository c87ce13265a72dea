"""Jobs through the catalogue: kept whole, changed by name, listed newest first."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Callable
from typing import Any

import pytest

from retrieval.catalogue import Catalogue
from retrieval.errors import RetrievalError, UnknownJob
from retrieval.jobs import Forgotten, mark
from retrieval.types import CollectionRow, JobRow, UploadRow


def test_a_job_comes_back_as_it_went_in(catalogue: Catalogue) -> None:
    job = JobRow("j1", "default", "ä.pdf", "/spool/j1", "running", "compile", 3, 9, "d1", "no error", {"pages": [1, 2], "why": "ü"})
    catalogue.add_job(job)
    assert catalogue.job("j1") == job


def test_an_update_changes_the_named_fields_and_no_others(catalogue: Catalogue) -> None:
    job = JobRow("j1", "default", "a.pdf", "/spool/j1")
    catalogue.add_job(job)
    after = catalogue.update_job("j1", state="failed", error="page 3: damaged", detail={"page": 3})
    assert after == JobRow("j1", "default", "a.pdf", "/spool/j1", state="failed", error="page 3: damaged", detail={"page": 3})
    assert catalogue.job("j1") == after


def test_jobs_are_listed_newest_first_by_collection_and_state(catalogue: Catalogue) -> None:
    for name, collection, state in [("z", "a", "done"), ("y", "b", "queued"), ("x", "a", "queued"), ("w", "a", "failed")]:
        catalogue.add_job(JobRow(name, collection, name, "", state))
    assert [job.id for job in catalogue.jobs()] == ["w", "x", "y", "z"]
    assert [job.id for job in catalogue.jobs("a")] == ["w", "x", "z"]
    assert [job.id for job in catalogue.jobs(states=("queued", "done"))] == ["x", "y", "z"]
    assert [job.id for job in catalogue.jobs("a", ["queued"])] == ["x"]
    assert catalogue.jobs(states=()) == []


def test_unknown_jobs_fields_and_states_are_errors_and_change_nothing(catalogue: Catalogue) -> None:
    job = JobRow("j1", "default", "a.pdf", "")
    catalogue.add_job(job)
    with pytest.raises(UnknownJob, match="no job nope"):
        catalogue.job("nope")
    with pytest.raises(UnknownJob, match="no job nope"):
        catalogue.update_job("nope", done=1)
    with pytest.raises(RetrievalError, match=r"\['id', 'state = 1; --'\] cannot be set"):
        catalogue.update_job("j1", **{"state = 1; --": 1, "id": "j2"})
    with pytest.raises(RetrievalError, match="cannot be 'asleep'"):
        catalogue.update_job("j1", state="asleep")
    with pytest.raises(RetrievalError, match="job j1 exists already"):
        catalogue.add_job(job)
    assert catalogue.jobs() == [job]


def test_jobs_do_not_count_as_content(catalogue: Catalogue) -> None:
    before = catalogue.generation(), list(catalogue.dump())
    catalogue.add_job(JobRow("j1", "default", "a.pdf", ""))
    catalogue.update_job("j1", done=1)
    assert (catalogue.generation(), list(catalogue.dump())) == before


def test_a_job_knows_when_it_came_and_when_it_changed(catalogue: Catalogue) -> None:
    before = time.time()
    added = catalogue.add_job(JobRow("j1", "default", "a.pdf", ""))
    assert before <= added.created == added.updated <= time.time()
    changed = catalogue.update_job("j1", done=1)
    found = catalogue.job("j1")
    assert (found.created, found.updated, found.number) == (added.created, changed.updated, added.number)
    assert found.updated >= added.updated
    with pytest.raises(RetrievalError, match=r"\['created'\] cannot be set"):
        catalogue.update_job("j1", created=1.0)


def test_pages_of_the_list_join_without_a_gap_though_jobs_come_and_go_between_them(catalogue: Catalogue) -> None:
    for number in range(5):
        catalogue.add_job(JobRow(f"j{number}", "default", "a.pdf", "", "done", detail={"n": number}))
    first = catalogue.jobs(limit=2)
    catalogue.add_job(JobRow("j5", "default", "new.pdf", ""))
    catalogue.forget_finished(before=time.time() + 1)  # even the row that the next page is counted from
    for number in range(3):
        catalogue.add_job(JobRow(f"k{number}", "default", "a.pdf", ""))
    assert [job.id for job in first] == ["j4", "j3"]
    assert catalogue.jobs(before=first[-1].number) == []
    assert [job.id for job in catalogue.jobs(limit=2)] == ["k2", "k1"]


def test_the_job_that_has_waited_longest_is_the_next_one(catalogue: Catalogue) -> None:
    assert catalogue.oldest_waiting() is None
    for name, state in [("a", "done"), ("b", "queued"), ("c", "queued")]:
        catalogue.add_job(JobRow(name, "default", name, "", state))
    waiting = catalogue.oldest_waiting()
    assert waiting is not None
    assert waiting.id == "b"
    assert catalogue.counts().jobs == {"queued": 2, "running": 0, "done": 1, "failed": 0, "cancelled": 0}


def test_a_deletion_takes_the_finished_jobs_that_brought_the_document_and_no_others(
    catalogue: Catalogue, whole: Callable[..., Any]
) -> None:
    document = whole(1, ("a",), name="a.pdf")
    document.add_to(catalogue)
    same, other = {"sha256": document.row.sha256}, {"sha256": "f" * 64}
    rows = [
        ("brought it in", "a.pdf", "done", "d1", {}),
        ("brought it in an archive", "all.zip", "failed", "", {"members": [{"name": "x"}, {"name": "a.pdf", "document": "d1"}]}),
        ("the same bytes, refused", "a.pdf", "failed", "", same),
        ("given up before jobs knew their digest", "a.pdf", "cancelled", "", {}),
        ("other bytes of its name, refused", "a.pdf", "failed", "", other),
        ("still waits", "a.pdf", "queued", "", same),
        ("another document", "b.pdf", "done", "d2", {"members": [{"document": "d3"}]}),
    ]
    for name, file, state, of, detail in rows:
        catalogue.add_job(JobRow(name, "default", file, f"{name}.spool", state, document=of, detail=detail))
    receipt = catalogue.delete_document("d1")
    gone = [row[0] for row in rows[:4]]
    assert sorted(receipt.jobs) == sorted(gone)
    assert sorted(receipt.spools) == sorted(f"{name}.spool" for name in gone)
    assert {job.id for job in catalogue.jobs()} == {row[0] for row in rows[4:]}


def test_a_replacement_keeps_the_story_and_drops_what_may_hold_the_old_bytes(catalogue: Catalogue, whole: Callable[..., Any]) -> None:
    old = whole(1, ("a",), name="a.pdf")
    old.add_to(catalogue)
    catalogue.add_job(JobRow("story", "default", "a.pdf", "", "done", document="d1"))
    catalogue.add_job(JobRow("old bytes", "default", "a.pdf", "s", "failed", detail={"sha256": old.row.sha256}))
    receipt = whole(2, ("b",), name="a.pdf").add_to(catalogue, replaces="d1")
    assert (receipt.jobs, receipt.spools) == (("old bytes",), ("s",))
    assert [job.id for job in catalogue.jobs()] == ["story"]


def test_a_collection_that_goes_takes_every_job_along(catalogue: Catalogue, whole: Callable[..., Any]) -> None:
    whole(1, ("a",)).add_to(catalogue)
    catalogue.create_collection(CollectionRow("other", {}, "drawn", 8))
    for name, collection, state in [
        ("a", "default", "queued"),
        ("b", "default", "running"),
        ("c", "default", "done"),
        ("d", "other", "done"),
    ]:
        catalogue.add_job(JobRow(name, collection, name, f"{name}.spool", state, document="d1" if name == "c" else ""))
    receipts, rest = catalogue.delete_collection("default")
    assert [receipt.jobs for receipt in receipts] == [("c",)]
    assert rest == Forgotten(("b", "a"), ("b.spool", "a.spool"), 0)
    assert [job.id for job in catalogue.jobs()] == ["d"]


def test_progress_does_not_write_the_detail_again(catalogue: Catalogue) -> None:
    catalogue.add_job(JobRow("j1", "default", "all.zip", "", "running", detail={"members": []}))
    with sqlite3.connect(catalogue.path) as other:
        other.execute("CREATE TRIGGER told AFTER UPDATE OF detail ON jobs BEGIN SELECT RAISE(FAIL, 'the detail is written'); END")
    other.close()
    catalogue.update_job("j1", stage="compile", done=1, total=9)
    assert (catalogue.job("j1").stage, catalogue.job("j1").done) == ("compile", 1)


def test_an_unfinished_archive_is_told_of_a_deleted_member_and_no_line_brings_it_back(
    catalogue: Catalogue, whole: Callable[..., Any]
) -> None:
    whole(1, ("a",), name="all.zip/a.txt").add_to(catalogue)
    lines = [{"name": "all.zip/a.txt", "document": "d1"}, {"name": "all.zip/b.txt", "document": "d2"}]
    for name, file, state, detail in [
        ("told of it", "other name.zip", "running", {"members": lines}),
        ("has not told yet", "all.zip", "queued", {"members": []}),
        ("came after", "all.zip", "queued", {}),
        ("is another", "al", "running", {"members": []}),
    ]:
        catalogue.add_job(JobRow(name, "default", file, "s", state, detail=detail))
    assert catalogue.delete_document("d1").jobs == ()
    noted = {row.id for row in catalogue.jobs() if row.detail.get("deleted") == [mark("d1")]}
    assert noted == {"told of it", "has not told yet"}
    after = catalogue.update_job("told of it", detail={"members": lines})
    assert after == catalogue.job("told of it")
    assert after.detail == {"members": lines[1:], "deleted": [mark("d1")]}
    assert "d1" not in json.dumps([dict(row.detail) for row in catalogue.jobs()]).replace(mark("d1"), "")
    assert catalogue.update_job("told of it", state="done", detail={"members": lines}).detail == {"members": lines[1:]}


def test_a_collection_deals_its_jobs_to_the_documents_they_brought(catalogue: Catalogue, whole: Callable[..., Any]) -> None:
    for number in (1, 2):
        whole(number, (f"p{number}",), name=f"{number}.txt").add_to(catalogue)
    for name, file, state, document, detail in [
        ("brought one", "1.txt", "done", "d1", {}),
        ("brought both", "all.zip", "failed", "", {"members": [{"document": ""}, {"document": "d2"}, {"document": "d1"}]}),
        ("refused", "2.txt", "failed", "", {"sha256": f"{2:064x}"}),
        ("other bytes", "2.txt", "cancelled", "", {"sha256": "f" * 64}),
        ("waits", "1.txt", "queued", "", {}),
    ]:
        request = UploadRow(f"key of {name}", "d", (name,), time.time())
        catalogue.add_jobs([JobRow(name, "default", file, f"{name}.spool", state, document=document, detail=detail)], request)
    receipts, rest = catalogue.delete_collection("default")
    assert [(one.document, one.jobs, one.spools, one.uploads) for one in receipts] == [
        ("d1", ("brought one",), ("brought one.spool",), 1),
        ("d2", ("refused", "brought both"), ("refused.spool", "brought both.spool"), 2),
    ]
    assert rest == Forgotten(("waits", "other bytes"), ("waits.spool", "other bytes.spool"), 2)
    assert catalogue.jobs() == []
    assert len(catalogue.pending().uploads) == 5


def test_a_collection_of_many_documents_has_its_jobs_walked_once(
    catalogue: Catalogue, whole: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(1, 9):
        whole(number, (f"p{number}",)).add_to(catalogue)
    catalogue.close()
    walks: list[str] = []
    true = sqlite3.connect

    def connect(*arguments: Any, **options: Any) -> sqlite3.Connection:
        connection = true(*arguments, **options)
        connection.set_trace_callback(lambda said: walks.append(said) if "FROM jobs" in said and not said.startswith("DELETE") else None)
        return connection

    monkeypatch.setattr(sqlite3, "connect", connect)
    again = Catalogue(catalogue.path)
    again.delete_collection("default")
    again.close()
    assert len(walks) == 1
