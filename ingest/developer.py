"""The darkroom's child process: a request as JSON on stdin; for each page a line of JSON with raw RGB pixels behind it, or the error, on stdout; and
behind the pixels one more line, with what is written there.

It decodes what strangers made, so it sets its own limits before it opens anything, and hands on no format that needs decoding again.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import IO, Any

from .errors import DamagedFile, LoadError
from .ocr import recogniser
from .types import Limits
from .worker import confine_before_parse, read

# What draws the pages of a file, each `scans(bytes, Limits) -> (page number -> picture)`.
DRAWERS = {"picture": "picture", "pymupdf": "pdf_scan", "pypdfium2": "pdfium_scan"}


def main() -> None:
    request = json.load(sys.stdin.buffer)
    # Whatever a library prints must not run into the reply.
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    limits = Limits(**request["limits"])
    _confine_memory(limits)
    drawer = import_module(f"ingest.parsers.{DRAWERS[request['drawer']]}")
    recognise, unread = _recogniser(request)
    try:
        data = read(Path(request["path"]), limits)
        if hashlib.sha256(data).hexdigest() != request["sha256"]:
            raise DamagedFile("it changed while it was being read: add it again")
        confine_before_parse()
        look = drawer.scans(data, limits)
    except LoadError as error:
        look = _raising(error)
    for page in request["pages"]:
        _allow(limits, request["threads"])
        told, scaled, picture = develop(look, page["number"], page["pixels"])
        _send(out, told, scaled)
        if picture is not None:
            # Behind the pixels: a page on which recognition takes too long, or dies, is a page all the same.
            _send(out, recognised(picture, page["number"], recognise, unread), [])
    out.close()


def develop(look: Callable[[int], Any], number: int, pixels: list[tuple[int, int]]) -> tuple[dict[str, Any], list[bytes], Any]:
    """One page: the line to send, its pixels in each of the sizes that are wanted, and its picture (None where there is an error)."""
    from PIL import Image

    try:
        picture = look(number)
        scaled = [picture.resize(tuple(size), Image.Resampling.LANCZOS, reducing_gap=3.0).tobytes() for size in pixels]
        # Not needed any more at its full size, and recognition wants the room.
        picture.thumbnail((2000, 2000), Image.Resampling.LANCZOS, reducing_gap=3.0)
    except LoadError as error:
        return {"number": number, "error": type(error).__name__, "message": str(error), "place": error.place or f"page {number}"}, [], None
    except MemoryError:
        return {"number": number, "error": "ParserStopped", "message": _too_large(number), "place": f"page {number}"}, [], None
    return {"number": number}, scaled, picture


def recognised(picture: Any, number: int, recognise: Callable[[Any], list[Any]] | None, unread: str) -> dict[str, Any]:
    """The line to send on what is written on a page; `unread` says why nothing was looked for."""
    lines: list[Any] = []
    if recognise is not None:
        try:
            lines = recognise(picture)
        except Exception as error:
            # The engine fails in ways of its own (of memory, mostly). The page is a page without its text, and its note says why.
            unread = f"text recognition failed ({type(error).__name__})"
    return {"number": number, "lines": lines, "unread": unread}


def _too_large(number: int) -> str:
    return f"decoding page {number} took more memory than it may (parse_memory): scale it down, or raise that limit"


def _recogniser(request: dict[str, Any]) -> tuple[Callable[[Any], list[Any]] | None, str]:
    """The engine, or None with the reason: an installation that cannot be loaded costs the pages their text, not the document its pages."""
    if not request["ocr"]:
        return None, ""
    try:
        return recogniser(request["threads"]), ""
    except Exception as error:
        return None, f"text recognition cannot be loaded ({type(error).__name__})"


def _raising(error: LoadError) -> Callable[[int], Any]:
    def look(number: int) -> Any:
        raise error

    return look


def _send(out: IO[bytes], told: dict[str, Any], pixels: list[bytes]) -> None:
    out.write(json.dumps(told).encode("ascii") + b"\n")
    for data in pixels:
        out.write(data)
    out.flush()


def _confine_memory(limits: Limits) -> None:
    try:
        import resource
    except ImportError:
        return
    for kind, most in ((resource.RLIMIT_AS, limits.parse_memory), (resource.RLIMIT_CORE, 0)):
        try:
            resource.setrlimit(kind, (most, most))
        except (ValueError, OverflowError, OSError) as error:
            # macOS refuses RLIMIT_AS.
            print(f"limit {kind} could not be set: {error}", file=sys.stderr)


def _allow(limits: Limits, threads: int) -> None:
    """Processor time for one page more. The limits of a whole file's parser would end a book of scans in its middle."""
    try:
        import resource
    except ImportError:
        return
    used = resource.getrusage(resource.RUSAGE_SELF)
    soft = int(used.ru_utime + used.ru_stime + limits.parse_seconds * (threads + 1)) + 1
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (soft if hard == resource.RLIM_INFINITY else min(soft, hard), hard))


if __name__ == "__main__":
    main()
