"""A request goes in; a child process with limits of time and memory reads the file; its reply comes out. The child never outlives the call."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import selectors
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

from .complaints import last_words
from .errors import Cancelled, ParserStopped
from .types import Limits

_ROOT = Path(__file__).resolve().parent.parent
_POLL = 0.05
# A reply holds the text, at worst six bytes a character ("\\u0001"), and its blocks.
_REPLY_OVERHEAD = 64 * 1024 * 1024

log = logging.getLogger(__name__)


def run(request: dict[str, Any], limits: Limits, cancelled: Callable[[], bool] | None = None) -> dict[str, Any]:
    """The reply of `ingest.worker` to the request.

    Raises ParserStopped, naming the limit, where the child ran out of time or memory or died, and Cancelled where `cancelled()` says so.
    What the child writes to stderr goes to the log, not to a person.
    """
    with tempfile.TemporaryFile() as complaints:
        # A session of its own makes the child the head of a process group that can be killed whole. It inherits no environment, so no keys.
        child = subprocess.Popen(
            [sys.executable, "-P", "-m", "ingest.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=complaints,
            env=environment(),
            start_new_session=True,
        )
        try:
            reply = _converse(child, json.dumps(request).encode(), limits, cancelled)
            code = child.wait(timeout=5)
        except subprocess.TimeoutExpired:
            code = -signal.SIGKILL
        finally:
            end(child)
        return _understood(reply, code, limits, complaints)


def environment() -> dict[str, str]:
    """What a child may know: where programs and libraries are, and no secret of the parent's."""
    kept = {
        name: os.environ[name] for name in ("PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "SYSTEMROOT", "TMPDIR") if name in os.environ
    }
    # numpy, which openpyxl imports where it is, would set memory aside for a thread on each processor, and the limit counts that.
    return {**kept, "PYTHONPATH": str(_ROOT), "PYTHONUTF8": "1", "MALLOC_ARENA_MAX": "2", "OPENBLAS_NUM_THREADS": "1"}


def _converse(child: subprocess.Popen[bytes], request: bytes, limits: Limits, cancelled: Callable[[], bool] | None) -> bytes:
    """Write the request, read the reply to its end; raise at the deadline, at the size limit, or when cancelled."""
    assert child.stdin is not None
    assert child.stdout is not None
    deadline = time.monotonic() + limits.parse_seconds
    # A child that died at once is told by its exit code.
    with contextlib.suppress(BrokenPipeError):
        child.stdin.write(request)
    with contextlib.suppress(BrokenPipeError):
        child.stdin.close()
    reply = bytearray()
    with selectors.DefaultSelector() as waiting:
        waiting.register(child.stdout, selectors.EVENT_READ)
        while True:
            if cancelled is not None and cancelled():
                raise Cancelled("stopped while the file was being read: add it again to go on")
            if time.monotonic() > deadline:
                raise ParserStopped(_too_slow(limits))
            if not waiting.select(_POLL):
                continue
            piece = os.read(child.stdout.fileno(), 1 << 20)
            if not piece:
                return bytes(reply)
            reply += piece
            if len(reply) > 6 * limits.text_chars + _REPLY_OVERHEAD:
                raise ParserStopped(
                    f"the parser's reply exceeds what {limits.text_chars:,} characters (text_chars) can take: split the file"
                )


def end(child: subprocess.Popen[bytes]) -> None:
    """End the child and whatever it started. The group lives as long as one member does, so its number cannot be another's yet."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()
    for pipe in (child.stdin, child.stdout):
        if pipe is not None:
            with contextlib.suppress(BrokenPipeError):
                pipe.close()


def _understood(reply: bytes, code: int, limits: Limits, complaints: IO[bytes]) -> dict[str, Any]:
    try:
        answer = json.loads(reply) if code == 0 else None
    except ValueError:
        answer = None
    answer = answer if isinstance(answer, dict) else None
    if answer is not None and not answer.get("out_of_memory"):
        return answer
    log.warning("the parser's process ended with %s: %s", code, last_words(complaints))
    if answer is not None:
        raise ParserStopped(
            f"reading it took more than {limits.parse_memory:,} bytes of memory (parse_memory): raise that limit or split the file"
        )
    if code == -signal.SIGXCPU:
        raise ParserStopped(_too_slow(limits))
    if code < 0:
        name = signal.Signals(-code).name
        raise ParserStopped(
            f"its parser died ({name}), perhaps of memory: the limit is {limits.parse_memory:,} bytes (parse_memory): "
            "raise that limit, or save the file again"
        )
    raise ParserStopped(f"its parser failed (exit status {code}); the log says why: save the file again, or in another format")


def _too_slow(limits: Limits) -> str:
    return f"reading it took more than {limits.parse_seconds:g} seconds (parse_seconds): raise that limit or split the file"
