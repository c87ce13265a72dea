"""Uploads as jobs: acknowledged on disk, cancelled for real, taken up again after a death."""

import io
import time
from pathlib import Path

import pytest

from ingest.errors import BadName, HomeBusy, TooLarge
from ingest.jobs import FINAL, JobQueue
from ingest.types import Limits
from ingest.workshop import Workshop
from retrieval.errors import UnknownJob
from retrieval.types import JobRow

from .conftest import Open


def finish(queue: JobQueue, job_id: str, seconds: float = 60.0) -> JobRow:
    until, seen = time.monotonic() + seconds, None
    while time.monotonic() < until:
        seen = queue.wait_change(job_id, seen, 1.0)
        if seen.state in FINAL:
            return seen
    raise AssertionError(f"still {seen}")


def test_an_upload_becomes_a_document_and_leaves_no_spool(workshop: Workshop, records: Path) -> None:
    queue = JobQueue(workshop)
    queue.start()
    row = queue.submit("folder/b.txt", io.BytesIO((records / "b.txt").read_bytes()), "default")
    assert row.state == "queued"
    done = finish(queue, row.id)
    assert (done.state, done.detail["pages"], done.detail["compiled"]) == ("done", 2, 4)
    assert workshop.catalogue.document(done.document).name == "folder/b.txt"
    assert list(workshop.home.spool.iterdir()) == []
    queue.stop()


def test_an_acknowledged_upload_survives_the_death_of_its_process(workshop: Workshop, records: Path, open_at: Open) -> None:
    row = JobQueue(workshop).submit(
        "a.txt", io.BytesIO((records / "a.txt").read_bytes()), "default"
    )  # never started: the process dies here
    workshop.catalogue.update_job(row.id, state="running")
    queue = JobQueue(open_at(workshop.home.root))
    queue.start()
    assert finish(queue, row.id).state == "done"
    queue.stop()


def test_a_failure_keeps_its_reason_and_can_be_tried_again(workshop: Workshop, records: Path) -> None:
    queue = JobQueue(workshop)
    queue.start()
    row = finish(queue, queue.submit("empty.txt", io.BytesIO(b""), "default").id)
    assert row.state == "failed"
    assert "empty.txt" in row.error
    assert row.detail["type"] == "EmptyFile"
    assert finish(queue, queue.retry(row.id).id).state == "failed"
    queue.stop()


def test_a_waiting_job_is_cancelled_at_once(workshop: Workshop, records: Path) -> None:
    queue = JobQueue(workshop)
    row = queue.submit("a.txt", io.BytesIO((records / "a.txt").read_bytes()), "default")
    assert queue.cancel(row.id).state == "cancelled"
    queue.start()
    time.sleep(0.3)
    assert queue.job(row.id).state == "cancelled"
    assert workshop.catalogue.documents("default") == []
    assert list(workshop.home.spool.iterdir()) == []
    queue.stop()


def test_a_running_job_is_cancelled_and_the_next_one_goes_on(workshop: Workshop, records: Path) -> None:
    queue = JobQueue(workshop)
    long = b"\f".join(b"Brobo tower number %d has staff 899 people.\n" % n for n in range(60))
    running = queue.submit("long.txt", io.BytesIO(long), "default")
    after = queue.submit("a.txt", io.BytesIO((records / "a.txt").read_bytes()), "default")
    queue.start()
    while queue.job(running.id).state == "queued":
        time.sleep(0.02)
    queue.cancel(running.id)
    assert finish(queue, running.id).state == "cancelled"
    assert finish(queue, after.id).state == "done"
    assert [row.name for row in workshop.catalogue.documents("default")] == ["a.txt"]
    # Nothing of the cancelled document is left: no page of it belongs to anybody.
    assert {path.name.partition("@")[0] for path in workshop.home.page_files()} == workshop.catalogue.page_keys()
    queue.stop()


def test_a_second_server_on_the_same_home_is_refused(workshop: Workshop, open_at: Open) -> None:
    first, second = JobQueue(workshop), JobQueue(open_at(workshop.home.root))
    first.start()
    with pytest.raises(HomeBusy, match="another server"):
        second.start()
    first.stop()
    second.start()
    second.stop()


def test_an_upload_that_was_never_acknowledged_is_swept_at_the_next_start(workshop: Workshop) -> None:
    (workshop.home.spool / "half.txt").write_bytes(b"half")
    queue = JobQueue(workshop)
    queue.start()
    assert list(workshop.home.spool.iterdir()) == []
    queue.stop()


