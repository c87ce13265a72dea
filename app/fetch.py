"""Image keys go in; their caches come out, from memory, from disk, or compiled anew where there is no sound one."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass

from cache_compiler.errors import CacheMiss, CorruptCache
from cache_compiler.types import Canonical
from ingest.reading import compile_stored

from .stock import Stock
from .types import Tier

log = logging.getLogger("quire.ask")


@dataclass(frozen=True)
class Had:
    """A canonical, the tier it came from, the bytes that were read for it, and what an answer should say of it ("": nothing)."""

    canonical: Canonical
    tier: Tier
    bytes_read: int
    note: str = ""


class Fetch:
    """The caches of one context. While it is open none of them is evicted to make room."""

    def __init__(self, house: Stock) -> None:
        self._house = house
        self._keys: tuple[str, ...] = ()
        self._lost: dict[str, str] = {}
        self.found: dict[str, Had] = {}

    def look(self, keys: Sequence[str]) -> tuple[str, ...]:
        """Fetch those that are there; returns those that must be compiled: evicted to make room, or not the bytes that were written."""
        self.close()
        self._keys, self.found, self._lost = tuple(keys), {}, {}
        self._house.keeper.plan(self._keys)
        for key in dict.fromkeys(keys):
            try:
                fetched = self._house.store.get(key)
            except CacheMiss:
                self._lost[key] = ""
            except CorruptCache as error:
                log.warning("a cache is compiled again: %s", error)
                self._lost[key] = "its cache was damaged and was compiled again"
            else:
                self.found[key] = Had(fetched.canonical, fetched.tier, fetched.bytes_read)
        return tuple(self._lost)

    def compile(self) -> None:
        """Compile the lost ones from what the home keeps of their pages; they are put back into the store behind the answer.

        Raises UnknownPage where not even that is there, or can be read.
        """
        for key, note in self._lost.items():
            # One by one: what is done before an error is kept.
            (canonical,) = compile_stored(self._house.workshop, [key])
            self.found[key] = Had(canonical, "compiled", 0, note)
            self._house.keeper.put_back(canonical, damaged=bool(note))
        self._lost = {}

    def close(self) -> None:
        """The answer is there: its pages were used now, and may go again."""
        self._house.keeper.release(self._keys)
        self._keys = ()
