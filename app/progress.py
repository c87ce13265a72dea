"""A run's `Progress` goes in; a bar on the terminal comes out, and Ctrl-C becomes a request to stop at the next safe place."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from tqdm import tqdm

from ingest.types import Progress

from .interrupt import stop_asked
from .printed import plain


class Bar:
    """One bar for the file and stage in hand, on stderr; silent where that is no terminal."""

    def __init__(self) -> None:
        self._bar: Any = tqdm(
            disable=not sys.stderr.isatty(), file=sys.stderr, leave=False, bar_format="{desc} {bar:24} {n_fmt}/{total_fmt}", total=1
        )

    def __enter__(self) -> Bar:
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.close()

    def show(self, at: Progress) -> None:
        """Show where the run stands; a file that is finished leaves a line."""
        if self._bar.disable:
            return
        name = plain(at.name)
        if at.stage in ("done", "skipped", "failed"):
            self._bar.write(f"{at.stage:8}{name}", file=sys.stderr)
            return
        self._bar.total = at.total or 1
        self._bar.n = at.done
        self._bar.set_description_str(f"{name[-40:]}: {at.stage:9}", refresh=False)
        self._bar.refresh()


@contextmanager
def stop_on_interrupt() -> Iterator[Callable[[], bool]]:
    """While open, the first Ctrl-C sets the flag that is yielded, so that nothing is left half done; the second one interrupts at once."""
    with stop_asked("\nquire: stopping after this batch; Ctrl-C again stops at once") as asked:
        yield asked.is_set
