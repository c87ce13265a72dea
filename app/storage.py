"""Parsed command-line words go in; what is in a home is checked, collected, copied, pinned or deleted. No model is loaded: none is needed, and one
that cannot be loaded keeps nobody from a deletion."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable
from contextlib import AbstractContextManager
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .errors import BadRequest
from .options import settings_of

if TYPE_CHECKING:
    from ingest.backup import Backup
    from ingest.shelf import BareShelf  # the real ones bring torch with them

# `quire verify` found something.
FINDINGS = 1


def verify(args: argparse.Namespace) -> int:
    """0: clean; 1: findings."""
    from ingest.traces import needles
    from ingest.verify import verify as run_verify

    from . import printed

    with _shelf(args) as shelf:
        try:
            wanted = needles(args.text or (), _keys(args.receipt or (), shelf))
        except ValueError as error:
            raise BadRequest(str(error)) from error
        found = run_verify(shelf, wanted)
    if args.json:
        print(_json(found.as_dict()))
    else:
        if not found.clean:
            print(printed.table(("kind", "where", "what", "cure"), [(one.kind, one.where, one.says, one.cure) for one in found.findings]))
        looked = ", ".join(f"{count:,} {kind}" for kind, count in sorted(found.checked.items()))
        print(f"{'clean' if found.clean else printed.count(len(found.findings), 'finding')}; looked at: {looked or 'nothing'}")
        if found.evicted:
            print(f"{printed.count(found.evicted, 'page image')} without a cache: compiled from the image when a question needs it")
        if found.arriving:
            print(
                f"{printed.count(found.arriving, 'page image')} that no document owns yet: being taken in, or left to `quire gc` within the hour"
            )
    return 0 if found.clean else FINDINGS


def gc(args: argparse.Namespace) -> int:
    from ingest.gc import gc as run_gc

    from . import printed

    with _shelf(args) as shelf:
        done = run_gc(shelf, stale=args.stale, dry=args.dry_run, remembered=args.jobs_days * 86400.0)
    if args.json:
        print(_json(asdict(done)))
        return 0
    verb = "would go" if done.dry else "went"
    rows = f"{printed.count(done.jobs, 'ended job')}, {printed.count(done.requests, 'remembered request')}"
    print("\n".join([*done.files, f"{printed.count(len(done.files), 'file')} ({printed.size(done.bytes)}), {rows} {verb}"]))
    return 0


def backup(args: argparse.Namespace) -> int:
    from ingest.backup import backup as run_backup

    with _shelf(args) as shelf:
        note = run_backup(shelf.home, Path(args.target), args.copy)
    print(_json(asdict(note)) if args.json else f"backed up into {args.target}: {_told(note)}; checked, and whole")
    return 0


def restore(args: argparse.Namespace) -> int:
    from ingest.backup import restore as run_restore

    # Not the settings' home: what is there must not be mixed with what comes.
    note = run_restore(Path(args.source), Path(args.home))
    print(_json(asdict(note)) if args.json else f"restored into {args.home}: {_told(note)}; checked, and whole")
    return 0


def pin(args: argparse.Namespace) -> int:
    with _shelf(args) as shelf:
        row = shelf.catalogue.pin(args.collection, not args.off)
    print(f"{row.name} is pinned: its caches stay when others must go" if row.pinned else f"{row.name} is not pinned")
    return 0


def delete(args: argparse.Namespace) -> int:
    from ingest.remove import Removal, remove_collection, remove_document
    from retrieval.errors import UnknownDocument

    from . import printed, wire

    if (args.document is None) is (args.all_of is None):
        raise BadRequest("name one document, or a whole collection by --all-of COLLECTION")
    with _shelf(args) as shelf:
        removals: tuple[Removal, ...]
        if args.all_of is not None:
            removals = remove_collection(shelf, args.all_of)
        else:
            found = shelf.catalogue.document_named(args.collection, args.document)
            try:
                removals = (remove_document(shelf, found.id if found else args.document),)
            except UnknownDocument:
                raise UnknownDocument(
                    f"no document has the id {args.document!r}, nor that name in collection {args.collection!r}; "
                    "`quire collections` lists the collections, and `quire documents --collection NAME` what is in one"
                ) from None
    if args.json:
        told = [wire.receipt(one.receipt, one.files, one.bytes, one.artefacts, one.left).model_dump() for one in removals]
        print(_json(told if args.all_of is not None else told[0]))
    else:
        print(
            "\n".join(printed.removal(one) for one in removals if one.receipt.document or one.receipt.jobs)
            or f"{args.all_of} is gone; it had no documents"
        )
        for name in (name for one in removals for name in one.left):
            print(f"  not removed yet: {printed.plain(name)}; `quire gc` tries again")
    return 0


def _shelf(args: argparse.Namespace) -> AbstractContextManager[BareShelf]:
    from ingest.shelf import open_shelf

    return open_shelf(settings_of(args).home)


def _keys(receipts: Iterable[str], shelf: BareShelf) -> list[str]:
    """Ids of documents and keys of pages in receipts of deletions, less those that are there again. Raises BadRequest."""
    found: list[str] = []
    for name in receipts:
        try:
            told = json.loads(Path(name).read_text(encoding="utf-8"))
            for one in told.get("documents", [told]) if isinstance(told, dict) else told:
                found += [*filter(None, [one["document"]]), *one["removed_pages"]]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise BadRequest(f"{name}: it is no receipt of a deletion ({error}); give what `quire delete --json` printed") from error
    there = shelf.catalogue.page_keys() | {row.id for of in shelf.catalogue.collections() for row in shelf.catalogue.documents(of.name)}
    return [key for key in dict.fromkeys(found) if key not in there]


def _told(note: Backup) -> str:
    from . import printed

    when = datetime.fromtimestamp(note.at, UTC).strftime("%Y-%m-%d %H:%M UTC")
    pages = f"{printed.count(note.documents, 'document')} on {printed.count(note.pages, 'page')}"
    return f"{pages}, {printed.count(note.files, 'file')}, {printed.size(note.bytes)}, as of {when}"


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=1)
