"""The bar and Ctrl-C: silent where nobody watches, and a first interrupt only asks."""

import io
import signal
import sys
import threading

import pytest

from app.progress import Bar, stop_on_interrupt
from ingest.types import Progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_where_stderr_is_no_terminal_nothing_is_drawn(capsys):
    with Bar() as bar:
        bar.show(Progress("a.txt", "compile", 1, 2))
        bar.show(Progress("a.txt", "done"))
    assert capsys.readouterr() == ("", "")


def test_at_a_terminal_it_shows_file_stage_and_pages_and_leaves_a_line(monkeypatch):
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    with Bar() as bar:
        bar.show(Progress("a\x1b[2J.txt", "compile", 3, 8))
        bar.show(Progress("a.txt", "done"))
    drawn = screen.getvalue()
    assert "compile" in drawn
    assert "3/8" in drawn
    assert "\x1b[2J" not in drawn
    assert "done    a.txt\n" in drawn


def test_the_first_interrupt_asks_and_the_second_one_stops(capsys):
    before = signal.getsignal(signal.SIGINT)
    with stop_on_interrupt() as stopped:
        assert not stopped()
        signal.raise_signal(signal.SIGINT)
        assert stopped()
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is before


def test_in_another_thread_signals_are_left_alone():
    said = []

    def run():
        with stop_on_interrupt() as stopped:
            said.append(stopped())

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert said == [False]
