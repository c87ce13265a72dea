"""A document's scans go in; they come out developed, one by one: pixels at every DPI, and lines of text where recognition is installed.

All decoding is done by a child process (`developer`) with limits of memory and of time a page. It returns raw pixels of the sizes that were
asked for, so nothing it says is decoded here. Where it dies over a page, that page is spoiled, and another child goes on behind it; where
it dies over the words on a page, the page goes in without them.
"""

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
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import IO, Any

from PIL import Image

from renderer import fitted, pixels
from renderer.types import Line, PageStyle

from . import errors
from .complaints import last_words
from .errors import Cancelled, LoadError, ParserStopped
from .ocr import CHARACTERS, LINES
from .sandbox import end, environment
from .types import Document, Limits, Scan

_POLL = 0.05
# Children that may die over one document: each page that kills one costs the start of another.
_DEATHS = 8
# Pages whose words may cost a child before no more are looked for.
_LOSSES = 3
_THREADS = 4
_PIECE = 1 << 20
# A page's line of JSON: its text at six bytes a character, and the boxes.
_HEADER = LINES * (6 * CHARACTERS + 200)

log = logging.getLogger(__name__)


class _WordsLost(Exception):
    """The child is no more, and the page it worked on is out already."""


@dataclass(frozen=True)
class Print:
    """A developed page: its size in points as it lies on the style's sheet, an RGB picture a DPI, and the lines recognised on it with their
    boxes in its points. `unread`: why no text was looked for; "" where it was."""

    scan: Scan
    size: tuple[float, float]
    pictures: Mapping[int, Image.Image] = field(repr=False)
    lines: tuple[Line, ...] = ()
    unread: str = ""

    @property
    def text(self) -> str:
        return "\n".join(line.text for line in self.lines)


@dataclass(frozen=True)
class Spoiled:
    """A page that could not be developed, and why."""

    scan: Scan
    error: LoadError


def develop(
    path: Path,
    document: Document,
    style: PageStyle,
    dpis: Sequence[int],
    limits: Limits,
    pdf_engine: str,
    unread: str,
    cancelled: Callable[[], bool],
    scans: Sequence[Scan] | None = None,
) -> Generator[Print | Spoiled, None, None]:
    """Develop the scans of the file at `path` in their order, all or those given. `unread`: "" to look for text on them, else why that is
    not done. No `dpis`: text alone.

    Raises Cancelled soon after `cancelled()` turns true.
    """
    waiting = list(document.scans if scans is None else scans)
    deaths = losses = 0
    while waiting:
        try:
            for found in _session(path, document, tuple(waiting), style, dpis, limits, pdf_engine, unread, cancelled):
                waiting.pop(0)
                yield found
        except _WordsLost:
            losses += 1
            if losses == _LOSSES:
                unread = f"text recognition was given up: it failed on {losses} pages before"
        except ParserStopped as error:
            yield Spoiled(waiting.pop(0), error)
            deaths += 1
            if deaths == _DEATHS:
                for scan in waiting:
                    yield Spoiled(
                        scan,
                        ParserStopped(f"page {scan.number} was not developed: {deaths} pages before it ended the process that does it"),
                    )
                return


def _session(
    path: Path,
    document: Document,
    scans: Sequence[Scan],
    style: PageStyle,
    dpis: Sequence[int],
    limits: Limits,
    pdf_engine: str,
    unread: str,
    cancelled: Callable[[], bool],
) -> Iterator[Print | Spoiled]:
    """One child's life. Raises ParserStopped where it ends before its last page, or takes too long over one."""
    sizes = [fitted(scan.width, scan.height, style) for scan in scans]
    wanted = [[pixels(size, dpi) for dpi in dpis] for size in sizes]
    request = {
        "path": str(path.resolve()),
        "sha256": document.sha256,
        "drawer": pdf_engine if document.media == "application/pdf" else "picture",
        "pages": [{"number": scan.number, "pixels": of_scan} for scan, of_scan in zip(scans, wanted, strict=True)],
        "limits": asdict(limits),
        "ocr": not unread,
        "threads": min(_THREADS, os.cpu_count() or 1),
    }
    with tempfile.TemporaryFile() as complaints, tempfile.TemporaryFile() as asked:
        # A file, not a pipe: a request over thousands of pages would fill one while the child still loads.
        asked.write(json.dumps(request).encode())
        asked.seek(0)
        child = subprocess.Popen(
            [sys.executable, "-P", "-m", "ingest.developer"],
            stdin=asked,
            stdout=subprocess.PIPE,
            stderr=complaints,
            env=environment(),
            start_new_session=True,
        )
        assert child.stdout is not None
        reply = _Reply(child.stdout, limits, cancelled)
        try:
            for scan, size, of_scan in zip(scans, sizes, wanted, strict=True):
                reply.next_page()
                try:
                    told = _understood(reply.line(), scan)
                    if "error" in told:
                        yield Spoiled(scan, _error(told))
                        continue
                    pictures = {
                        dpi: Image.frombytes("RGB", sides, reply.exactly(3 * sides[0] * sides[1]))
                        for dpi, sides in zip(dpis, of_scan, strict=True)
                    }
                except EOFError as error:
                    raise ParserStopped(_death(child, scan, limits, complaints)) from error
                reply.next_page()
                try:
                    said = _understood(reply.line(), scan)
                except (EOFError, ParserStopped) as error:
                    late = isinstance(error, ParserStopped)
                    log.warning("text recognition %s over a page: %s", "took too long" if late else "died", last_words(complaints))
                    why = (
                        f"took more than {limits.parse_seconds:g} seconds (parse_seconds)"
                        if late
                        else "ended its process, perhaps of memory"
                    )
                    yield Print(scan, size, pictures, (), unread or f"text recognition {why}")
                    raise _WordsLost from error
                yield Print(scan, size, pictures, _lines(said, size), unread or str(said.get("unread", "")))
        finally:
            end(child)


