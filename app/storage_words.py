"""Subparsers go in; they come out with the commands that look after a home: `verify`, `gc`, `backup`, `restore`, `pin`, `delete`."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

from . import options, storage
from .options import add_settings

Add = Callable[[Any, str, Callable[[argparse.Namespace], int], str], argparse.ArgumentParser]


def add_storage(add: Add, subparsers: Any) -> None:
    """`add(subparsers, name, run, says)` makes the parser of one command."""
    delete = add(subparsers, "delete", storage.delete, "delete a document and everything that came of it, or a whole collection")
    delete.add_argument("document", metavar="ID|NAME", nargs="?")
    delete.add_argument("--collection", default="default", help="where to look for the name; default: default")
    delete.add_argument("--all-of", metavar="COLLECTION", help="delete that collection, with all its documents and waiting uploads")
    delete.add_argument("--json", action="store_true", help="print the receipt as one JSON document")
    add_settings(delete, *options.HOME)

    verify = add(subparsers, "verify", storage.verify, "check a whole home, file by file, and say what is wrong; exits 1 when something is")
    verify.add_argument("--text", action="append", metavar="WORDS", help="words that should be nowhere: named are files that have them")
    verify.add_argument(
        "--receipt", action="append", metavar="FILE", help="the receipt of a deletion (`quire delete --json`): nothing of it may be left"
    )
    verify.add_argument("--json", action="store_true", help="print one JSON document")
    add_settings(verify, *options.HOME)

    gc = add(subparsers, "gc", storage.gc, "collect what nobody needs: pages and uploads without an owner, half-written files, old jobs")
    gc.add_argument("--dry-run", action="store_true", help="say what would go, and touch nothing")
    gc.add_argument("--stale", action="store_true", help="also stores of models that no collection is of")
    gc.add_argument("--jobs-days", type=_days, default=30, metavar="DAYS", help="days that ended jobs are kept; default: %(default)s")
    gc.add_argument("--json", action="store_true", help="print one JSON document")
    add_settings(gc, *options.HOME)

    backup = add(subparsers, "backup", storage.backup, "make a checked copy of the home; a server may go on serving it")
    backup.add_argument("target", metavar="FOLDER", help="a new folder, outside of the home")
    backup.add_argument("--copy", action="store_true", help="copy files that could be linked: on the same disk links take no room")
    backup.add_argument("--json", action="store_true", help="print one JSON document")
    add_settings(backup, *options.HOME)

    restore = add(subparsers, "restore", storage.restore, "make a home of a backup, in a new folder")
    restore.add_argument("source", metavar="FOLDER", help="what `quire backup` made")
    restore.add_argument("--home", required=True, metavar="PATH", help="the new home; it must not be there yet, or be empty")
    restore.add_argument("--json", action="store_true", help="print one JSON document")

    pin = add(subparsers, "pin", storage.pin, "pin a collection: its caches stay when others must go to keep within disk_bytes")
    pin.add_argument("collection")
    pin.add_argument("--off", action="store_true", help="pin it no longer")
    add_settings(pin, *options.HOME)


def _days(text: str) -> int:
    value = int(text)
    if value < 0:
        raise argparse.ArgumentTypeError(f"{text}: a number of days, from 0")
    return value
