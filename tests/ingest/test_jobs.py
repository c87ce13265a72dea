"""Uploads as jobs: acknowledged on disk, cancelled for real, taken up again after a death."""

import errno
import io
import json
import time
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from ingest.archive import unpack
from ingest.board import Board
from ingest.errors import BadName, Cancelled, HomeBusy, QueueFull, TooLarge
from ingest.jobs import FINAL, JobQueue
from ingest.pipeline import ingest_file
from ingest.remove import remove_collection, remove_document
from ingest.types import Limits
from ingest.workshop import Workshop
from retrieval.errors import KeyReused, UnknownCollection, UnknownJob
from retrieval.types import JobRow

from .conftest import Open


def finish(queue: JobQueue, job_id: str, seconds: float = 60.0) -> JobRow:
    until, seen = time.monotonic() + seconds, None
    while time.monotonic() < until:
        seen = queue.wait_change(job_id, seen, 1.0)
        if seen.state in FINAL:
            return seen
    raise AssertionError(f"still {seen}")


def until_(true: Callable[[], bool], seconds: float = 60.0) -> None:
    """A wait that fails instead of hanging."""
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it never came to that"
        time.sleep(0.02)


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
    until_(lambda: queue.job(running.id).state != "queued")
    queue.cancel(running.id)
    assert finish(queue, running.id).state == "cancelled"
    assert finish(queue, after.id).state == "done"
    assert [row.name for row in workshop.catalogue.documents("default")] == ["a.txt"]
    # Nothing of the cancelled document is left once the queue is empty: no page of it belongs to anybody.
    until = time.monotonic() + 30
    while {
        path.name.partition("@")[0] for path in workshop.home.page_files()
    } != workshop.catalogue.page_keys() and time.monotonic() < until:
        time.sleep(0.02)
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

    monkeypatch.setattr("ingest.intake.finish_run", busy)
    queue = JobQueue(workshop)
    queue.start()
    rows = [queue.submit(name, io.BytesIO((records / name).read_bytes()), "default") for name in ("a.txt", "c.txt")]
    assert [finish(queue, row.id).state for row in rows] == ["done", "done"]
    queue.stop()


@pytest.mark.parametrize("broken", ["ingest.batch.ingest_file", "retrieval.catalogue.Catalogue.oldest_waiting"])
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
    assert workshop.catalogue.collections() == []


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


def zipped(*members: tuple[str, bytes]) -> io.BytesIO:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as container:
        for name, data in members:
            container.writestr(name, data)
    return io.BytesIO(made.getvalue())


def test_a_zip_is_one_job_that_tells_what_became_of_each_member(workshop: Workshop, records: Path) -> None:
    queue = JobQueue(workshop)
    queue.start()
    a, c = ((records / name).read_bytes() for name in ("a.txt", "c.txt"))
    archive = zipped(("a.txt", a), ("deep/c.txt", c), ("empty.txt", b""), ("program.exe", b"MZ"))
    row = finish(queue, queue.submit("all.zip", archive, "default").id)
    told = {member["name"]: member for member in row.detail["members"]}
    assert {name: member["state"] for name, member in told.items()} == {
        "all.zip/a.txt": "done",
        "all.zip/deep/c.txt": "done",
        "all.zip/empty.txt": "failed",
        "all.zip/program.exe": "skipped",
    }
    assert row.state == "failed"
    assert "1 of 4 files did not go in: all.zip/empty.txt" in row.error
    for name in ("all.zip/a.txt", "all.zip/deep/c.txt"):
        assert workshop.catalogue.document(told[name]["document"]).name == name
    again = finish(queue, queue.retry(row.id).id)
    assert [member["state"] for member in again.detail["members"]] == ["skipped", "skipped", "failed", "skipped"]
    queue.stop()


def test_a_zip_whose_members_all_went_in_is_done_and_gives_up_its_upload(workshop: Workshop, records: Path) -> None:
    queue = JobQueue(workshop)
    queue.start()
    row = finish(queue, queue.submit("all.zip", zipped(("a.txt", (records / "a.txt").read_bytes())), "default").id)
    assert (row.state, row.error, [member["state"] for member in row.detail["members"]]) == ("done", "", ["done"])
    assert [path for path in workshop.home.spool.rglob("*") if path.is_file()] == []
    broken = finish(queue, queue.submit("broken.zip", io.BytesIO(b"PK\x03\x04 and no more"), "default").id)
    assert (broken.state, broken.detail["type"]) == ("failed", "DamagedFile")
    queue.stop()


