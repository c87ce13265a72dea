"""The child process: what it may not exceed, and that nothing of it is left."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from ingest import sandbox
from ingest.errors import Cancelled, ParserStopped
from ingest.types import Limits

REAL = subprocess.Popen


def child_runs(monkeypatch: pytest.MonkeyPatch, program: str) -> list[subprocess.Popen[bytes]]:
    """Put another program in the worker's place; the children that were started are returned."""
    started: list[subprocess.Popen[bytes]] = []

    def start(command: list[str], **options: object) -> subprocess.Popen[bytes]:
        started.append(REAL([sys.executable, "-c", program], **options))  # type: ignore[call-overload]
        return started[-1]

    monkeypatch.setattr("ingest.sandbox.subprocess.Popen", start)
    return started


def gone(pid: int) -> bool:
    """Whether a process is no more, or only waits for its end to be noticed."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


def test_a_child_that_hangs_is_killed_with_all_it_started(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    note = tmp_path / "pid"
    program = (
        "import subprocess, sys, time; p = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)']);"
        f"open({str(note)!r}, 'w').write(str(p.pid)); time.sleep(600)"
    )
    child_runs(monkeypatch, program)
    with pytest.raises(ParserStopped, match=r"more than 2 seconds \(parse_seconds\)"):
        sandbox.run({}, Limits(parse_seconds=2))
    grandchild = int(note.read_text())
    for _ in range(100):
        if gone(grandchild):
            break
        time.sleep(0.05)
    assert gone(grandchild)


def test_cancelling_ends_the_child(monkeypatch: pytest.MonkeyPatch) -> None:
    started = child_runs(monkeypatch, "import time; time.sleep(600)")
    asked = threading.Event()
    threading.Timer(0.3, asked.set).start()
    with pytest.raises(Cancelled):
        sandbox.run({}, Limits(), asked.is_set)
    assert started[0].returncode == -signal.SIGKILL


@pytest.mark.parametrize(
    ("program", "why"),
    [
        ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", "SIGSEGV"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGXCPU)", "parse_seconds"),
        ("import sys; sys.exit(3)", "exit status 3"),
        ("print('{\"out_of_memory\": true}')", "parse_memory"),
        ("print('no JSON')", "exit status 0"),
        ("print('[1]')", "exit status 0"),
        ("import sys\nwhile True: sys.stdout.write('x' * 1000000)", "text_chars"),
    ],
)
def test_a_child_that_dies_or_babbles_is_a_stopped_parser(monkeypatch: pytest.MonkeyPatch, program: str, why: str) -> None:
    child_runs(monkeypatch, program)
    with pytest.raises(ParserStopped, match=why):
        sandbox.run({}, Limits(text_chars=1000))


def test_what_the_child_died_of_goes_to_the_log_without_its_words(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    child_runs(monkeypatch, "raise SystemError('inner workings')")
    with pytest.raises(ParserStopped) as raised:
        sandbox.run({}, Limits())
    assert "inner workings" not in str(raised.value) + caplog.text
    assert "SystemError" in caplog.text


def test_the_child_sees_no_environment_but_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QUIRE_API_KEYS", "secret")
    child_runs(monkeypatch, "import json, os; print(json.dumps(dict(os.environ)))")
    seen = sandbox.run({}, Limits())
    assert "QUIRE_API_KEYS" not in seen
    assert seen["PATH"] == os.environ["PATH"]
