"""Ctrl-C: one place handles it, the first one asks, and one that somebody answered explains no later error."""

import signal
import threading

import pytest

from app.interrupt import answered, interrupted, on_interrupt, remembered, stop_asked


def test_what_was_there_before_is_there_again():
    before = signal.getsignal(signal.SIGINT)
    with on_interrupt(lambda *_: None):
        assert signal.getsignal(signal.SIGINT) is not before
        with stop_asked():
            signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is before


def test_the_first_interrupt_asks_and_the_second_one_stops(capsys):
    with stop_asked("stopping") as asked:
        assert not asked.is_set()
        signal.raise_signal(signal.SIGINT)
        assert asked.is_set()
        assert capsys.readouterr().err == "stopping\n"
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)


def test_an_interrupt_is_remembered_until_somebody_answers_it():
    with remembered():
        assert not interrupted()
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        assert interrupted()
        answered()
        assert not interrupted()


def test_where_a_shell_has_it_ignored_it_stays_so_unless_work_must_be_stopped_in_good_order():
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with on_interrupt(lambda *_: None):
            assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
        with stop_asked() as asked:
            signal.raise_signal(signal.SIGINT)
            assert asked.is_set()
    finally:
        signal.signal(signal.SIGINT, before)


def test_in_another_thread_signals_are_left_alone():
    said = []

    def run():
        with stop_asked() as asked, remembered():
            said.append(asked.is_set())

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert said == [False]
