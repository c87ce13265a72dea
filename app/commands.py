"""Parsed command-line words go in; each command does its work, prints what came of it, and gives an exit code."""

from __future__ import annotations

import argparse
import json
import os
import sys
from contextlib import closing
from dataclasses import asdict
from typing import Any

from .errors import STOPPED, BadRequest, row_named
from .options import overrides, settings_of
from .words import collection_name, question_text

# A run that went through, and in which some file did not.
SOME_FAILED = 1


def ingest(args: argparse.Namespace) -> int:
    from pathlib import Path

    from ingest.pipeline import ingest as run_ingest

    from . import printed
    from .house import House
    from .progress import Bar, stop_on_interrupt

    collection = collection_name(args.collection)
    if "" in args.paths:
        # Python takes it for the current folder: a variable that is not set would take in whatever lies there.
        raise BadRequest("an empty PATH names no file: name one, or say . for the current folder")
    house = House.open(settings_of(args))
    try:
        with stop_on_interrupt() as stopped, Bar() as bar:
            done = run_ingest([Path(path) for path in args.paths], collection, house.workshop, bar.show, stopped, replace=args.replace)
    finally:
        house.close()
    print(_json(asdict(done)) if args.json else printed.report(done))
    if done.cancelled:
        return STOPPED
    # Nothing at all is a mistake too: a script that named the wrong folder should hear of it.
    return 0 if (done.done or done.skipped) and not done.failed else SOME_FAILED


def estimate(args: argparse.Namespace) -> int:
    from .estimate import estimate as run_estimate

    return run_estimate(args)


def ask(args: argparse.Namespace) -> int:
    from cache_compiler.load import EMBEDDED

    from . import printed, wire
    from .ask import answer
    from .house import House
    from .types import Done, Failed, Token

    question = question_text(args.question)
    house = House.open(settings_of(args))
    try:
        # Closed on the way out, whatever the way: an interrupt stops the decoding.
        with closing(answer(house.question(question, args.collection), house)) as walk:  # type: ignore[type-var]
            for event in walk:
                if isinstance(event, Failed):
                    print(f"quire: {event.message}", file=sys.stderr)
                    return row_named(event.type).exit
                if isinstance(event, Token) and not args.json:
                    print(printed.plain(event.text), end="", flush=True)
                if isinstance(event, Done) and args.json:
                    print(wire.answer(event.answer).model_dump_json(indent=1))
                elif isinstance(event, Done):
                    print(f"\n\n{printed.sources(event.answer, args.show_pages)}")
                    if doubt := printed.doubt(event.answer):
                        print(f"\n{doubt}")
        if house.backbone.name in EMBEDDED:
            print(f"quire: {house.backbone.card.says}", file=sys.stderr)
    finally:
        house.close()
    return 0


def chat(args: argparse.Namespace) -> int:
    from .chat import chat as run_chat

    return run_chat(args)


def patch(args: argparse.Namespace) -> int:
    from .patches import patch as run_patch

    return run_patch(args)


def serve(args: argparse.Namespace) -> int:
    from .serve import serve as run_server

    return run_server(settings_of(args))


def documents(args: argparse.Namespace) -> int:
    from . import printed, wire

    with _catalogue(args) as catalogue:
        rows = catalogue.documents(args.collection)
    print(_json([wire.document(row).model_dump() for row in rows]) if args.json else printed.documents(rows))
    return 0


def collections(args: argparse.Namespace) -> int:
    from . import printed

    with _catalogue(args) as catalogue:
        rows = [(row, catalogue.counts(row.name)) for row in catalogue.collections()]
    told = [(row, counts.documents, counts.pages) for row, counts in rows]
    if args.json:
        print(
            _json(
                [
                    {"name": row.name, "documents": documents, "pages": pages, "model": row.model_name, "pinned": row.pinned}
                    for row, documents, pages in told
                ]
            )
        )
    else:
        print(printed.collections(told))
    return 0


def repair(args: argparse.Namespace) -> int:
    from ingest.remove import remove_orphans
    from ingest.repair import repair as run_repair

    from . import printed
    from .house import House
    from .progress import Bar, stop_on_interrupt

    house = House.open(settings_of(args))
    try:
        with stop_on_interrupt() as stopped, Bar() as bar:
            mended = run_repair(house.workshop, args.collection, progress=bar.show, cancelled=stopped)
            orphans = remove_orphans(house.workshop)
    finally:
        house.close()
    pages, patches = printed.count(len(mended.pages), "page image"), _patches(len(mended.patches))
    whole = "" if mended.lost else f"; every cache of {args.collection} is whole"
    print("\n".join([*mended.pages, *map(printed.plain, mended.lost), f"{pages} compiled again, {patches} formed{whole}."]))
    if mended.dropped:
        print(f"{_patches(mended.dropped)} damaged and removed; those that patch_policy asks for are among the formed.")
    if orphans:
        print(f"{printed.count(len(orphans), 'file')} that no document owns removed (of uploads and runs that were stopped).")
    return SOME_FAILED if mended.lost else 0


def key(args: argparse.Namespace) -> int:
    from .keys_command import key as run_key

    return run_key(args)


def config(args: argparse.Namespace) -> int:
    from . import printed
    from .settings import PREFIX
    from .sources import origins, strangers

    if args.act == "check":
        from .check import check as run_check

        return run_check(args)
    settings = settings_of(args)
    sources = origins(settings, overrides(args))
    values = settings.model_dump(mode="json")
    if args.json:
        print(_json({name: {"value": values[name], "from": sources[name]} for name in values}))
    else:
        rows = [(name, "(unset)" if value is None else value, sources[name], PREFIX + name.upper()) for name, value in values.items()]
        print(printed.table(("setting", "value", "from", "variable"), rows))
        print(f"\nsettings file: {settings.file}{'' if settings.file.exists() else ' (not there)'}")
    for name in strangers(os.environ):
        print(f"quire: the environment has {name}, which is no setting", file=sys.stderr)
    return 0


def _catalogue(args: argparse.Namespace) -> Any:
    """The catalogue alone: a list needs no model. Closed at the end of the block."""
    from retrieval.catalogue import Catalogue
    from retrieval.errors import UnknownCollection

    path = settings_of(args).home / "catalogue.sqlite"
    if not path.exists():
        raise UnknownCollection(f"{path.parent}: there is no collection yet; `quire ingest PATH` makes one")
    return closing(Catalogue(path))


def _patches(n: int) -> str:
    return f"{n:,} {'patch' if n == 1 else 'patches'}"


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, indent=1)
