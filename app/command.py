"""Command-line words go in; an exit code comes out. No traceback reaches a person, unless QUIRE_DEBUG=1 asks for it.

To read the settings and the table of errors takes a good part of a second, and a person may interrupt it: they are imported inside `main`.
"""

from __future__ import annotations

import argparse
import io
import os
import sys
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from .interrupt import interrupted, leaving, remembered

Subparsers = Any  # argparse keeps the name of its class to itself
# `app.errors.STOPPED`, before that can be imported.
INTERRUPTED = 130
_STOPPED = "\nquire: stopped\n"


def build_parser() -> tuple[argparse.ArgumentParser, Subparsers]:
    """The parser and its subparsers, so that other rooms may add commands: each sets `run`, a function from arguments to an exit code."""
    from . import commands, options
    from .options import add_settings
    from .storage_words import add_storage

    parser = argparse.ArgumentParser(
        prog="quire",
        description="Answers questions about documents from page images whose KV caches were compiled beforehand.",
        epilog="Settings: command line, then environment (QUIRE_*), then quire.toml in the home, then defaults. `quire config` shows them.",
    )
    parser.add_argument("--version", action=_Version, help="say which version this is, and end")
    subparsers = parser.add_subparsers(metavar="COMMAND", required=True)

    ingest = _add(subparsers, "ingest", commands.ingest, "take files and folders into a collection; run it again to go on after a stop")
    ingest.add_argument("paths", nargs="+", metavar="PATH", help="files, or folders with everything in them")
    ingest.add_argument("--collection", default="default", help="default: default")
    ingest.add_argument("--replace", action="store_true", help="a file takes the place of another one of its name")
    ingest.add_argument("--json", action="store_true", help="print the report as one JSON document")
    add_settings(ingest, *options.HOME, *options.MODEL, *options.INGEST, *options.PATCH)

    estimate = _add(subparsers, "estimate", commands.estimate, "say, before any compile, what taking files in would cost in room and time")
    estimate.add_argument("paths", nargs="+", metavar="PATH", help="files, or folders with everything in them")
    estimate.add_argument("--collection", help="a collection they would go into: what it has already is left out")
    estimate.add_argument("--replace", action="store_true", help="as with ingest: a file takes the place of another one of its name")
    estimate.add_argument(
        "--files", type=positive, default=200, help="files that are laid out: the largest, and as many of all sizes; default: %(default)s"
    )
    estimate.add_argument("--sheets", type=positive, default=2000, help="pages that are drawn, over all of them; default: %(default)s")
    estimate.add_argument("--pages", type=positive, default=8, help="pages compiled at each DPI, in whole batches; default: %(default)s")
    estimate.add_argument("--json", action="store_true", help="print one JSON document")
    add_settings(estimate, *options.HOME, *options.MODEL, *options.INGEST, "patch_policy", "patch_rank")

    ask = _add(subparsers, "ask", commands.ask, "ask a question of a collection")
    ask.add_argument("question")
    ask.add_argument("--collection", default="default", help="default: default")
    ask.add_argument("--show-pages", action="store_true", help="print the marked lines of the pages, too")
    ask.add_argument("--json", action="store_true", help="print the whole answer as one JSON document")
    add_settings(ask, *options.HOME, *options.MODEL, *options.ASK)

    chat = _add(
        subparsers, "chat", commands.chat, "ask on and on: the pages of earlier questions stay where they are while they are needed"
    )
    chat.add_argument("--collection", default="default", help="default: default")
    chat.add_argument("--show-pages", action="store_true", help="print the marked lines of the pages, too")
    add_settings(chat, *options.HOME, *options.MODEL, *options.ASK, *options.CHAT, *options.PATCH)

    serve = _add(subparsers, "serve", commands.serve, "serve the page and the HTTP interface")
    add_settings(serve, *options.HOME, *options.SERVE, *options.MODEL, *options.ASK, *options.CHAT, *options.INGEST, *options.PATCH)

    documents = _add(subparsers, "documents", commands.documents, "list a collection's documents")
    documents.add_argument("--collection", default="default", help="default: default")
    documents.add_argument("--json", action="store_true", help="print one JSON document")
    add_settings(documents, *options.HOME)

    collections = _add(subparsers, "collections", commands.collections, "list the collections")
    collections.add_argument("--json", action="store_true", help="print one JSON document")
    add_settings(collections, *options.HOME)

    add_storage(_add, subparsers)

    repair = _add(subparsers, "repair", commands.repair, "check every cache of a collection, and compile again what is damaged or missing")
    repair.add_argument("--collection", default="default", help="default: default")
    add_settings(repair, *options.HOME, *options.MODEL, "batch", "patch_policy", "patch_rank")

    patch = _add(
        subparsers, "patch", commands.patch, "form, list or drop a collection's patches: what its pages take from pages before them"
    )
    patch.add_argument("act", choices=["form", "list", "drop"], help="form what is missing; list what there is; drop it, or one kind of it")
    patch.add_argument("--collection", default="default", help="default: default")
    patch.add_argument(
        "--kind",
        choices=["exact", "orbit", "deep", "pooled"],
        help="exact: one order of the pages before (form's default); orbit: every order of a set, needs --together; "
        "deep: the deepest half of the layers; pooled: over a basis that the collection's pages share",
    )
    patch.add_argument("--rank", metavar="N|full", help="rank of the patches to form; default: patch_rank")
    patch.add_argument("--together", type=int, metavar="K", help="with --kind orbit: neighbouring pages that share patches, 3 or more")
    patch.add_argument("--json", action="store_true", help="print one JSON document")
    add_settings(patch, *options.HOME, *options.MODEL, "batch", "patch_rank")

    key = _add(subparsers, "key", commands.key, "make, list or revoke API keys; once there is one, the server asks for keys")
    key.add_argument("act", choices=["create", "list", "revoke"])
    key.add_argument("which", nargs="?", metavar="ID|NAME", help="revoke: the key")
    key.add_argument("--name", help="create: whose it is, or what for")
    key.add_argument("--scopes", default="read,ask", help="create: read, ask and write, separated by commas; default: %(default)s")
    key.add_argument("--expires", type=positive, metavar="DAYS", help="create: days that it is good for; default: for good")
    key.add_argument("--json", action="store_true", help="print one JSON document")
    add_settings(key, *options.HOME)

    config = _add(subparsers, "config", commands.config, "show the settings and where each came from, or check them and all they need")
    config.add_argument("act", nargs="?", choices=["show", "check"], default="show", help="check: name every problem; default: %(default)s")
    config.add_argument("--json", action="store_true", help="print one JSON document")
    add_settings(config, *options.HOME, *options.MODEL, *options.ASK, *options.CHAT, *options.SERVE, *options.INGEST, *options.PATCH)
    return parser, subparsers


