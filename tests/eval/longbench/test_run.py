"""Whatever stops a run, finished samples stay, and going on ends in the bytes of a run that was never stopped."""

import threading
from dataclasses import replace

import pytest

from cache_compiler.errors import ContextTooLong
from eval.longbench import report
from eval.longbench.errors import BadResults, ModelStopped
from eval.longbench.records import read
from eval.longbench.results import Results
from eval.longbench.run import run
from eval.longbench.tasks import OFFICIAL

SETTINGS = {"protocol": "official", "model": "none", "max_length": 31500, "max_tokens": None}


def told(record, _):
    """A right answer to some, half of one to others."""
    return record.answers[0] if len(record.id) % 2 or record.id < "8" else f"{record.answers[0]} or so"


def finish(folder, rows, arms, workers=1):
    """Run to the end; the bytes of what is a function of the answers."""
    with Results(folder, SETTINGS) as results:
        run(rows, arms, OFFICIAL, results, workers)
        names = [arm.name for arm in arms]
        report.write(folder, report.summarise(rows, names, SETTINGS, results), report.times(names, rows, results))
    return {name: (folder / name).read_bytes() for name in ("summary.json", "table.md", "table.csv")}


@pytest.mark.parametrize("workers", [1, 3])
@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
def test_a_run_that_was_stopped_ends_in_the_bytes_of_one_that_was_not(error, workers, rows, scripted, tmp_path) -> None:
    whole = finish(tmp_path / "whole", rows, [scripted("a", told), scripted("b", lambda record, _: "no idea")])

    def dies(record, before):
        if before == 7:
            raise error
        return told(record, before)

    stopped = [scripted("a", dies), scripted("b", lambda record, _: "no idea")]
    with Results(tmp_path / "torn", SETTINGS) as results, pytest.raises(error):
        run(rows, stopped, OFFICIAL, results, workers)
    with (tmp_path / "torn" / "results.jsonl").open("ab") as file:
        file.write(b'{"arm": "a", "task": "musi')  # what a power cut leaves
    again = [scripted("a", told), scripted("b", lambda record, _: "no idea")]
    assert finish(tmp_path / "torn", rows, again, workers) == whole
    assert 0 < len(again[0].asked) <= 18 - 7


def test_a_finished_run_asks_nothing_again(rows, scripted, tmp_path) -> None:
    first = finish(tmp_path, rows, [scripted("a", told)])
    again = scripted("a", told)
    assert finish(tmp_path, rows, [again]) == first
    assert again.asked == []


def test_more_arms_and_more_rows_go_on_in_the_same_file(rows, fixtures, scripted, tmp_path) -> None:
    finish(tmp_path, read(fixtures, ["musique"], 1), [scripted("a", told)])
    a, b = scripted("a", told), scripted("b", told)
    finish(tmp_path, rows, [a, b])
    assert (len(a.asked), len(b.asked)) == (17, 18)


def test_a_record_that_cannot_be_answered_scores_0_is_listed_and_not_tried_again(rows, scripted, tmp_path) -> None:
    bad = rows["musique"][1].id

    def long(record, before):
        if record.id == bad:
            raise ContextTooLong("too many pages")
        return record.answers[0]

    finish(tmp_path, rows, [scripted("a", long)])
    with Results(tmp_path, SETTINGS) as results:
        summary = report.summarise(rows, ["a"], SETTINGS, results)
    musique = summary["arms"][0]["tasks"]["musique"]
    assert (musique["f1"], musique["n"], musique["failed"]) == (66.67, 3, 1)
    assert summary["failures"] == [{"arm": "a", "task": "musique", "id": bad, "error": "ContextTooLong: too many pages"}]
    assert bad in report.text(summary)
    again = scripted("a", told)
    finish(tmp_path, rows, [again])
    assert again.asked == []


@pytest.mark.parametrize("workers", [1, 2])
def test_a_model_that_stops_ends_the_run_and_what_it_failed_is_done_again(workers, rows, scripted, tmp_path) -> None:
    def lost(record, before):
        if before >= 4:
            raise RuntimeError("the device was lost")
        return told(record, before)

    with Results(tmp_path / "torn", SETTINGS) as results, pytest.raises(ModelStopped, match="the device was lost"):
        run(rows, [scripted("a", lost)], OFFICIAL, results, workers)
    again = scripted("a", told)
    assert finish(tmp_path / "torn", rows, [again], workers) == finish(tmp_path / "whole", rows, [scripted("a", told)])
    assert len(again.asked) == 18 - 4


def test_errors_here_and_there_do_not_end_a_run(rows, scripted, tmp_path) -> None:
    def now_and_then(record, before):
        if before % 3:
            raise MemoryError("for once")
        return told(record, before)

    with Results(tmp_path, SETTINGS) as results:
        run(rows, [scripted("a", now_and_then)], OFFICIAL, results)
        assert sum(line.again for line in results.done.values()) == 12


def test_answers_over_other_words_are_refused(rows, scripted, tmp_path) -> None:
    finish(tmp_path, rows, [scripted("a", told)])
    other = {"musique": [replace(rows["musique"][0], context="Another context.")]}
    with pytest.raises(BadResults, match="other words"):
        finish(tmp_path, other, [scripted("a", told)])


def test_workers_are_in_hand_at_once(rows, scripted, tmp_path) -> None:
    meeting = threading.Barrier(3, timeout=20)

    def meet(record, before):
        meeting.wait()
        return told(record, before)

    finish(tmp_path, rows, [scripted("a", meet)], workers=3)
    assert not meeting.broken


def test_finished_samples_of_all_workers_are_kept_when_one_of_them_stops_the_run(rows, scripted, tmp_path) -> None:
    together = threading.Barrier(3, timeout=20)

    def stops(record, before):
        together.wait()
        if record.id == rows["2wikimqa"][0].id:
            raise SystemExit
        return told(record, before)

    with Results(tmp_path, SETTINGS) as results, pytest.raises(SystemExit):
        run({"2wikimqa": rows["2wikimqa"]}, [scripted("a", stops)], OFFICIAL, results, 3)
    with Results(tmp_path, SETTINGS) as again:
        assert {line.id for line in again.done.values()} == {record.id for record in rows["2wikimqa"][1:]}