def test_a_request_goes_in_whole_and_a_refused_file_is_a_failed_job_beside_the_others(workshop: Workshop) -> None:
    queue = JobQueue(workshop)
    files = [("a.txt", io.BytesIO(b"one")), ("../x.txt", io.BytesIO(b"two")), ("c.txt", io.BytesIO(b"three"))]
    jobs = queue.submit_all(files, "default").jobs
    assert [(row.name, row.state) for row in jobs] == [("a.txt", "queued"), ("../x.txt", "failed"), ("c.txt", "queued")]
    assert jobs[1].detail["type"] == "BadName"
    assert queue.jobs() == list(reversed(jobs))
    assert len(list(workshop.home.spool.iterdir())) == 2


def test_a_request_that_comes_again_is_kept_once(workshop: Workshop) -> None:
    def send(text: bytes, key: str = "k", name: str = "a.txt") -> tuple[list[str], bool]:
        sent = queue.submit_all([(name, io.BytesIO(text))], "default", key=key)
        return [row.id for row in sent.jobs], sent.replayed

    queue = JobQueue(workshop, waiting=2)
    first, replayed = send(b"words")
    assert not replayed
    assert send(b"words") == (first, True)
    with pytest.raises(KeyReused):
        send(b"other words")
    with pytest.raises(KeyReused):
        send(b"words", name="b.txt")
    assert send(b"words", key="another")[0] != first
    # Though as many wait now as may: what came before is told, not queued.
    assert send(b"words") == (first, True)
    with pytest.raises(QueueFull):
        send(b"words", key="a third")
    assert len(list(workshop.home.spool.iterdir())) == len(queue.jobs()) == 2


def test_a_full_queue_turns_a_request_away_whole_and_keeps_nothing_of_it(workshop: Workshop) -> None:
    queue = JobQueue(workshop, waiting=2)
    queue.submit("a.txt", io.BytesIO(b"words"), "default")
    with pytest.raises(QueueFull, match=r"1 uploads wait already and 2 would come, the limit is 2 \(upload_queue\)") as caught:
        queue.submit_all([("b.txt", io.BytesIO(b"b")), ("c.txt", io.BytesIO(b"c"))], "default")
    assert caught.value.retry_after > 0
    assert len(list(workshop.home.spool.iterdir())) == len(queue.jobs()) == 1
    queue.submit("b.txt", io.BytesIO(b"words"), "default")


def test_who_watches_all_jobs_hears_of_each_change_once(workshop: Workshop) -> None:
    queue = JobQueue(workshop)
    mark = queue.mark
    first = queue.submit("a.txt", io.BytesIO(b"a"), "default")
    second = queue.submit("b.txt", io.BytesIO(b"b"), "other")
    queue.cancel(first.id)
    mark, rows = queue.changes(mark, 0.1)
    assert [(row.id, row.state) for row in rows] == [(second.id, "queued"), (first.id, "cancelled")]
    assert queue.changes(mark, 0.01) == (mark, ())
    third = queue.submit("c.txt", io.BytesIO(b"c"), "other")
    assert queue.changes(mark, 0.1, "default")[1] == ()
    assert queue.changes(mark, 0.1, "other")[1] == (third,)


def test_a_job_whose_collection_is_deleted_while_it_runs_leaves_nothing_and_the_queue_goes_on(workshop: Workshop, records: Path) -> None:
    queue = JobQueue(workshop)
    long = b"\f".join(b"Brobo tower number %d has staff 899 people.\n" % n for n in range(60))
    running = queue.submit("long.txt", io.BytesIO(long), "doomed")
    after = queue.submit("a.txt", io.BytesIO((records / "a.txt").read_bytes()), "default")
    queue.start()
    until_(lambda: queue.job(running.id).stage == "compile")
    workshop.catalogue.delete_collection("doomed")
    assert finish(queue, after.id).state == "done"
    with pytest.raises(UnknownJob):
        queue.job(running.id)
    with pytest.raises(UnknownCollection):
        workshop.catalogue.documents("doomed")
    assert list(workshop.home.spool.iterdir()) == []
    queue.stop()


