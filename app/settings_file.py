"""A TOML file goes in; its keys that are settings come out, and a sentence for everything else that is wrong with it."""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Collection
from pathlib import Path
from typing import Any

from .errors import BadSettings


def read_file(path: Path, named: bool, names: Collection[str]) -> dict[str, Any]:
    """The settings in a TOML file. `named`: somebody asked for this file, so it must be there. `names`: what settings there are.

    Raises BadSettings: no such file, no TOML, or a key that is no setting.
    """
    found, problems = sift_file(path, named, names)
    if problems:
        raise BadSettings(problems[0])
    return found


def sift_file(path: Path, named: bool, names: Collection[str]) -> tuple[dict[str, Any], list[str]]:
    """The file's keys that are settings, and a sentence for everything else that is wrong with it."""
    try:
        found = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}, [f"{path}: there is no such settings file"] if named else []
    except (OSError, ValueError) as error:
        return {}, [f"{path}: {error}"]
    problems = []
    for key in list(found):
        # A file that is found through the home cannot say where the home is.
        if key not in names or key == "config" or (key == "home" and not named):
            del found[key]
            close = difflib.get_close_matches(key, names, n=1)
            hint = f"did you mean {close[0]!r}? " if close and close[0] != key else ""
            problems.append(f"{path}: {key!r} is not a setting of this file; {hint}`quire config` lists them all")
    return found, problems
