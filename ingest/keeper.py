"""What questions read goes in, as they read it; behind them the home is kept in order: uses noted, caches put back, the limit held, and
nothing remembered of what was deleted, by whichever process."""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable

from cache_compiler.errors import StoreUnwritable
from cache_compiler.types import Canonical
from retrieval.errors import RetrievalError

from .errors import HomeBusy
from .evict import evict
from .patching import owned
from .remove import SMALL
from .types import Evicted
from .workshop import Workshop

log = logging.getLogger("quire.keeper")

# Seconds between two rounds; and between two notes of what was read, each of which is a commit.
ROUND, NOTE, HOUR = 1.0, 10.0, 3600.0
# Caches that wait to be put back; a further one is compiled again when it is needed again.
_WAITING = 32


class Keeper:
    """One for a house. `forget()` lets go of what conversations and indexes in memory have of deleted documents, and says whether it got
    through: while the model is taken it cannot, and is asked again every round. `told` hears what was evicted, for uploads too."""

    def __init__(
        self, workshop: Workshop, forget: Callable[[], bool] = lambda: True, told: Callable[[Evicted], object] = lambda _: None
    ) -> None:
        self.workshop, self.forget = workshop, forget
        self._lock = threading.Lock()
        self._round = threading.Lock()
        self._planned: Counter[str] = Counter()
        self._used: dict[str, float] = {}
        self._back: dict[str, tuple[Canonical, bool]] = {}
        self._noted = self._rewritten = time.monotonic()
        self._forgetting = False
        self._seen = workshop.catalogue.generation()
        # The first round looks: an earlier process may have left more than the limit.
        self._look = True
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None
        # Uploads make room too.
        workshop.planned, workshop.evicted = lambda: self.planned, told

    # -- what a question says ----------------------------------------------------------------------------------------

    @property
    def planned(self) -> frozenset[str]:
        """Image keys that running questions have planned: their caches are not evicted."""
        with self._lock:
            return frozenset(self._planned)

    def plan(self, keys: Iterable[str]) -> None:
        """A question will read these page images."""
        with self._lock:
            self._planned.update(keys)

    def release(self, keys: Iterable[str]) -> None:
        """It has read them, or will not any more. Give the same keys as to `plan`, once."""
        now = time.time()
        with self._lock:
            for key in keys:
                self._used[key] = now
                self._planned[key] -= 1
                if self._planned[key] <= 0:
                    del self._planned[key]

    def put_back(self, canonical: Canonical, damaged: bool = False) -> None:
        """A cache that a question had compiled, to be stored behind it; `damaged`: in the place of a file that is not sound."""
        with self._lock:
            if len(self._back) < _WAITING:
                self._back[canonical.key] = (canonical, damaged)

    # -- a life ------------------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Keep in the background. A command that lives for one question need not: `close` does what is left."""
        self._thread = threading.Thread(target=self._work, name="quire-keeper", daemon=True)
        self._thread.start()

    def close(self, timeout: float = 30.0) -> None:
        """Stop, and note and put back what is left."""
        self._stopping.set()
        if self._thread is not None:
            self._thread.join(timeout)
            self._thread = None
        self._guarded(last=True)

    def round(self, last: bool = False) -> None:
        """One round, by hand: everything that is due. Raises the rooms' errors."""
        with self._round:
            generation = self.workshop.catalogue.generation()
            changed, self._seen = generation != self._seen, generation
            if changed:
                self.workshop.store.ram.keep_only(self.workshop.store.has)
                self._forgetting = True
            if self._forgetting and not last:
                self._forgetting = not self.forget()
            self._rewrite()
            if self.workshop.catalogue.log_left:
                self.workshop.catalogue.empty_log()
            put = self._put_back()
            if last or time.monotonic() - self._noted >= NOTE:
                self._note()
            limit = self.workshop.disk_bytes
            if limit is not None and (changed or put or self._look):
                self._look = False
                evict(self.workshop, limit, self.planned)

    def _work(self) -> None:
        while not self._stopping.wait(ROUND):
            self._guarded()

    def _guarded(self, last: bool = False) -> None:
        try:
            self.round(last)
        except HomeBusy as error:
            log.info("left to the next round: %s", error)
            self._look = True
        except Exception:
            # Whatever it was, people are answered without this round; a thread that ended here would be missed in weeks.
            log.exception("the home could not be kept in order; the next round tries again")
            self._look = True

    # -- a round's parts ---------------------------------------------------------------------------------------------

    def _rewrite(self) -> None:
        """What a replacing upload, or another process, has worn; a large catalogue once an hour, for writers wait meanwhile."""
        due = time.monotonic() - self._rewritten >= HOUR
        if self.workshop.catalogue.worn and self.workshop.catalogue.rewrite(None if due else SMALL):
            self._rewritten = time.monotonic()
            self.workshop.catalogue.empty_log()

    def _note(self) -> None:
        with self._lock:
            used, self._used = self._used, {}
        self._noted = time.monotonic()
        try:
            if used:
                self.workshop.catalogue.note_uses(used)
        except RetrievalError:
            with self._lock:
                self._used = used | self._used
            raise

    def _put_back(self) -> int:
        """Store what was compiled for questions, unless a deletion has taken the page since: then nothing of it may stay."""
        put, store = 0, self.workshop.store
        while True:
            with self._lock:
                if not self._back:
                    return put
                key, (canonical, damaged) = self._back.popitem()
            try:
                with self.workshop.home.writing():
                    if not owned(self.workshop, [key]):
                        continue
                    if damaged:
                        store.remove(key)
                    store.put(canonical)
                    put += 1
            except HomeBusy:
                with self._lock:
                    self._back.setdefault(key, (canonical, damaged))
                raise
            except StoreUnwritable as error:
                # The answer did not need the disk. It is compiled again, and people are told, until there is room.
                log.warning("a cache was not put back: %s", error)
