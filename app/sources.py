"""Command line, environment (QUIRE_*), a TOML file and defaults go in, in that order of strength; one frozen `Settings` comes out, or what is wrong."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from .errors import BadSettings
from .settings import FILE, PREFIX, Settings
from .settings_file import read_file


def read_settings(overrides: Mapping[str, Any] | None = None) -> Settings:
    """Settings with the command line's `overrides` (None: not given). Raises BadSettings, naming the setting, its value and its source."""
    given = {name: value for name, value in (overrides or {}).items() if value is not None}
    try:
        return Settings(**given)
    except ValidationError as error:
        raise BadSettings(told(error, given)[0][1]) from None


def told(error: ValidationError, given: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Each problem as the setting's name ("": it is of several) and a sentence with value and source."""
    problems = []
    for problem in error.errors(include_url=False):
        name, message = str(problem["loc"][0]) if problem["loc"] else "", problem["msg"].removeprefix("Value error, ")
        if name:
            problems.append((name, f"{name} = {problem['input']!r} ({_source(name, given)}): {message}"))
        else:
            problems.append(("", f"the settings do not fit together: {message}"))
    return problems


def origins(settings: Settings, overrides: Mapping[str, Any] | None = None) -> dict[str, str]:
    """For every setting, where its value came from: "command line", "QUIRE_...", the file's path, or "default"."""
    given = {name: value for name, value in (overrides or {}).items() if value is not None}
    in_file = read_file(settings.file, settings.config is not None, Settings.model_fields)

    def origin(name: str) -> str:
        found = _source(name, given)
        return found if found != "file" else str(settings.file) if name in in_file else "default"

    return {name: origin(name) for name in Settings.model_fields}


def file_of(given: Mapping[str, Any]) -> tuple[Path, bool]:
    """Where the settings file is looked for, by command line and environment alone, and whether somebody named it."""

    def said(name: str) -> str | None:
        return given.get(name) or os.environ.get(PREFIX + name.upper()) or None

    config = said("config")
    return (Path(config) if config else Path(said("home") or "~/.quire") / FILE).expanduser(), config is not None


def strangers(environ: Mapping[str, str] = os.environ) -> list[str]:
    """Variables that begin with QUIRE_ and are no setting: most often a slip of the pen."""
    names = {PREFIX + name.upper() for name in Settings.model_fields} | {PREFIX + "DEBUG"}
    return sorted(name for name in environ if name.startswith(PREFIX) and name not in names)


def _source(name: str, given: Mapping[str, Any]) -> str:
    """The strongest source that may have set `name`; "file" where neither the command line nor the environment did."""
    if name in given:
        return "command line"
    return PREFIX + name.upper() if os.environ.get(PREFIX + name.upper()) else "file"
