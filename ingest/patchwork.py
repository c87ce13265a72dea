"""A collection goes in; its patches come out: formed in any of the kinds that there are, counted, or dropped."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from cache_compiler.errors import CacheMiss, CorruptPatch, IdentityMismatch
from cache_compiler.form import deepest, pool
from cache_compiler.patch import PatchKey
from cache_compiler.patch_files import PatchFiles
from retrieval.types import PageRef

from .errors import Cancelled, HomeBusy
from .home import Home
from .patching import Encodings, adjacent_keys, common_dpis, delta_of, drop_damaged, formed, keys_for, owned, pages_of
from .policy import neighbours
from .types import Progress
from .workshop import Workshop

Sort = Literal["exact", "orbit", "deep", "pooled"]

# Deltas that a basis is pooled from, spread evenly over the collection. All at once in memory; and a basis goes when a page of its own goes.
_POOLED = 24


@dataclass(frozen=True)
class Want:
    """What to form. `rank` None: the most a page can have; `capped`: that is also what a page gets that can have less.

    `together`, for orbits alone: of every so many neighbouring pages each is given the others. A page given one other has only one order:
    there an orbit patch is the exact one, so it takes 3 or more.
    """

    sort: Sort = "exact"
    rank: int | None = 32
    capped: bool = True
    together: int = 3


@dataclass(frozen=True)
class Formed:
    """How many patches were formed now, and how many of those wanted were there already; `stopped`: on request, before the end."""

    formed: int
    there: int
    stopped: bool = False


@dataclass(frozen=True)
class Tally:
    """Patches of one kind and rank: how many, their bytes on disk, and those as a share of the bytes of the collection's page caches."""

    sort: str
    rank: int
    patches: int
    bytes: int
    share: float


def form_collection(
    workshop: Workshop,
    collection: str,
    want: Want,
    progress: Callable[[Progress], None] = lambda _: None,
    cancelled: Callable[[], bool] = lambda: False,
) -> Formed:
    """Form what is missing, document by document; run it again to go on after a stop.

    Raises RankTooHigh before anything is formed, and the rooms' errors.
    """
    workshop.collection(collection)
    documents = {row.name: pages_of(workshop.catalogue.chunks_of(row.id)) for row in workshop.catalogue.documents(collection)}
    made = wanted = 0
    try:
        keys = _keys(workshop, documents, want, _step(progress, collection), cancelled)
        wanted = len({key for of_document in keys.values() for key in of_document})
        for name, of_document in keys.items():
            # What is damaged is there, and would stay: the message that names it names this command.
            drop_damaged(workshop, {key.page for key in of_document}, among=set(of_document))
            for _ in formed(workshop, of_document, _step(progress, name), cancelled):
                made += 1
    except Cancelled:
        return Formed(made, 0, stopped=True)
    return Formed(made, wanted - made)


def tallies(files: PatchFiles, pages: Iterable[str], kv_bytes: int) -> list[Tally]:
    """Of these page images (`collection_pages`): patches by kind and rank, and the bases that theirs stand over."""
    count: Counter[tuple[str, int]] = Counter()
    size: Counter[tuple[str, int]] = Counter()
    bases = set()
    for page in pages:
        for key in files.listing(page).keys:
            try:
                taken = files.path(page, key.digest).stat().st_size
            except FileNotFoundError:
                continue  # removed since it was listed
            row = (sort_of(key), key.rank)
            count[row] += 1
            size[row] += taken
            if key.basis:
                bases.add((key.basis, key.rank))
    for name, rank in bases:
        if (path := files.basis_path(name)).exists():
            count["basis", rank] += 1
            size["basis", rank] += path.stat().st_size
    return [Tally(*row, count[row], size[row], size[row] / kv_bytes if kv_bytes else 0.0) for row in sorted(count)]


