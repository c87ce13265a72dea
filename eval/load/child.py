"""Words of a command line go in; the product's server runs on one port of this machine, is killed and started again, and watched."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

from eval.bench.client import ROOT
from eval.errors import EvalError

from .wire import Lost, Wire

START_SECONDS = 180.0
PAGE = os.sysconf("SC_PAGE_SIZE")


@dataclass
class Child:
    """A server over `home`. `seen` is (seconds of the run, bytes resident, number of the life); `orphans`: processes that outlived a killed one."""

    home: Path
    words: list[str]
    log: Path
    port: int = 0
    lives: int = 0
    starts: list[float] = field(default_factory=list)
    seen: list[tuple[float, int, int]] = field(default_factory=list)
    orphans: int = 0
    _process: subprocess.Popen[bytes] | None = None
    _begun: float = field(default_factory=time.monotonic)

    def __post_init__(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]

    @property
    def wire(self) -> Wire:
        return Wire(self.port)

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def start(self) -> None:
        """Start, and wait until it is ready. Raises EvalError with its last words."""
        begun = time.monotonic()
        clean = {name: value for name, value in os.environ.items() if not name.startswith("QUIRE_")}
        command = [
            sys.executable,
            "-m",
            "app",
            "serve",
            "--host",
            "127.0.0.1",
            "--port",
            str(self.port),
            "--home",
            str(self.home),
            *self.words,
        ]
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(command, cwd=ROOT, env=clean, stdout=log, stderr=log)
        self.lives += 1
        while time.monotonic() - begun < START_SECONDS:
            if self._process.poll() is not None:
                raise EvalError(f"the server ended with {self._process.returncode} before it was ready: {self.last_words()}")
            try:
                if self.wire.send("GET", "/readyz", seconds=5).status == 200:
                    self.starts.append(time.monotonic() - begun)
                    return
            except Lost:
                pass  # it does not listen yet: the loop has an end
            time.sleep(0.1)
        raise EvalError(f"the server was not ready after {START_SECONDS:.0f} seconds: {self.last_words()}")

    def kill(self) -> None:
        """kill -9, as a power cut would: nothing is told to anybody. What it leaves running for two seconds more is an orphan."""
        assert self._process is not None
        children = _children(self.pid)
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()
        end = time.monotonic() + 2
        while (left := [child for child in children if _alive(child)]) and time.monotonic() < end:
            time.sleep(0.05)
        self.orphans += len(left)

    def stop(self, seconds: float = 60.0) -> int | None:
        """SIGTERM; the exit code, or None where it had to be killed after `seconds`."""
        assert self._process is not None
        self._process.terminate()
        try:
            return self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
            return None

    def end(self) -> None:
        """Whatever happens, nothing of it stays."""
        if self._process is not None and self._process.poll() is None:
            self._process.kill()
            self._process.wait()

    def watch(self, over: threading.Event, every: float = 1.0) -> threading.Thread:
        """A thread that looks at the server's resident memory until `over`."""

        def look() -> None:
            while not over.wait(every):
                if (size := resident(self.pid)) is not None:
                    self.seen.append((time.monotonic() - self._begun, size, self.lives))

        thread = threading.Thread(target=look, name="watch", daemon=True)
        thread.start()
        return thread

    def last_words(self) -> str:
        lines = [line for line in self.log.read_text(encoding="utf-8", errors="replace").splitlines() if line.strip()]
        return lines[-1] if lines else "it said nothing"


def resident(pid: int) -> int | None:
    """Bytes of a process in memory (Linux); None where it is not there."""
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * PAGE
    except (OSError, IndexError, ValueError):
        return None


def _children(pid: int) -> list[int]:
    found: list[int] = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            found += [int(word) for word in task.read_text().split()]
        except OSError:
            continue  # the thread has ended meanwhile
    return found


def _alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
