"""Ctrl-C comes in; it ends the process, becomes a KeyboardInterrupt that is remembered, or a request to stop. The one place that handles it."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

Handler = Callable[[int, FrameType | None], None]
# A signal comes to a process, not to a caller: so what came of it is kept here. Counts those that nobody has answered yet.
_unanswered = 0


@contextmanager
def on_interrupt(handler: Handler, even_ignored: bool = False) -> Iterator[None]:
    """Ctrl-C goes to `handler` while open. Not in a thread, which may not ask for it; nor where a shell has set it to be ignored, which
    it does for what it starts in the background, unless `even_ignored`."""
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or (before is signal.SIG_IGN and not even_ignored):
        yield
        return
    signal.signal(signal.SIGINT, handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def leaving(words: str, code: int) -> Iterator[None]:
    """While open, Ctrl-C ends the process on the spot: for work in which an exception would not do, for some libraries make an error of
    their own out of it while they are imported. Nothing is open yet."""

    def leave(*_: object) -> None:
        os.write(2, words.encode())
        os._exit(code)

    with on_interrupt(leave):
        yield


@contextmanager
def remembered() -> Iterator[None]:
    """While open, Ctrl-C is a KeyboardInterrupt that `interrupted` knows of, until `answered` says that somebody took it for what it was."""

    def interrupt(*_: object) -> None:
        global _unanswered
        _unanswered += 1
        raise KeyboardInterrupt

    answered()
    with on_interrupt(interrupt):
        yield


def interrupted() -> bool:
    """Whether Ctrl-C came and nobody answered it: an error behind it is most likely what a library has made of it."""
    return _unanswered > 0


def answered() -> None:
    """Whoever catches the KeyboardInterrupt and goes on says so here."""
    global _unanswered
    _unanswered = 0


@contextmanager
def stop_asked(says: str = "") -> Iterator[threading.Event]:
    """While open, the first Ctrl-C prints `says` and sets the event that is yielded, so that nothing is left half done; the second one
    interrupts at once."""
    asked = threading.Event()

    def stop(*_: object) -> None:
        asked.set()
        # Not what was there before: a shell that started us in the background has set that to "ignore".
        signal.signal(signal.SIGINT, signal.default_int_handler)
        if says:
            print(says, file=sys.stderr)

    with on_interrupt(stop, even_ignored=True):
        yield asked
