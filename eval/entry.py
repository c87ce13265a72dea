"""The installed `quire` begins here: until the commands are loaded, Ctrl-C ends it in silence; from then on they answer for it."""

from __future__ import annotations

import signal


def main() -> int:
    """Loading takes a second or two, and a traceback of half-imported libraries would tell a person nothing."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    from .command import main as run

    signal.signal(signal.SIGINT, signal.default_int_handler)
    return run()
