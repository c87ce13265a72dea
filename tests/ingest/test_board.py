"""Waiting for jobs to change: woken at once, told each change once, and never kept waiting by what has gone."""

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from ingest import board as room
from ingest.board import Board
from retrieval.catalogue import Catalogue
from retrieval.errors import UnknownJob
from retrieval.types import JobRow


@pytest.fixture
def catalogue(tmp_path: Path) -> Iterator[Catalogue]:
    opened = Catalogue(tmp_path / "c.sqlite")
    for name in "abc":
        opened.add_job(JobRow(name, "default", f"{name}.txt", ""))
    yield opened
    opened.close()


def test_who_waits_for_a_job_is_woken_by_its_change(catalogue: Catalogue) -> None:
    board, seen = Board(catalogue), list[JobRow]()
    waiter = threading.Thread(target=lambda: seen.append(board.wait_change("a", board.job("a"), 60)))
    waiter.start()
    board.update("b", done=1)
    board.update("a", done=7)
    waiter.join(60)
    assert [row.done for row in seen] == [7]


def test_changes_come_once_in_order_and_without_what_has_gone(catalogue: Catalogue) -> None:
    board = Board(catalogue)
    for name in "abac":
        board.update(name, done=1)
    mark, rows = board.changes(0, 0)
    assert [row.id for row in rows] == ["b", "a", "c"]
    assert board.changes(mark, 0) == (mark, ())
    board.update("b", state="done")
    catalogue.forget_finished(before=1e12)
    assert board.changes(mark, 0)[1] == ()
    with pytest.raises(UnknownJob):
        board.wait_change("b", None, 0)


def test_a_closed_board_keeps_nobody_and_an_old_mark_hears_of_the_latest(catalogue: Catalogue, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "_KEPT", 2)
    board = Board(catalogue)
    board.tell("a", "b", "c")
    assert [row.id for row in board.changes(0, 0)[1]] == ["b", "c"]
    board.close()
    assert board.wait_change("a", board.job("a"), 3600).id == "a"
    assert board.changes(board.mark, 3600)[1] == ()
