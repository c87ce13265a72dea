"""Pages that answers were read from go in, in context order; orbit patches come out for those that stand together often.

Forming a patch costs a forward that every later use saves: from about 9 uses on it pays (Kamera, section 6). One orbit patch then serves
every order of the set (Kamera, section 5).
"""

from __future__ import annotations

import logging
import queue
import threading
from collections import OrderedDict
from collections.abc import Callable, Generator, Sequence
from contextlib import AbstractContextManager
from typing import cast

from cache_compiler.errors import CacheMiss
from cache_compiler.form import cut, orbit_means
from cache_compiler.patch import Patch, PatchKey
from retrieval.errors import UnknownPage

from .patching import Encodings, keep, most_rank, owned
from .policy import Wanted
from .workshop import Workshop

log = logging.getLogger("quire.patches")

Turn = Callable[[], AbstractContextManager[object]]

# Sets that are counted at a time, and patches that wait to be formed; a page is given so many others at most.
_COUNTED, _WAITING, _LARGEST = 4096, 64, 16
# Seconds until a patch that is begun asks for the model again.
_PAUSE = 0.1


class Together:
    """How often a page has stood behind a set of others, whatever their order. The sets seen longest ago are forgotten. Not thread-safe."""

    def __init__(self, after: int, keep: int = _COUNTED) -> None:
        self.after, self.keep = after, keep
        self._counts: OrderedDict[Wanted, int] = OrderedDict()

    def saw(self, pages: Sequence[str]) -> list[Wanted]:
        """Count a context's pages; returns those whose count has just reached `after`, `given` sorted."""
        reached = []
        for number, page in enumerate(pages[: _LARGEST + 1]):
            before = frozenset(pages[:number])
            if not before or page in before or len(before) < number:
                continue  # the leading page; or one that stands twice: an order of it would be no order of a set
            wanted = Wanted(page, tuple(sorted(before)))
            count = self._counts.pop(wanted, 0) + 1
            self._counts[wanted] = count
            if count == self.after:
                reached.append(wanted)
        while len(self._counts) > self.keep:
            self._counts.popitem(last=False)
        return reached

    def again(self, wanted: Wanted) -> None:
        """It could not be formed: the next time that the pages stand together counts as the one that reaches `after`."""
        if wanted in self._counts:
            self._counts[wanted] = min(self._counts[wanted], self.after - 1)


def form_orbit(workshop: Workshop, page: str, given: Sequence[str]) -> PatchKey | None:
    """Form the orbit patch of a page given a set, image keys all; None where there is nothing to do, or a deletion took one of them.

    Of one page there is one order: an exact patch of the same rank that is there already is the very same. Raises the rooms' errors.
    """
    steps = orbit_steps(workshop, page, given)
    while True:
        try:
            next(steps)
        except StopIteration as end:
            patch = cast(Patch | None, end.value)
            return patch.key if patch is not None and keep(workshop, patch) else None


def orbit_steps(workshop: Workshop, page: str, given: Sequence[str]) -> Generator[None, None, Patch | None]:
    """The patch itself, in steps of one forward each at most, so that the model can be let go in between. It is not kept yet: that may
    wait for another writer, and nobody should wait for the model meanwhile."""
    pages = [page, *given]
    if not owned(workshop, pages):
        return None
    encodings = Encodings(workshop)
    try:
        encoded = encodings(page)
        key = PatchKey(page, tuple(given), "orbit", min(workshop.policy.rank, most_rank(workshop, encoded.length)))
        same = [key, PatchKey(page, tuple(given), "exact", key.rank)] if len(given) == 1 else [key]
        if any(map(workshop.store.patches.has, same)):
            return None
        canonical = workshop.store.get(page).canonical
        delta = None
        for mean in orbit_means(workshop.backbone, workshop.prefix, [encodings(other) for other in key.given], encoded, canonical):
            delta = mean
            yield
    except (CacheMiss, UnknownPage):
        if owned(workshop, pages):
            raise  # nobody deleted it: the store is not what the catalogue says
        return None
    assert delta is not None
    return cut(delta, key.given, canonical, key.rank, kind="orbit")


class PatchWorker:
    """Forms what the policy `hot` wants, in the background, one forward a turn. Under another policy it does nothing.

    `turn()` gives the model for one forward, as a context manager. It may yield False for "not now": a patch that is begun waits, and one
    that is not is wanted again the next time its pages stand together; so is one that fails. Nothing that goes wrong here reaches an
    answer: it is logged.
    """

    def __init__(self, workshop: Workshop, turn: Turn) -> None:
        self.workshop, self.turn = workshop, turn
        self._together = Together(workshop.policy.hot_after)
        self._lock = threading.Lock()
        self._wanted: queue.Queue[Wanted] = queue.Queue(_WAITING)
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        if self.workshop.policy.word == "hot" and self._thread is None:
            self._thread = threading.Thread(target=self._work, name="quire-patches", daemon=True)
            self._thread.start()

    def note(self, pages: Sequence[str]) -> None:
        """An answer was read from these page images, in this order. Returns at once."""
        if self._thread is None:
            return
        with self._lock:
            reached = self._together.saw(pages)
        for wanted in reached:
            try:
                self._wanted.put_nowait(wanted)
            except queue.Full:
                self._again(wanted)

    def drain(self) -> None:
        """Wait until everything that was noted has been formed, or could not be."""
        self._wanted.join()

    def close(self, timeout: float = 30.0) -> None:
        """Stop behind the forward in hand; the patch that it was for, and those that wait, are left."""
        self._stopping.set()
        if self._thread is not None:
            self._thread.join(timeout)
            self._thread = None

    def _work(self) -> None:
        while not self._stopping.is_set():
            try:
                wanted = self._wanted.get(timeout=0.2)
            except queue.Empty:
                continue
            try:
                self._form(wanted)
            except Exception:
                # Whatever it was, people are answered without this patch.
                log.exception("no patch of %s given %d pages", wanted.page, len(wanted.given))
                self._again(wanted)
            finally:
                self._wanted.task_done()

    def _form(self, wanted: Wanted) -> None:
        steps, begun = orbit_steps(self.workshop, wanted.page, wanted.given), False
        while not self._stopping.is_set():
            ended: StopIteration | None = None
            with self.turn() as ours:
                if ours is not False:
                    begun = True
                    try:
                        next(steps)
                    except StopIteration as end:
                        ended = end
            if ended is not None:
                patch = cast(Patch | None, ended.value)
                if patch is not None and keep(self.workshop, patch):
                    log.info("formed %s of %s", patch.key, wanted.page)
                return
            if not begun:
                self._again(wanted)
                return
            if ours is False:
                self._stopping.wait(_PAUSE)

    def _again(self, wanted: Wanted) -> None:
        with self._lock:
            self._together.again(wanted)
