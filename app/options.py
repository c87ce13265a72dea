"""An argument parser goes in; it comes out with the settings as options, and parsed arguments become the overrides of `Settings`."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from .settings import PREFIX, Settings
from .sources import read_settings

# Every command reads a home; those that load a model need the rest.
HOME = ("home", "config")
MODEL = ("model", "dtype", "unchecked", "embedder", "style", "low", "high", "ram_bytes", "disk_bytes", "ocr")
INGEST = (
    *("batch", "pdf_engine", "file_bytes", "text_chars", "source_pages", "rendered_pages", "unpacked_bytes"),
    *("image_pixels", "archive_members", "parse_seconds", "parse_memory"),
)
# What is formed when documents come in; "hot" forms more while questions are answered.
PATCH = ("patch_policy", "patch_rank", "hot_after")
ASK = ("search", "top_k", "alpha", "cap", "max_tokens", "question_chars", "patch_missing")
CHAT = ("conversations", "window_bytes", "window_pages")
SERVE = (
    *("host", "port", "queue", "upload_queue", "request_files", "upload_bytes", "connections", "body_seconds", "rate", "ask_rate"),
    *("cors_origins", "grace", "log_format", "otel"),
)


def add_settings(parser: argparse.ArgumentParser, *names: str) -> None:
    """Add an option for each named setting; one that is not given leaves the setting to the environment, the file or the default."""
    group = parser.add_argument_group(
        "settings", f"Each also as an environment variable ({PREFIX}...) or in quire.toml; `quire config` shows them."
    )
    for name in names:
        field = Settings.model_fields[name]
        described = (field.description or "").replace("%", "%%")
        default = "" if field.is_required() or field.default in (None, ()) or field.default_factory else f" Default: {field.default}."
        if field.annotation is bool:
            group.add_argument(f"--{name.replace('_', '-')}", dest=name, action="store_const", const=True, default=None, help=described)
            continue
        # Values stay strings here: `Settings` reads and checks them, the same way as those of the environment.
        group.add_argument(f"--{name.replace('_', '-')}", dest=name, metavar=_metavar(name), default=None, help=described + default)


def overrides(args: argparse.Namespace) -> dict[str, Any]:
    """What the command line said of the settings."""
    return {name: value for name, value in vars(args).items() if name in Settings.model_fields and value is not None}


def settings_of(args: argparse.Namespace) -> Settings:
    """The settings that this command runs under. Raises BadSettings."""
    return read_settings(overrides(args))


def _metavar(name: str) -> str:
    kind = Settings.model_fields[name].annotation
    return "PATH" if kind in (Path, Path | None) else name.rpartition("_")[2].upper()
