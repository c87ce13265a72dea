"""The name a file came with goes in; the name it is shown under comes out, or BadName. A name is only ever shown and compared: it is no path."""

from __future__ import annotations

import re
import unicodedata

from .errors import BadName

LONGEST = 255


def document_name(raw: str) -> str:
    """`raw` (an upload's file name, or a path relative to the folder that is read) in NFC, with "/" between folders.

    Raises BadName for an absolute path, a drive letter, "..", an empty name or part, control characters, or more than 255 characters.
    """
    shown = ascii(raw[:60])
    if any(
        unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp") or c in "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069" for c in raw
    ):
        raise BadName(f"the name {shown} has control characters in it: rename the file with printable characters")
    name = unicodedata.normalize("NFC", raw).replace("\\", "/").strip()
    if not name:
        raise BadName("the file has no name: give it one, such as notes.txt")
    if name.startswith("/"):
        raise BadName(f"the name {shown} is an absolute path: send the file's own name, or a path relative to its folder")
    if re.match(r"[A-Za-z]:", name):
        raise BadName(f"the name {shown} begins with a drive letter: send the file's own name, or a path relative to its folder")
    parts = [part.strip() for part in name.split("/") if part.strip() not in ("", ".")]
    if ".." in parts:
        raise BadName(f'the name {shown} steps out of its folder with "..": send the file\'s own name')
    if not parts or name.endswith("/"):
        raise BadName(f"the name {shown} names a folder, not a file: give it a file name, such as notes.txt")
    name = "/".join(parts)
    if len(name) > LONGEST:
        raise BadName(f"the name {shown}... has {len(name)} characters, over {LONGEST}: shorten it")
    return name
