"""The installed command ends in silence when it is interrupted while it loads."""

import signal
import subprocess
import sys
import time

import pytest


@pytest.mark.parametrize("delay", [0.05, 0.15])
def test_an_interrupt_while_it_loads_ends_it_in_silence(delay: float) -> None:
    program = "import sys; from eval.entry import main; print('begun', flush=True); sys.exit(main())"
    process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    # Before the first line of ours the interpreter itself is still starting.
    assert process.stdout.readline() == b"begun\n"
    time.sleep(delay)
    process.send_signal(signal.SIGINT)
    said, complaint = process.communicate(timeout=60)
    assert (process.returncode, said, complaint) == (-signal.SIGINT, b"", b"")


def test_it_gives_the_commands_own_exit_code() -> None:
    done = subprocess.run(
        [sys.executable, "-c", "from eval.entry import main; import sys; sys.exit(main())"], capture_output=True, text=True
    )
    assert done.returncode == 2
    assert "usage: quire" in done.stdout
