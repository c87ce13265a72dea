"""The child process that reads one file: a request as JSON on stdin; the parsed document, or the error, as JSON on stdout.

It sets its own limits before it opens anything, and imports the one parser it needs.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import sys
from dataclasses import asdict
from importlib import import_module
from pathlib import Path
from typing import Any

from .errors import EmptyFile, LoadError, TooLarge
from .types import Limits

PARSERS = ("text", "markdown", "html", "csv", "docx", "xlsx", "pptx", "epub", "pdf", "pdfium", "picture")


def main() -> None:
    request = json.load(sys.stdin.buffer)
    # Whatever a library prints must not run into the reply.
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    try:
        reply = answer(Path(request["path"]), request["parser"], Limits(**request["limits"]))
        encoded = json.dumps(reply, ensure_ascii=False).encode("utf-8", "replace")
    except MemoryError:
        encoded = b'{"out_of_memory": true}'
    out.write(encoded)
    out.close()


def answer(path: Path, parser: str, limits: Limits) -> dict[str, Any]:
    """Parse the file. The reply has either the fields of `Parsed`, `sha256` and `bytes`, or `error`, `message` and `place`."""
    if parser not in PARSERS:
        raise ValueError(f"no parser {parser!r}: choose one of {', '.join(PARSERS)}")
    confine_before_import(limits)
    parse = import_module(f"ingest.parsers.{parser}").parse
    try:
        data = read(path, limits)
        confine_before_parse()
        parsed = parse(data, limits)
    except LoadError as error:
        return {"error": type(error).__name__, "message": str(error), "place": error.place}
    except RecursionError:
        return {"error": "DamagedFile", "message": "it is nested too deeply: save it again in a simpler form", "place": ""}
    except ModuleNotFoundError as error:
        message = f"the library {error.name} that reads it is not installed: install it, or for PDFs choose the other pdf_engine"
        return {"error": "UnsupportedType", "message": message, "place": ""}
    return {**asdict(parsed), "sha256": hashlib.sha256(data).hexdigest(), "bytes": len(data)}


def read(path: Path, limits: Limits) -> bytes:
    """The file's bytes, read once, so that hash and text are of the same file. Raises EmptyFile and TooLarge."""
    with path.open("rb") as file:
        data = file.read(limits.file_bytes + 1)
    if not data:
        raise EmptyFile("the file is empty (0 bytes): save it again, or leave it out")
    if len(data) > limits.file_bytes:
        raise TooLarge(f"the file has more than {limits.file_bytes:,} bytes (file_bytes): raise that limit or split the file")
    return data


def confine_before_import(limits: Limits) -> None:
    """Memory, processor time and core dumps. Not every system has every limit; the parent's clock holds everywhere."""
    try:
        import resource
    except ImportError:
        return
    seconds = math.ceil(limits.parse_seconds) + 1
    wanted = (
        (resource.RLIMIT_AS, limits.parse_memory, limits.parse_memory),
        (resource.RLIMIT_CPU, seconds, seconds + 1),
        (resource.RLIMIT_CORE, 0, 0),
    )
    for kind, soft, hard in wanted:
        _, most = resource.getrlimit(kind)
        if most != resource.RLIM_INFINITY:
            soft, hard = min(soft, most), min(hard, most)
        try:
            resource.setrlimit(kind, (soft, hard))
        except (ValueError, OverflowError, OSError) as error:
            # macOS refuses RLIMIT_AS.
            print(f"limit {kind} could not be set: {error}", file=sys.stderr)


def confine_before_parse() -> None:
    """From here on no file can be written. Before, importing may have stored compiled modules."""
    try:
        import resource
    except ImportError:
        return
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))


if __name__ == "__main__":
    main()