def drop(home: Home, files: PatchFiles, pages: Sequence[str], sort: Sort | None = None) -> tuple[int, int]:
    """Remove the patches of these page images, all or of one kind, and then the bases over which none stands: (patches, bytes).

    A page that another collection owns too loses them there as well: a patch belongs to pages, not to collections.
    """
    gone, before = [], {path.stem for path in files.bases()}
    with home.writing():
        for page in pages:
            listing = files.listing(page)
            names = [key.digest for key in listing.keys if sort in (None, sort_of(key))]
            for name in [*names, *(listing.damaged if sort is None else ())]:
                gone += files.remove_patch(page, name)
        patches = len(gone)
        for name in sorted(before - _in_use(files)) if sort in (None, "pooled") else ():
            gone += files.remove_basis(name)
    return patches, sum(size for _, size in gone)


def sort_of(key: PatchKey) -> str:
    """The kind a person asks for: pooled, deep, or the key's own."""
    return "pooled" if key.basis else "deep" if key.first_layer > 1 and key.kind == "exact" else key.kind


def collection_pages(files: PatchFiles, page_keys: set[str]) -> list[str]:
    """The page images with patches, of a collection's page keys."""
    return [key for key in files.pages() if key.partition("@")[0] in page_keys]


def _keys(
    workshop: Workshop,
    documents: dict[str, list[PageRef]],
    want: Want,
    step: Callable[[int, int], None],
    cancelled: Callable[[], bool],
) -> dict[str, list[PatchKey]]:
    if want.sort == "orbit":
        return {
            name: keys_for(
                workshop,
                pages,
                neighbours([page.key for page in pages], common_dpis(workshop, pages), want.together),
                want.rank,
                "orbit",
                capped=want.capped,
            )
            for name, pages in documents.items()
        }
    first = deepest(workshop.backbone.layers) if want.sort == "deep" else 1
    keys = {name: adjacent_keys(workshop, pages, want.rank, first, want.capped) for name, pages in documents.items()}
    if want.sort != "pooled" or not any(keys.values()):
        return keys
    everything = [key for of_document in keys.values() for key in of_document]
    # One rank for all: the coefficients of a page with few rows are as many as those of one with many.
    rank = max(key.rank for key in everything)
    name = _basis(workshop, everything, rank, step, cancelled)
    return {name_: [PatchKey(key.page, key.given, "exact", rank, 1, name) for key in of] for name_, of in keys.items()}


def _basis(workshop: Workshop, keys: list[PatchKey], rank: int, step: Callable[[int, int], None], cancelled: Callable[[], bool]) -> str:
    """The digest of a basis over these patches' Deltas: one that is there and was pooled over pages of this collection alone, or a new one."""
    store = workshop.store.patches
    own = {page for key in keys for page in key.pages}
    for path in store.files.bases():
        try:
            basis, pages = store.get_basis(path.stem)
        except (CacheMiss, CorruptPatch, IdentityMismatch):
            with workshop.home.writing():
                store.remove_basis(path.stem)
            continue
        if basis.rank == rank and basis.first_layer == 1 and set(pages) <= own:
            return path.stem
    sample = [keys[number * len(keys) // min(_POOLED, len(keys))] for number in range(min(_POOLED, len(keys)))]
    encodings, deltas = Encodings(workshop), []
    for number, key in enumerate(sample):
        if cancelled():
            raise Cancelled("stopped on request, before there was a basis; run it again")
        deltas.append(delta_of(workshop, key, encodings))
        step(number + 1, len(sample))
    basis, over = pool(deltas, rank), {page for key in sample for page in key.pages}
    with workshop.home.writing():
        if not owned(workshop, over):  # the basis would say something of a page that is gone
            raise HomeBusy("a document was deleted while the basis was pooled over its pages; run the same command again")
        store.put_basis(basis, over)
    return basis.digest


def _step(progress: Callable[[Progress], None], name: str) -> Callable[[int, int], None]:
    return lambda done, total: progress(Progress(name, "patch", done, total))


def _in_use(files: PatchFiles) -> set[str]:
    return {key.basis for page in files.pages() for key in files.listing(page).keys if key.basis}
