"""Pages that stand one behind the other go in; their patches are formed until every one that is wanted is in the store.

Each patch is a forward of its own, over page images that the image store keeps, and depends on nothing but its key and the caches of its
pages: a run that was killed and started again ends in the same bytes. A page is encoded once for all patches that follow one another.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

from cache_compiler.condition import Deficit, condition, deficit
from cache_compiler.errors import CacheMiss, RankTooHigh
from cache_compiler.form import cut, cut_pooled, orbit_deficit
from cache_compiler.patch import Kind, Patch, PatchKey
from cache_compiler.types import Encoded
from renderer.types import Page, image_key
from retrieval.errors import UnknownPage
from retrieval.types import Chunk, PageRef

from .errors import Cancelled
from .policy import Wanted, adjacent
from .reading import encode_kept
from .workshop import Workshop

Step = Callable[[int, int], None]

# Encoded pages that are kept: enough for a page and the few it is given.
_ENCODED = 16


def pages_of(chunks: Iterable[Chunk]) -> list[PageRef]:
    """A document's pages in reading order; one that stands twice comes twice."""
    return [page for piece in chunks for page in piece.pages]


def policy_keys(workshop: Workshop, pages: Sequence[PageRef]) -> list[PatchKey]:
    """What the policy forms when a document comes in."""
    if workshop.policy.word == "off":
        return []
    return adjacent_keys(workshop, pages, workshop.policy.rank)


def adjacent_keys(
    workshop: Workshop, pages: Sequence[PageRef], rank: int | None, first_layer: int = 1, capped: bool = True
) -> list[PatchKey]:
    """Each page given the one before it, at every pair of DPIs. `rank` as `keys_for` takes it."""
    wanted = adjacent([page.key for page in pages], common_dpis(workshop, pages))
    return keys_for(workshop, pages, wanted, rank, "exact", first_layer, capped)


def keys_for(
    workshop: Workshop,
    pages: Sequence[PageRef],
    wanted: Iterable[Wanted],
    rank: int | None,
    kind: Kind = "exact",
    first_layer: int = 1,
    capped: bool = True,
) -> list[PatchKey]:
    """The keys of wanted patches. `rank` None: the most that each page can have; `capped`: that is also what a page gets that can have less.

    Raises RankTooHigh, before anything is formed, where a page cannot have as much and it is not capped.
    """
    rows = {image_key(page.key, dpi): count for page in pages for dpi, count in page.rows.items()}
    keys = []
    for want in wanted:
        most = most_rank(workshop, rows[want.page])
        if rank is not None and rank > most and not capped:
            raise RankTooHigh(
                f"{want.page}: rank {rank} is above {most}, the most a page of {rows[want.page]} rows can have with this model; "
                "give a lower rank, or 'full'",
                key=want.page,
            )
        keys.append(PatchKey(want.page, want.given, kind, most if rank is None else min(rank, most), first_layer))
    return keys


def most_rank(workshop: Workshop, rows: int) -> int:
    """The most components that the Delta of a page of so many rows can have, keys or values (`cache_compiler.form.cut` has the same bound)."""
    backbone = workshop.backbone
    return max(min(rows, heads * width) for heads, width in (backbone.rotary_shape, backbone.plain_shape))


def common_dpis(workshop: Workshop, pages: Sequence[PageRef]) -> list[int]:
    """The workshop's DPIs that all of these pages were laid out at."""
    return [dpi for dpi in workshop.dpis if all(dpi in page.rows for page in pages)]


def form(
    workshop: Workshop, keys: Sequence[PatchKey], step: Step, cancelled: Callable[[], bool], laid: Iterable[Page] | None = None
) -> tuple[PatchKey, ...]:
    """Form every patch that is not there yet; returns the keys of those. As `formed`, in one go."""
    return tuple(formed(workshop, keys, step, cancelled, laid))


