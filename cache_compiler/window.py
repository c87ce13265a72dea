"""Pages are admitted, evicted, reordered and recalled; a context for the next question comes out: a deque of placed pages in one slab.

Kamera, section 5 (reorder, sliding-window survival, recall) and appendix E (clean view, forks, the disposability test):

    survivors    keep their conditioning and are relocated by rotation alone
    a recall     is a canonical with a patch for the pages that stand before it now: a patch frozen at eviction goes stale
    a fork       shares pages and slab until one of the two changes

No operation runs the model, but `disposable`. One that raises leaves the window as it was. One thread at a time.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from copy import copy

from .backbone import Backbone
from .disposable import Disposable, toggled
from .errors import NotInWindow, WindowClosed, WindowError
from .patch import Patch
from .placed import Placed, Slab, lay_out
from .prefix import Prefix
from .step import Choose, Fetch, Removal, Step
from .survivors import Entry, entries_of, knows, outgoing, require_admissible, serves, without
from .types import Assembly, Canonical, Segment

# Evicted pages that can be recalled; their patches stay in memory for it.
_REMEMBERED = 64


class Window:
    """A deque of placed pages under a budget of bytes of page KV. The canonicals stay where they are, and are only read."""

    def __init__(
        self, backbone: Backbone, prefix: Prefix, budget: int, choose: Choose = lambda key, given: None, fetch: Fetch | None = None
    ) -> None:
        """`choose` finds a page's patch for the pages before it; `fetch` brings a canonical back for `recall`."""
        self.backbone, self.prefix, self.budget = backbone, prefix, budget
        self._choose, self._fetch = choose, fetch
        self._slab: Slab | None = Slab.behind(backbone, prefix)
        self._placed: tuple[Placed, ...] = ()
        self._evicted: dict[str, Patch | None] = {}  # the patch that each one held

    # -- what stands in it ---------------------------------------------------------------------------------------------

    @property
    def keys(self) -> tuple[str, ...]:
        return tuple(item.page.key for item in self._open())

    @property
    def pages(self) -> tuple[Canonical, ...]:
        return tuple(item.page for item in self._open())

    @property
    def patches(self) -> tuple[Patch | None, ...]:
        return tuple(item.patch for item in self._open())

    @property
    def segments(self) -> tuple[Segment, ...]:
        return tuple(item.segment for item in self._open())

    @property
    def bytes(self) -> int:
        return sum(page.bytes for page in self.pages)

    @property
    def evicted(self) -> tuple[str, ...]:
        """Keys that `recall` takes, in the order in which they left."""
        return tuple(self._evicted if self._open() is not None else ())

    def assembly(self, room: int = 0) -> Assembly:
        """The context for a question, with `room` rows to spare. What an earlier question has written behind the pages is forgotten."""
        begun, placed = time.perf_counter(), self._open()
        self._take(self._owned().roomy(placed, room))
        slab = self._owned()
        slab.truncate(placed)
        end = placed[-1].segment.anchor.end if placed else self.prefix.length
        return Assembly(slab.cache, self.segments, slab.cache.rows, end, {"place": time.perf_counter() - begun})

    # -- operations ----------------------------------------------------------------------------------------------------

    def admit(self, page: Canonical, at: int | None = None) -> Step:
        """Put a page at the right, or before the page that is `at` now. Pages behind it keep their conditioning and move on.

        Raises:
            WindowTooSmall: it does not fit, alone or beside the others: `slide` makes room.
            ContextTooLong: more positions than the model has.
            WindowError: it is there already.
        """
        return self._insert("admit", page, at, None)

    def recall(self, key: str, at: int | None = None) -> Step:
        """Bring an evicted page back from its canonical, with a patch for the pages that are before it now.

        The patch that it held serves only where it was conditioned on these very pages (Kamera, section 5: replayed behind others
        it does harm). Raises NotInWindow for a page that was never evicted, and what `admit` and `fetch` raise.
        """
        self._open()
        if key not in self._evicted:
            raise NotInWindow(f"{key} was not evicted from this window: admit it")
        if self._fetch is None:
            raise WindowError(f"{key} cannot be recalled: the window was opened without `fetch`; admit its canonical")
        return self._insert("recall", self._fetch(key), at, self._evicted[key])

    def evict(self, *keys: str, removal: Removal | None = None) -> Step:
        """Take pages out; those behind them keep their conditioning, and are relocated.

        `removal` gives a survivor what it has to lose (Kamera, section 5: worth its while on DeepStack models).
        Raises NotInWindow.
        """
        begun, placed = time.perf_counter(), self._open()
        for key in keys:
            self._at(key)
        return self._arrange("evict", without(placed, keys, removal), begun)

    def slide(self, page: Canonical, removal: Removal | None = None) -> Step:
        """Evict from the left until the page fits, in bytes and in positions; then admit it at the right.

        Raises WindowTooSmall when the page alone is above the budget, ContextTooLong when alone it has too many positions."""
        begun, placed = time.perf_counter(), self._open()
        require_admissible(page, self.pages, (), self.budget)
        gone = outgoing(self.pages, page, self.budget, self.backbone.max_positions - self.prefix.length)
        kept = without(placed, self.keys[:gone], removal)
        return self._arrange("slide", [*kept, (page, self._chosen(page.key, kept))], begun)

    def reorder(self, keys: Sequence[str]) -> Step:
        """Bring the pages into another order. A page with other pages before it than it had gets the patch that is chosen for them, or
        keeps an orbit patch of the same set; where there is neither it is left without, and `Step.bare` names it.
        Raises NotInWindow, and WindowError where a page of the window is missing or comes twice."""
        begun, placed = time.perf_counter(), self._open()
        wanted = [placed[self._at(key)] for key in keys]
        if len(wanted) != len(placed):
            raise WindowError(f"{len(placed)} pages stand in the window, the new order has {len(wanted)}: evict what is to leave")
        order: list[Entry] = []
        for item in wanted:
            now, before = tuple(page.key for page, _ in order), self.keys[: self._at(item.page.key)]
            held = item.patch if now == before or serves(item.patch, now) else None
            order.append((item.page, item.patch if now == before else self._chosen(item.page.key, order) or held))
        return self._arrange("reorder", order, begun)

    def clean_view(self, key: str) -> Step:
        """Show a page as if it stood alone: its canonical's values are copied, its keys rotated, nothing is added (Kamera, appendix E)."""
        return self._patch("clean_view", key, None, time.perf_counter())

    def recondition(self, key: str, patch: Patch | None = None) -> Step:
        """Give a page a patch: this one, or the one that is chosen for the pages before it. Raises NotInWindow, PatchMismatch."""
        begun = time.perf_counter()
        return self._patch("recondition", key, patch or self._chosen(key, entries_of(self._placed[: self._at(key)])), begun)

    def disposable(self, question: Sequence[int], key: str, max_tokens: int = 24) -> Disposable:
        """Would the answer be the same if no page had absorbed anything from `key`? The page itself stays to be read, and the window
        as it was. Raises NotInWindow."""
        self._at(key)
        context = self.assembly(room=len(question) + max_tokens)
        dependents = [item for item in self._placed if key in item.given]
        return toggled(self.backbone, context, self._owned(), dependents, question, max_tokens)

    def fork(self) -> Window:
        """Another window over the same pages; it costs nothing until one of the two changes, or is asked: that one then copies the slab."""
        self._owned().owners += 1
        branch = copy(self)
        branch._evicted = dict(self._evicted)
        return branch

    def forget(self, *keys: str) -> Step:
        """Leave nothing of pages whose document is gone: they stand here no more and cannot be recalled, and a page that was conditioned
        on one gets what is chosen for the pages before it now. Keys that are not known are passed over."""
        begun, kept = time.perf_counter(), list[Entry]()
        for item in self._open():
            if item.page.key not in keys:
                kept.append((item.page, self._chosen(item.page.key, kept) if knows(item.patch, keys) else item.patch))
        step = self._arrange("forget", kept, begun)
        self._evicted = {key: None if knows(patch, keys) else patch for key, patch in self._evicted.items() if key not in keys}
        self._owned().blank(self._placed)
        return step

    def close(self) -> None:
        """Let the pages go; every later use raises WindowClosed. Closing twice is no error."""
        if self._slab is not None:
            self._slab.owners -= 1
        self._slab, self._placed, self._evicted = None, (), {}

    # -- how -----------------------------------------------------------------------------------------------------------

    def _open(self) -> tuple[Placed, ...]:
        if self._slab is None:
            raise WindowClosed("the window is closed, and what it held is gone: open another")
        return self._placed

    def _owned(self) -> Slab:
        self._open()
        assert self._slab is not None
        return self._slab

    def _at(self, key: str) -> int:
        try:
            return self.keys.index(key)
        except ValueError:
            raise NotInWindow(f"{key} does not stand in the window; these do: {', '.join(self.keys) or 'none'}") from None

    def _chosen(self, key: str, before: Sequence[Entry]) -> Patch | None:
        # The first page stands where it was compiled: there is nothing to add.
        return self._choose(key, tuple(page.key for page, _ in before)) if before else None

    def _insert(self, operation: str, page: Canonical, at: int | None, held: Patch | None) -> Step:
        begun, placed = time.perf_counter(), self._open()
        require_admissible(page, self.pages, self.pages, self.budget)
        entries = entries_of(placed)
        at = len(entries) if at is None else at
        before = entries[:at]
        exact = held is not None and held.key.kind == "exact" and serves(held, tuple(item.key for item, _ in before))
        entries[at:at] = [(page, held if exact else self._chosen(page.key, before))]
        return self._arrange(operation, entries, begun)

    def _patch(self, operation: str, key: str, patch: Patch | None, begun: float) -> Step:
        at = self._at(key)
        return self._arrange(operation, [(item.page, patch if i == at else item.patch) for i, item in enumerate(self._placed)], begun)

    def _arrange(self, operation: str, entries: Sequence[Entry], begun: float) -> Step:
        """Everything that can be refused is refused before the first row is written; `Slab.rearranged` answers for the rest."""
        old, slab = self._open(), self._owned()
        new = lay_out(self.backbone, self.prefix.length, entries)
        if slab.owners == 1:
            slab.truncate(old)
        after, written = slab.rearranged(old, new)
        before = {item.page.key: item for item in old}
        self._take(after)
        self._placed = new
        gone = [item for item in old if item.page.key not in self.keys]
        evicted = {key: patch for key, patch in self._evicted.items() if key not in self.keys}
        self._evicted = dict([*evicted.items(), *((item.page.key, item.patch) for item in gone)][-_REMEMBERED:])
        changed = [item for item in new if (was := before.get(item.page.key)) is None or was.patch is not item.patch]
        return Step(
            operation,
            written.moved,
            written.rows,
            sum(item.patch is not None for item in changed),
            written.anew,
            sum(item.page.bytes for item in gone),
            time.perf_counter() - begun,
            dropped=tuple(item.page.key for item in gone),
            bare=tuple(item.page.key for item in changed if item.patch is None and item is not new[0]),
        )

    def _take(self, slab: Slab) -> None:
        """A slab of one's own in place of one that was shared or too small."""
        if slab is not self._slab and self._slab is not None:
            self._slab.owners -= 1
        self._slab = slab
