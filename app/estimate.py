"""`quire estimate`: what was typed goes in; what a corpus would take comes out, before anything is compiled, and whether the disk has room for it.

The work is done over a folder that is empty and goes at the end: nothing is written to the home, which need not even be there.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import printed
from .errors import STOPPED, BadRequest
from .options import settings_of
from .words import collection_name

if TYPE_CHECKING:
    from ingest.estimate import Estimate
    from ingest.spread import Amount
    from ingest.survey import Standing
    from ingest.workshop import Workshop

    from .settings import Settings

# As ingest ends: some file failed, or there was none.
_NOT_ALL = 1


def estimate(args: argparse.Namespace) -> int:
    """Read, draw, compile a sample, and print the forecast. Raises the rooms' errors."""
    from ingest.errors import Cancelled
    from ingest.estimate import Sample
    from ingest.estimate import estimate as run_estimate

    from .progress import Bar, stop_on_interrupt

    if args.collection is not None:
        collection_name(args.collection)
    if "" in args.paths:
        raise BadRequest("an empty PATH names no file: name one, or say . for the current folder")
    settings = settings_of(args)
    sample = Sample(files=args.files, sheets=args.sheets, pages=args.pages)
    paths = [Path(path) for path in args.paths]
    with _empty_workshop(settings) as workshop, _standing(settings, workshop, args.collection) as standing:
        try:
            with stop_on_interrupt() as stopped, Bar() as bar:
                found = run_estimate(paths, workshop, sample, bar.show, stopped, standing, args.replace)
        except Cancelled:
            print("quire: stopped; nothing was kept", file=sys.stderr)
            return STOPPED
    if args.collection is not None and standing is None:
        print(f"quire: {settings.home} has no collection {args.collection!r} yet: all of it is left to do", file=sys.stderr)
    free = _free(settings.home)
    print(as_json(found, free) if args.json else told(found, free))
    return 0 if (found.files or found.skipped) and not found.failed else _NOT_ALL


def told(found: Estimate, free: int) -> str:
    """The forecast as a person reads it: a row for each amount with its range, what was measured, the room there is, what failed."""
    parts = [printed.table(("", "amount", "from", "to"), _rows(found))] if found.files else []
    if found.files:
        parts.append(
            f"\nDrawn: {printed.count(found.sheets, 'page')} of {found.drawn:,} of {printed.count(found.files, 'file')}. Compiled: "
            f"{printed.count(found.compiled, 'page')} at each DPI; formed: {found.formed:,} patches. Where there is a range, it is told from "
            "that sample: two standard deviations, and of time the lowest and the highest speed seen. Writing to the disk is not in the time."
        )
        parts.append(_room(found, free))
    parts += [f"failed  {_line(item.reason)} ({item.kind})" for item in found.failed]
    counts = f"{printed.count(found.files, 'file')} would go in, {len(found.skipped)} there already, {len(found.failed)} failed"
    parts.append(counts + (f", {len(found.passed)} passed over (kinds that are not read)." if found.passed else "."))
    return "\n".join(parts)


def as_json(found: Estimate, free: int) -> str:
    """The same as one JSON document; sizes in bytes, times in seconds."""
    disk = {"free": free, "needed": asdict(found.bytes), "fits": found.bytes.high <= free}
    return json.dumps({**asdict(found), "time": asdict(found.time), "disk": disk}, ensure_ascii=False, indent=1)


def _rows(found: Estimate) -> Iterator[tuple[str, str, str, str]]:
    yield _row("chunks", found.chunks, _number)
    yield _row("pages", found.pages, _number)
    for dpi, amount in found.rows.items():
        yield _row(f"tokens at {dpi} DPI", amount, _number)
    for dpi, amount in found.caches.items():
        yield _row(f"caches at {dpi} DPI", amount, printed.size)
    yield _row("patches", found.patches, _number)
    yield _row("patches on disk", found.patch_bytes, printed.size)
    for dpi, amount in found.images.items():
        yield _row(f"images at {dpi} DPI", amount, printed.size)
    yield _row("vectors", found.vectors, printed.size)
    yield _row("all on disk", found.bytes, printed.size)
    for step, amount in found.seconds.items():
        yield _row(f"minutes to {step}", amount, _minutes)
    yield _row("minutes in all", found.time, _minutes)