class _Reply:
    """A child's reply while it is read: a deadline a page, and never more in memory than what is asked for."""

    def __init__(self, pipe: IO[bytes], limits: Limits, cancelled: Callable[[], bool]) -> None:
        self._pipe, self._limits, self._cancelled = pipe, limits, cancelled
        self._held = bytearray()
        self._deadline = 0.0

    def next_page(self) -> None:
        self._deadline = time.monotonic() + self._limits.parse_seconds

    def line(self) -> bytes:
        """Up to the next newline. Raises EOFError where the child ends before, ParserStopped at the deadline or for an endless line."""
        searched = 0
        while (at := self._held.find(b"\n", searched)) < 0:
            searched = len(self._held)
            if searched > _HEADER:
                raise ParserStopped("what the child process says of a page does not end: save the file in another format")
            self._more(_PIECE)
        found = bytes(self._held[:at])
        del self._held[: at + 1]
        return found

    def exactly(self, count: int) -> bytes:
        while len(self._held) < count:
            self._more(min(_PIECE, count - len(self._held)))
        found = bytes(self._held[:count])
        del self._held[:count]
        return found

    def _more(self, most: int) -> None:
        with selectors.DefaultSelector() as waiting:
            waiting.register(self._pipe, selectors.EVENT_READ)
            while not waiting.select(_POLL):
                if self._cancelled():
                    raise Cancelled("stopped while pictures were being developed: add the file again to go on")
                if time.monotonic() > self._deadline:
                    raise ParserStopped(
                        f"a page took more than {self._limits.parse_seconds:g} seconds (parse_seconds): raise that limit, or scale the page down"
                    )
        piece = os.read(self._pipe.fileno(), most)
        if not piece:
            raise EOFError
        self._held += piece


def _understood(line: bytes, scan: Scan) -> dict[str, Any]:
    with contextlib.suppress(ValueError):
        told = json.loads(line)
        if isinstance(told, dict) and told.get("number") == scan.number:
            return told
    raise ParserStopped(f"page {scan.number}: the child process answered with something else: save the file in another format")


def _error(told: Mapping[str, Any]) -> LoadError:
    """The error that the child met; only this room's own are ever made from its word."""
    found = getattr(errors, str(told["error"]), LoadError)
    if not (isinstance(found, type) and issubclass(found, LoadError)):
        found = LoadError
    return found(str(told.get("message", "")), str(told.get("place", "")))


def _lines(told: Mapping[str, Any], size: tuple[float, float]) -> tuple[Line, ...]:
    """The child's lines in the page's points: what is no text with a box inside the page is left out."""
    found = []
    for entry in told.get("lines", ()):
        if (
            isinstance(entry, list)
            and len(entry) == 5
            and isinstance(entry[0], str)
            and all(isinstance(side, int | float) for side in entry[1:])
        ):
            x0, y0, x1, y1 = entry[1:]
            if 0 <= x0 <= x1 <= 1 and 0 <= y0 <= y1 <= 1:
                found.append(Line(entry[0][:CHARACTERS], 0, 0, x0 * size[0], y0 * size[1], x1 * size[0], y1 * size[1]))
    return tuple(found[:LINES])


def _death(child: subprocess.Popen[bytes], scan: Scan, limits: Limits, complaints: IO[bytes]) -> str:
    with contextlib.suppress(subprocess.TimeoutExpired):
        child.wait(5)
    log.warning("the darkroom's process ended with %s: %s", child.returncode, last_words(complaints))
    if child.returncode == -signal.SIGXCPU:
        return f"page {scan.number} took more processor time than {limits.parse_seconds:g} seconds (parse_seconds) allow: scale it down"
    how = signal.Signals(-child.returncode).name if child.returncode and child.returncode < 0 else f"exit status {child.returncode}"
    return (
        f"page {scan.number} ended the process that develops it ({how}), perhaps of memory: the limit is {limits.parse_memory:,} bytes "
        "(parse_memory): raise that limit, or scale the page down"
    )
