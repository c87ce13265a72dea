"""A workshop and its lane go in; what an answer was spared comes out: what prefilling its pages anew would have taken on this machine.

One stored page is prefilled some times, when nobody waits for the model and nothing is being compiled; from its pace the rest is reckoned.
"""

from __future__ import annotations

import logging
import threading
import time
from typing import TYPE_CHECKING

from renderer.types import image_key

from .lane import Lane
from .types import FullPrefill

if TYPE_CHECKING:
    from ingest.workshop import Workshop  # the real one brings torch with it

# Seconds between two looks whether the model is idle; runs of which the fastest counts, and seconds after which no further one is made.
LOOK, RUNS, LONG = 0.5, 6, 2.0
# Seconds between two looks at most, where no page is there.
LONGEST = 30.0
log = logging.getLogger("quire.spared")


class Spared:
    """The pace of full prefill, measured in a thread of its own once somebody wants it."""

    def __init__(self, workshop: Workshop, lane: Lane) -> None:
        self._workshop, self._lane = workshop, lane
        self._measured: tuple[int, float] | None = None  # rows and seconds of one page
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()

    def wanted(self) -> None:
        """Measure, as soon as the house holds a page and nobody is kept waiting by it. Returns at once."""
        with self._lock:
            if self._thread is None and not self._stopping.is_set():
                self._thread = threading.Thread(target=self._wait, name="quire-spared", daemon=True)
                self._thread.start()

    def of(self, rows: int) -> FullPrefill | None:
        """What so many rows of pages would have taken; None before it is measured. Longer contexts take longer a row than one page does."""
        if self._measured is None:
            return None
        measured, seconds = self._measured
        basis = f"the pace of one page of {measured:,} rows, encoded and prefilled in {seconds:.3g} s while the model was idle"
        return FullPrefill(rows / measured * seconds, basis)

    def close(self) -> None:
        self._stopping.set()
        if self._thread is not None:
            self._thread.join()

    def _wait(self) -> None:
        tried: set[str] = set()
        pause = LOOK
        while not self._stopping.wait(pause):
            # To look for a page is to go through all of them: where none can be had, it is done less and less often.
            pause = min(2 * pause, LONGEST)
            try:
                key = self._page(tried)
                if key is not None:
                    with self._lane.spare() as ours:
                        if ours:
                            tried.add(key)
                            self._measured = _prefill(self._workshop, key)
                            return
                    pause = LOOK
            except Exception:
                # A page that cannot be read must not take the house with it: another one is tried.
                log.warning("the pace of full prefill could not be measured on a page; another one is tried", exc_info=True)

    def _page(self, tried: set[str]) -> str | None:
        """A page image of the loaded model, while nothing is being compiled."""
        catalogue, ours = self._workshop.catalogue, self._workshop.identity.as_mapping()
        if catalogue.counts().jobs["running"]:
            return None
        dpi = max(self._workshop.dpis)
        for row in catalogue.collections():
            if row.identity == ours:
                keys = (image_key(page, dpi) for page in sorted(catalogue.page_keys(row.name)))
                if (found := next((key for key in keys if key not in tried), None)) is not None:
                    return found
        return None


def _prefill(workshop: Workshop, key: str) -> tuple[int, float]:
    """(rows, seconds) of one page behind the prefix, encoding included: the fastest of some runs, for "at least" must hold on a busy machine too."""
    from cache_compiler.prefill import prefill_encoded
    from ingest.reading import encode_kept

    rows, least, spent = 0, float("inf"), 0.0
    for _ in range(RUNS):
        begun = time.perf_counter()
        rows = prefill_encoded(workshop.backbone, [encode_kept(workshop, key, {})]).length
        seconds = time.perf_counter() - begun
        least, spent = min(least, seconds), spent + seconds
        if spent > LONG:
            break
    return rows, least
