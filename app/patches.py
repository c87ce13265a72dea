"""`quire patch`: what was typed goes in; a collection's patches are formed, listed or dropped, and what came of it is printed."""

from __future__ import annotations

import argparse
import json
from contextlib import closing
from dataclasses import asdict
from typing import Any

from . import printed
from .errors import STOPPED, BadRequest
from .options import settings_of
from .words import collection_name


def patch(args: argparse.Namespace) -> int:
    """Run `form`, `list` or `drop`. Raises BadRequest for words that do not fit together, and the rooms' errors."""
    collection_name(args.collection)
    _check(args)
    return {"form": _form, "list": _list, "drop": _drop}[args.act](args)


def _check(args: argparse.Namespace) -> None:
    if args.act != "form" and args.rank is not None:
        raise BadRequest("--rank says what to form: leave it out of list and drop", {"rank": "for form alone"})
    if args.act == "list" and args.kind is not None:
        raise BadRequest("list shows all kinds: leave --kind out", {"kind": "for form and drop alone"})
    if args.together is not None and (args.act, args.kind) != ("form", "orbit"):
        raise BadRequest("--together goes with `form --kind orbit` alone", {"together": "for orbits alone"})
    if (args.act, args.kind) == ("form", "orbit"):
        if args.together is None:
            raise BadRequest(
                "--kind orbit needs --together K: how many neighbouring pages share patches, 3 or more", {"together": "missing"}
            )
        if args.together < 3:
            raise BadRequest(
                f"--together {args.together}: a page given one other has only one order, and --kind exact forms that; give 3 or more",
                {"together": "3 or more"},
            )


def _rank(said: str | None, default: int) -> tuple[int | None, bool]:
    """(rank, whether a page that can have less gets what it can): only a rank that somebody asked for is an error where it cannot be had."""
    if said is None:
        return default, True
    if said == "full":
        return None, True
    # No rank has more digits, and Python reads no number of thousands of them.
    if not (said.isascii() and said.isdigit() and len(said) <= 9 and int(said) > 0):
        raise BadRequest(f"--rank {said[:20]}: give a whole number from 1 on, or 'full'", {"rank": said[:20]})
    return int(said), False


def _form(args: argparse.Namespace) -> int:
    from ingest.patchwork import Want, form_collection

    from .house import House
    from .progress import Bar, stop_on_interrupt

    settings = settings_of(args)
    rank, capped = _rank(args.rank, settings.patch_rank)
    want = Want(args.kind or "exact", rank, capped, args.together or 3)
    house = House.open(settings)
    try:
        with stop_on_interrupt() as stopped, Bar() as bar:
            done = form_collection(house.workshop, args.collection, want, bar.show, stopped)
    finally:
        house.close()
    if args.json:
        print(_json(asdict(done)))
    elif done.stopped:
        print(f"Stopped: {_count(done.formed)} formed and kept. Run the same command again to go on.")
    else:
        print(f"{_count(done.formed)} formed, {done.there:,} there already; collection {args.collection}.")
    return STOPPED if done.stopped else 0


def _list(args: argparse.Namespace) -> int:
    from ingest.patchwork import collection_pages, tallies

    _, files, page_keys = _place(args)
    caches = (files.folder.parent / "caches").glob("??/*.safetensors")
    kv = sum(path.stat().st_size for path in caches if path.name.partition("@")[0] in page_keys)
    rows = tallies(files, collection_pages(files, page_keys), kv)
    if args.json:
        print(_json([asdict(row) for row in rows]))
    elif not rows:
        print(f"Collection {args.collection} has no patches; `quire patch form` forms them.")
    else:
        cells = [(row.sort, row.rank, f"{row.patches:,}", printed.size(row.bytes), f"{100 * row.share:.1f} %") for row in rows]
        print(printed.table(("kind", "rank", "patches", "size", "of the pages' KV"), cells))
    return 0


def _drop(args: argparse.Namespace) -> int:
    from ingest.patchwork import collection_pages, drop

    home, files, page_keys = _place(args)
    patches, size = drop(home, files, collection_pages(files, page_keys), args.kind)
    if args.json:
        print(_json({"patches": patches, "bytes": size}))
    else:
        print(f"{_count(patches)} dropped, {printed.size(size)} freed; collection {args.collection}.")
    return 0


def _place(args: argparse.Namespace) -> tuple[Any, Any, set[str]]:
    """The home, the patch files of the collection's own model, and its page keys: to list and to drop needs no model."""
    from cache_compiler.identity import Identity
    from cache_compiler.patch_files import PatchFiles
    from ingest.home import Home
    from retrieval.catalogue import Catalogue
    from retrieval.errors import UnknownCollection

    root = settings_of(args).home
    if not (root / "catalogue.sqlite").exists():
        raise UnknownCollection(f"{root}: there is no collection yet; `quire ingest PATH` makes one")
    home = Home(root)
    with closing(Catalogue(home.catalogue_path)) as catalogue:
        identity = Identity.from_mapping(catalogue.collection(args.collection).identity)
        page_keys = catalogue.page_keys(args.collection)
    return home, PatchFiles(home.store_root / identity.fingerprint[:16] / "patches"), page_keys


def _count(n: int) -> str:
    return f"{n:,} {'patch' if n == 1 else 'patches'}"


def _json(value: object) -> str:
    return json.dumps(value, indent=1)
