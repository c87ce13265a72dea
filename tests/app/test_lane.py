"""The lane: one turn at a time, in order of arrival, and a bounded line."""

import threading
import time

import pytest

from app.errors import Busy, ShuttingDown
from app.lane import Lane


def test_turns_come_one_at_a_time_in_order_of_arrival() -> None:
    lane, order, inside = Lane(8), [], []

    def ask(name: int) -> None:
        with lane.turn():
            inside.append(name)
            assert len(inside) == 1
            time.sleep(0.01)
            inside.remove(name)
            order.append(name)

    with lane.turn():
        threads = []
        for name in range(4):
            threads.append(threading.Thread(target=ask, args=(name,)))
            threads[-1].start()
            while lane.length < name + 2:
                time.sleep(0.001)
    for thread in threads:
        thread.join()
    assert order == [0, 1, 2, 3]
    assert lane.length == 0


def test_one_more_than_may_wait_is_turned_away_and_the_others_are_not_disturbed() -> None:
    lane = Lane(1)
    with lane.turn():
        waiting = threading.Thread(target=lambda: lane.turn().__enter__())
        waiting.daemon = True
        waiting.start()
        while lane.length < 2:
            time.sleep(0.001)
        with pytest.raises(Busy, match="queue"), lane.turn():
            pass
        assert lane.length == 2


def test_who_cancels_while_waiting_gets_no_turn_and_leaves_the_line() -> None:
    lane, cancel = Lane(4), threading.Event()
    cancel.set()
    with lane.turn():
        with lane.turn(cancel) as ours:
            assert not ours
        assert lane.length == 1


def test_an_error_inside_a_turn_gives_the_turn_on() -> None:
    lane = Lane(0)
    with pytest.raises(ValueError, match="inside"), lane.turn():
        raise ValueError("inside")
    with lane.turn() as ours:
        assert ours


def test_work_that_can_wait_gets_the_turn_only_where_nobody_wants_it() -> None:
    lane = Lane(2)
    with lane.turn(), lane.spare() as ours:
        assert ours is False
        assert lane.length == 1
    with lane.spare() as ours:
        assert ours is True
        cancel = threading.Event()
        cancel.set()
        with lane.turn(cancel) as given:
            assert given is False  # a question waits until that work is done
    assert lane.length == 0


def test_what_takes_no_time_comes_before_those_who_wait_and_goes_without_when_its_patience_is_over() -> None:
    lane, order = Lane(0), []

    def brief() -> None:
        with lane.turn(patience=20) as ours:
            order.append(("brief", ours))

    def ask() -> None:
        with lane.turn():
            order.append(("ask", True))

    with lane.turn():
        with lane.turn(patience=0.01) as ours:  # though no more may wait: it is no question
            assert ours is False
        lane.waiting = 1
        threads = [threading.Thread(target=ask)]
        threads[0].start()
        while lane.length < 2:
            time.sleep(0.001)
        threads.append(threading.Thread(target=brief))
        threads[1].start()
        while lane.length < 3:
            time.sleep(0.001)
    for thread in threads:
        thread.join(20)
    assert order == [("brief", True), ("ask", True)]


def test_a_closed_lane_gives_no_turn_and_says_whether_the_last_one_ended() -> None:
    lane, let_go, waited = Lane(4), threading.Event(), []

    def ask(ready: threading.Event) -> None:
        try:
            with lane.turn():
                ready.set()
                let_go.wait(20)
        except ShuttingDown as error:
            waited.append(error)

    ready = threading.Event()
    first = threading.Thread(target=ask, args=(ready,))
    first.start()
    ready.wait(20)
    second = threading.Thread(target=ask, args=(threading.Event(),))
    second.start()
    while lane.length < 2:
        time.sleep(0.001)
    assert lane.close(timeout=0.01) is False
    second.join()
    assert len(waited) == 1
    with pytest.raises(ShuttingDown), lane.turn():
        pass
    with lane.spare() as ours:
        assert ours is False
    let_go.set()
    assert lane.close(timeout=20) is True
    first.join()
