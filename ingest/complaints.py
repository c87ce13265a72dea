"""What a child process wrote before it died goes in; what may stand in a log comes out: places and types of errors, and no word of a document."""

from __future__ import annotations

import os
import re
from typing import IO

_LAST = 4000  # bytes; the end tells what it died of
_PLACE = re.compile(r'^\s+File ".*", line \d+, in \S+$')
_KIND = re.compile(r"^([A-Za-z_][\w.]*(?:Error|Exception|Interrupt|Exit|Warning))(?::|$)")


def last_words(complaints: IO[bytes]) -> str:
    """Tracebacks without the errors' own words, which may quote what was being read; all of it under QUIRE_DEBUG=1."""
    complaints.seek(0, os.SEEK_END)
    complaints.seek(max(0, complaints.tell() - _LAST))
    text = complaints.read().decode("utf-8", "replace").strip()
    if os.environ.get("QUIRE_DEBUG") == "1":
        return text
    kept = []
    for line in text.splitlines():
        if _PLACE.match(line):
            kept.append(line)
        elif found := _KIND.match(line):
            kept.append(f"{found[1]} (its words are left out)")
    return "\n".join(kept) or f"{len(text)} characters, which are left out"
