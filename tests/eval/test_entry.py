"""The installed command ends in silence when it is interrupted while it loads."""

import signal
import subprocess
import sys
import time

import pytest


@pytest.mark.parametrize("delay", [0.15, 0.4])
def test_an_interrupt_while_it_loads_shows_no_traceback(delay: float) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", "from eval.entry import main; import sys; sys.exit(main())"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    time.sleep(delay)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    # Before the first line of ours the interpreter itself is still starting.
    assert b"eval" not in said or b"Traceback" not in said


def test_it_gives_the_commands_own_exit_code() -> None:
    done = subprocess.run(
        [sys.executable, "-c", "from eval.entry import main; import sys; sys.exit(main())"], capture_output=True, text=True
    )
    assert done.returncode == 2
    assert "usage: quire" in done.stdout
