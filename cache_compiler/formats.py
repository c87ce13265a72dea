"""A home's stores and an identity go in; its store comes out in today's format, brought up from an earlier one, or refused by name.

    <root>/<identity>/identity.json     says the format, in the field `store`; a fingerprint covers it, so each format has a folder of its own

A change takes a folder to the next format, file by file, each replaced whole; run again it must pass over what it has done already, for a crash may
come between two files. Then the identity is written, and last of all the folder takes its new name: until then the next start takes the change up
again. From its first changed file on, the folder is not promised to the old version.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from .errors import StoreTooNew
from .files import write_atomic
from .identity import Identity

Change = Callable[[Path, Identity], None]

# By the format that a store has: what takes its folder to the next one, given the identity it will have. The next format is the next number.
CHANGES: dict[str, Change] = {}


def bring_up(root: Path, identity: Identity) -> tuple[Identity, ...]:
    """Bring the store of this model, page style and the rest up to today's format; returns the identities it had before, oldest first: whoever
    keeps them elsewhere must change them too. Nothing happens where the store is there already, or no earlier one is.

    Raises StoreTooNew, before anything is touched, where one of a newer format is.
    """
    if not identity.store.isdecimal():
        return ()  # none of ours: nothing was ever written in it
    require_no_newer(root, identity)
    today = oldest = int(identity.store)
    while str(oldest - 1) in CHANGES:
        oldest -= 1
    before = tuple(replace(identity, store=str(format_)) for format_ in range(oldest, today))
    for old in before:
        folder, target = root / old.fingerprint[:16], root / identity.fingerprint[:16]
        if not folder.is_dir() or target.exists():
            continue
        for step in range(int(old.store), today):
            CHANGES[str(step)](folder, replace(identity, store=str(step + 1)))
        write_atomic(folder / "identity.json", json.dumps(identity.as_mapping(), sort_keys=True, indent=1).encode() + b"\n")
        folder.replace(target)
    return before


def require_no_newer(root: Path, identity: Identity) -> None:
    """Raises StoreTooNew where the home has a store of this very model in a format that this version does not know: it would be left behind
    without a word, and everything compiled again."""
    for path in sorted(root.glob("*/identity.json")):
        try:
            stored = json.loads(path.read_text(encoding="utf-8"))
            found = int(stored["store"])
        except (OSError, ValueError, KeyError, TypeError):
            continue  # no identity of ours: `quire verify` names it
        same = all(stored.get(name) == value for name, value in identity.as_mapping().items() if name != "store")
        if found > int(identity.store) and same:
            raise StoreTooNew(
                f"{path.parent} has the store format {found}, this version reads up to {identity.store}: use a newer version of Quire",
                field="store",
                stored=str(found),
                loaded=identity.store,
            )