def _add(subparsers: Subparsers, name: str, run: Callable[[argparse.Namespace], int], says: str) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = subparsers.add_parser(name, help=says, description=says[0].upper() + says[1:] + ".")
    parser.set_defaults(run=run)
    return parser


class _Version(argparse.Action):
    """Looks the version up only when somebody asks for it."""

    def __init__(self, option_strings: Sequence[str], dest: str, help: str | None = None) -> None:  # noqa: A002
        super().__init__(option_strings, dest=argparse.SUPPRESS, default=argparse.SUPPRESS, nargs=0, help=help)

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        print(f"quire {version()}")
        parser.exit()


def version() -> str:
    """The checkout's own word where this runs from one, for what was installed may be older; else the package's."""
    import tomllib
    from importlib import metadata

    project = Path(__file__).resolve().parent.parent / "pyproject.toml"
    if project.exists():
        return str(tomllib.loads(project.read_text(encoding="utf-8"))["project"]["version"])
    return metadata.version("quire")


def positive(text: str) -> int:
    """A whole number from 1, for argparse."""
    if not (text.isdecimal() and int(text) > 0):
        raise argparse.ArgumentTypeError(f"{text}: a whole number from 1")
    return int(text)


def interruptible(work: Callable[[], int]) -> int:
    """Do the work that stands before a command: imports and parsing. Ctrl-C ends it with a line and 130, on the spot."""

    with leaving(_STOPPED, INTERRUPTED):
        return work()


def run(args: argparse.Namespace) -> int:
    """Run a parsed command. A known error becomes one line on stderr and its exit code from the table in `app.errors`."""
    for name in ("HF_HUB_OFFLINE", "HF_HUB_DISABLE_PROGRESS_BARS"):
        # Before transformers is imported, which reads them once: nothing is fetched, and its bars would stand between the answer's words.
        os.environ.setdefault(name, "1")
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A file's name that is no Unicode, or a terminal that knows few letters, must not cost a person the whole report.
            stream.reconfigure(errors="backslashreplace")
    with remembered():
        return _run(args)


def _run(args: argparse.Namespace) -> int:
    from .errors import UNKNOWN, known, row_of

    try:
        code: int = args.run(args)
        sys.stdout.flush()
        return code
    except BrokenPipeError:
        # The reader of our output has seen enough (`quire documents | head`): that is no error, but nothing more can be printed.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        print(_STOPPED, end="", file=sys.stderr)
        return INTERRUPTED
    except Exception as error:
        if interrupted():
            print(_STOPPED, end="", file=sys.stderr)
            return INTERRUPTED
        if os.environ.get("QUIRE_DEBUG") == "1":
            traceback.print_exc()
        found = known(error)
        if found is None and isinstance(error, OSError):
            print(f"quire: {error.filename or 'the system'}: {error.strerror or error}", file=sys.stderr)
            return UNKNOWN.exit
        if found is None:
            print(f"quire: internal error ({type(error).__name__}); QUIRE_DEBUG=1 shows where", file=sys.stderr)
            return UNKNOWN.exit
        print(f"quire: {found}", file=sys.stderr)
        return row_of(found).exit


def main(argv: Sequence[str] | None = None) -> int:
    """Parse and run; argparse itself ends with 2 on words it does not know."""
    return interruptible(lambda: run(build_parser()[0].parse_args(argv)))