def formed(
    workshop: Workshop, keys: Sequence[PatchKey], step: Step, cancelled: Callable[[], bool], laid: Iterable[Page] | None = None
) -> Iterator[PatchKey]:
    """Form, one by one, every patch that is not there yet. Its pages belong to documents in the catalogue, and a patch is only kept while
    they do; or they are those of a document that is on its way there, `laid` out.

    A patch whose pages a deletion takes meanwhile is left out. Raises the rooms' errors; Cancelled between two patches.
    """
    committed = laid is None
    encodings = Encodings(workshop, laid or ())
    for number, key in enumerate(keys):
        if cancelled():
            raise Cancelled("stopped on request; the patches that were formed are kept, run it again to go on")
        if not workshop.store.patches.has(key):
            try:
                patch = make(workshop, key, encodings)
            except (CacheMiss, UnknownPage):
                if committed and owned(workshop, key.pages):
                    raise  # nobody deleted it: the store is not what the catalogue says
            else:
                if keep(workshop, patch, committed):
                    yield key
        step(number + 1, len(keys))


def make(workshop: Workshop, key: PatchKey, encodings: Encodings) -> Patch:
    """The patch that a key names, from the caches and the images of its pages.

    Raises:
        CacheMiss, UnknownPage: a page, or the basis, is not there (any more).
        PatchMismatch: a page's image is not what its cache was compiled from.
    """
    canonical = workshop.store.get(key.page).canonical
    delta = delta_of(workshop, key, encodings)
    if key.basis is not None:
        return cut_pooled(delta, key.given, canonical, workshop.store.patches.get_basis(key.basis)[0], kind=key.kind)
    return cut(delta, key.given, canonical, key.rank, kind=key.kind, first_layer=key.first_layer)


def delta_of(workshop: Workshop, key: PatchKey, encodings: Encodings) -> Deficit:
    """Delta of a key's page, all layers. Raises as `make` does."""
    canonical = workshop.store.get(key.page).canonical
    backbone, prefix = workshop.backbone, workshop.prefix
    if key.kind == "orbit":
        return orbit_deficit(backbone, prefix, [encodings(page) for page in key.given], encodings(key.page), canonical)
    # The first page stands right behind the prefix, where its cache is exact: it costs no forward.
    first = workshop.store.get(key.given[0]).canonical
    return deficit(condition(backbone, prefix, [*map(encodings, key.given[1:]), encodings(key.page)], first=first)[-1], canonical)


def keep(workshop: Workshop, patch: Patch, committed: bool = True) -> bool:
    """Put a patch into the store, unless a deletion has taken one of its pages since it was begun: then nothing of it may stay.

    The writer's lock is held over both, for a deletion holds it too.
    """
    with workshop.home.writing():
        if committed and not owned(workshop, patch.key.pages):
            return False
        if not all(workshop.store.has(page) for page in patch.key.pages):
            return False
        workshop.store.patches.put(patch)
    return True


def owned(workshop: Workshop, pages: Iterable[str]) -> bool:
    """Whether a document of the catalogue owns each of these page images."""
    try:
        for page in pages:
            workshop.catalogue.page(page.partition("@")[0])
    except UnknownPage:
        return False
    return True


def drop_damaged(workshop: Workshop, pages: Iterable[str], among: Collection[PatchKey] | None = None) -> int:
    """Remove the patch files of these page images that are not sound, or are another model's, so that they can be formed again; returns how
    many. `among`: read no others than these; a file that cannot even say what it is goes in any case."""
    store, dropped = workshop.store.patches, 0
    for page in pages:
        listing = store.files.listing(page)
        read = [key for key in listing.keys if among is None or key in among]
        for name in [*listing.damaged, *(key.digest for key in read if not store.sound(key))]:
            with workshop.home.writing():
                dropped += store.remove_named(page, name) > 0
    return dropped


class Encodings:
    """Image keys go in; encoded pages come out, the last few of them without another pass of the vision encoder.

    `laid`: pages of a document that is not in the catalogue yet.
    """

    def __init__(self, workshop: Workshop, laid: Iterable[Page] = ()) -> None:
        self.workshop = workshop
        self._laid = {page.key: page for page in laid}
        self._kept: OrderedDict[str, Encoded] = OrderedDict()

    def __call__(self, key: str) -> Encoded:
        """Raises UnknownPage when the page is not there."""
        if key not in self._kept:
            self._kept[key] = encode_kept(self.workshop, key, self._laid)
            while len(self._kept) > _ENCODED:
                self._kept.popitem(last=False)
        self._kept.move_to_end(key)
        return self._kept[key]