def _row(name: str, amount: Amount, shown: Any) -> tuple[str, str, str, str]:
    return (name, shown(amount.value), "", "") if amount.exact else (name, shown(amount.value), shown(amount.low), shown(amount.high))


def _number(value: float) -> str:
    return f"{value:,.0f}"


def _minutes(seconds: float) -> str:
    """To two places where a minute is much, to none where it is little."""
    minutes = seconds / 60
    return f"{minutes:.2f}" if minutes < 1 else f"{minutes:.1f}" if minutes < 100 else f"{minutes:,.0f}"


def _room(found: Estimate, free: int) -> str:
    """What the disk has, with a warning where that is not enough."""
    have = f"Free on the disk of the home: {printed.size(free)}."
    if found.bytes.value > free:
        return f"{have} WARNING: it will not fit; make room, or give another --home."
    return f"{have} WARNING: it may not fit." if found.bytes.high > free else have


def _line(text: str) -> str:
    return printed.plain(text).replace("\n", " ")


def _free(home: Path) -> int:
    """Bytes free where the home is, or would be made."""
    place = home.resolve()
    while not place.exists():
        place = place.parent
    return shutil.disk_usage(place).free


@contextmanager
def _empty_workshop(settings: Settings) -> Iterator[Workshop]:
    """All that ingest works with, over a folder of nothing."""
    import tempfile

    from cache_compiler.load import load_backbone
    from ingest.home import Home
    from ingest.opening import open_workshop
    from retrieval.embedder import load_embedder

    from .gate import admitted

    with tempfile.TemporaryDirectory(prefix="quire-estimate-") as folder:
        home = Home(Path(folder))
        memo = settings.home / home.weights_memo.name
        if memo.exists():
            # The digest of large weights takes a while, and may be known.
            shutil.copyfile(memo, home.weights_memo)
        workshop = open_workshop(
            home,
            load_backbone(settings.model, dtype=settings.dtype),
            load_embedder(settings.embedder),
            style=settings.style,
            dpis=(settings.low, settings.high) if settings.low != settings.high else (settings.low,),
            batch=settings.batch,
            limits=settings.limits(),
            policy=settings.policy(),
            pdf_engine=settings.pdf_engine,
            ocr=settings.ocr,
        )
        try:
            admitted(settings, workshop.identity, settings.home / home.store_root.name / workshop.store.folder.name)
            yield workshop
        finally:
            workshop.close()


@contextmanager
def _standing(settings: Settings, workshop: Workshop, collection: str | None) -> Iterator[Standing | None]:
    """The home that is there, to be read; None without such a collection. Raises IdentityMismatch and EmbedderMismatch as ingest does."""
    from cache_compiler.store import CacheStore
    from ingest.home import Home
    from ingest.images import ImageStore
    from ingest.survey import Standing
    from retrieval.catalogue import Catalogue
    from retrieval.errors import UnknownCollection

    if collection is None or not (settings.home / "catalogue.sqlite").exists():
        yield None
        return
    home = Home(settings.home)
    there = replace(workshop, home=home, images=ImageStore(home.images_root), catalogue=Catalogue(home.catalogue_path))
    try:
        try:
            there.collection(collection)
        except UnknownCollection:
            yield None
            return
        if (home.store_root / workshop.store.folder.name / "identity.json").exists():
            there.store = CacheStore(home.store_root, workshop.identity)  # where there is none, to open one would make it
        yield Standing(there, collection)
    finally:
        there.close()