def test_a_failing_last_step_does_not_unsay_that_the_document_is_in(
    workshop: Workshop, records: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def busy(*_: object) -> None:
        raise HomeBusy("somebody writes")

    monkeypatch.setattr("ingest.jobs.finish_run", busy)
    queue = JobQueue(workshop)
    queue.start()
    rows = [queue.submit(name, io.BytesIO((records / name).read_bytes()), "default") for name in ("a.txt", "c.txt")]
    assert [finish(queue, row.id).state for row in rows] == ["done", "done"]
    queue.stop()


@pytest.mark.parametrize("broken", ["ingest.jobs.ingest_file", "retrieval.catalogue.Catalogue.jobs"])
def test_a_defect_ends_one_job_at_most_and_the_queue_goes_on(
    broken: str, workshop: Workshop, records: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    queue = JobQueue(workshop)
    queue.start()
    with monkeypatch.context() as patch:
        calls: list[object] = []

        def fail(*args: object, **_: object) -> None:
            calls.append(args)
            raise RuntimeError("a defect")

        patch.setattr(broken, fail)
        first = queue.submit("a.txt", io.BytesIO((records / "a.txt").read_bytes()), "default")
        until = time.monotonic() + 30
        while not calls and time.monotonic() < until:
            time.sleep(0.02)
        if broken.endswith("ingest_file"):
            failed = finish(queue, first.id)
            assert (failed.state, "RuntimeError" in failed.error) == ("failed", True)
    second = queue.submit("c.txt", io.BytesIO((records / "c.txt").read_bytes()), "default")
    assert finish(queue, second.id).state == "done"
    queue.stop()


@pytest.mark.parametrize("name", ["../../etc/x", "/etc/passwd", "C:\\x.txt", "", "a\x00b.txt"])
def test_a_name_that_steps_out_of_its_folder_is_refused_and_nothing_is_kept(workshop: Workshop, name: str) -> None:
    with pytest.raises(BadName):
        JobQueue(workshop).submit(name, io.BytesIO(b"text"), "default")
    assert list(workshop.home.spool.iterdir()) == []


def test_an_upload_over_the_limit_is_refused_while_it_comes_in(workshop: Workshop) -> None:
    workshop.limits = Limits(file_bytes=1000)
    with pytest.raises(TooLarge, match="file_bytes"):
        JobQueue(workshop).submit("big.txt", io.BytesIO(b"x" * 5000), "default")
    assert list(workshop.home.spool.iterdir()) == []


def test_an_unknown_job_is_an_error(workshop: Workshop) -> None:
    with pytest.raises(UnknownJob):
        JobQueue(workshop).job("0" * 32)


def test_a_failed_job_that_is_cancelled_gives_up_its_upload(workshop: Workshop) -> None:
    queue = JobQueue(workshop)
    queue.start()
    row = finish(queue, queue.submit("a.pdf", io.BytesIO(b"not a PDF"), "default").id)
    assert (row.state, [path.name for path in workshop.home.spool.iterdir()]) == ("failed", [row.spool])
    assert queue.cancel(row.id).state == "cancelled"
    assert list(workshop.home.spool.iterdir()) == []
    assert queue.retry(row.id).state == "cancelled"
    queue.stop()


def test_what_a_finished_job_left_behind_is_swept_and_a_failed_one_keeps_its_upload(workshop: Workshop, records: Path) -> None:
    before = JobQueue(workshop)
    before.start()
    failed = finish(before, before.submit("empty.txt", io.BytesIO(b""), "default").id)
    done = finish(before, before.submit("a.txt", io.BytesIO((records / "a.txt").read_bytes()), "default").id)
    before.stop()
    (workshop.home.spool / done.spool).write_text("the process died behind the job's end")
    queue = JobQueue(workshop)
    queue.start()
    assert [path.name for path in workshop.home.spool.iterdir()] == [failed.spool]
    queue.stop()


def test_a_job_whose_upload_is_gone_fails_without_naming_a_path_of_the_server(workshop: Workshop) -> None:
    queue = JobQueue(workshop)
    row = queue.submit("a.txt", io.BytesIO(b"words"), "default")
    (workshop.home.spool / row.spool).unlink()
    queue.start()
    done = finish(queue, row.id)
    assert (done.state, done.error) == ("failed", "a.txt: there is no such file")
    queue.stop()