def test_a_collection_that_is_deleted_before_a_jobs_last_step_stays_deleted(
    workshop: Workshop, records: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    true = workshop.embedder.embed_passages

    def embed(texts):  # type: ignore[no-untyped-def]
        if "doomed" in [row.name for row in workshop.catalogue.collections()]:
            remove_collection(workshop, "doomed")
        return true(texts)

    monkeypatch.setattr(workshop.embedder, "embed_passages", embed)
    queue = JobQueue(workshop)
    queue.submit("a.txt", io.BytesIO((records / "a.txt").read_bytes()), "doomed")
    after = queue.submit("c.txt", io.BytesIO((records / "c.txt").read_bytes()), "default")
    queue.start()
    assert finish(queue, after.id).state == "done"
    assert [row.name for row in workshop.catalogue.collections()] == ["default"]
    queue.stop()


def test_a_zip_that_breaks_off_is_found_by_the_deletion_of_what_it_brought(
    workshop: Workshop, records: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*args: object):  # type: ignore[no-untyped-def]
        yield next(unpack(*args))  # type: ignore[arg-type]
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("ingest.batch.unpack", full)
    queue = JobQueue(workshop)
    queue.start()
    a, c = ((records / name).read_bytes() for name in ("a.txt", "c.txt"))
    row = finish(queue, queue.submit("all.zip", zipped(("a.txt", a), ("c.txt", c)), "default").id)
    assert (row.state, [member["name"] for member in row.detail["members"]]) == ("failed", ["all.zip/a.txt"])
    remove_document(workshop, row.detail["members"][0]["document"])
    assert [path for path in workshop.home.spool.rglob("*") if path.is_file()] == []
    with pytest.raises(UnknownJob):
        queue.job(row.id)
    queue.stop()


@pytest.mark.parametrize("how", ["killed", "stopped", "tried again"])
def test_a_member_that_is_deleted_before_its_archive_is_through_does_not_come_back(
    how: str, workshop: Workshop, records: Path, open_at: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    queue = JobQueue(workshop)
    a, c = ((records / name).read_bytes() for name in ("a.txt", "c.txt"))
    row = queue.submit("all.zip", zipped(("a.txt", a), ("c.txt", c), *([("empty.txt", b"")] if how == "tried again" else [])), "default")

    def stopping(*args: object):  # type: ignore[no-untyped-def]
        yield next(unpack(*args))  # type: ignore[arg-type]
        queue._intake._stopping.set()
        raise Cancelled("stopped")

    if how == "killed":  # the member is in, and the process dies before it has told of it
        workshop.catalogue.update_job(row.id, state="running", detail={**row.detail, "members": []})
        ingest_file(records / "a.txt", "all.zip/a.txt", "upload", "default", workshop, lambda _: None, lambda: False)
    else:
        with monkeypatch.context() as patch:
            if how == "stopped":
                patch.setattr("ingest.batch.unpack", stopping)
            queue.start()
            until_(lambda: queue.job(row.id).state in ("queued", "failed") and workshop.catalogue.documents("default") != [])
            queue.stop()
    if how == "tried again":
        queue.retry(row.id)
    gone = workshop.catalogue.document_named("default", "all.zip/a.txt")
    assert gone is not None
    remove_document(workshop, gone.id)
    again = JobQueue(open_at(workshop.home.root))
    again.start()
    ended = finish(again, row.id)
    assert [one.name for one in workshop.catalogue.documents("default")] == ["all.zip/c.txt"]
    assert [member["name"] for member in ended.detail["members"]][:1] == ["all.zip/c.txt"]
    assert "a.txt" not in json.dumps(dict(ended.detail))
    assert gone.id not in json.dumps(dict(ended.detail))
    assert [path for path in workshop.home.spool.rglob("*") if path.is_file()] == []
    again.stop()


@pytest.mark.parametrize(("last", "state"), [(("c.txt", b"Brobo mine has room 31712.\n"), "done"), (("empty.txt", b""), "failed")])
def test_an_archive_that_ends_behind_a_deletion_keeps_neither_name_nor_bytes_of_that_member(
    last: tuple[str, bytes], state: str, workshop: Workshop, records: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def deleting(*args: object):  # type: ignore[no-untyped-def]
        members = unpack(*args)  # type: ignore[arg-type]
        yield next(members)
        remove_document(workshop, workshop.catalogue.documents("default")[0].id)
        yield from members

    monkeypatch.setattr("ingest.batch.unpack", deleting)
    queue = JobQueue(workshop)
    queue.start()
    row = finish(queue, queue.submit("all.zip", zipped(("a.txt", (records / "a.txt").read_bytes()), last), "default").id)
    assert (row.state, [member["name"] for member in row.detail["members"]]) == (state, [f"all.zip/{last[0]}"])
    queue.stop()
    assert [path for path in workshop.home.spool.rglob("*") if path.is_file()] == []


def test_members_are_told_now_and_then_and_all_of_them_at_the_end(workshop: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ingest.batch._PACE", 3600.0)
    told: list[int] = []
    true = Board.update

    def update(board: Board, job: str, **fields: object) -> JobRow:
        if "detail" in fields:
            told.append(len(fields["detail"].get("members", ())))  # type: ignore[attr-defined]
        return true(board, job, **fields)

    monkeypatch.setattr(Board, "update", update)
    queue = JobQueue(workshop)
    queue.start()
    row = finish(queue, queue.submit("all.zip", zipped(*((f"{number}.exe", b"MZ") for number in range(30))), "default").id)
    assert (row.state, len(row.detail["members"])) == ("done", 30)
    assert told == [0, 30, 30]
    queue.stop()
