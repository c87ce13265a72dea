"""Names go in, one for each request; whether it may pass comes out, or the seconds until it may. A bounded number of names is remembered."""

from __future__ import annotations

import ipaddress
import threading
import time
from collections import OrderedDict
from collections.abc import Callable

# Names remembered at a time; beyond it the one that was seen longest ago goes, whose bucket is most likely full again.
KEPT = 10_000


class Buckets:
    """A token bucket for each name: it holds `burst` and is filled at `rate` a minute. A `rate` of 0 lets everything pass. Thread-safe."""

    def __init__(self, rate: float, burst: float | None = None, clock: Callable[[], float] = time.monotonic, kept: int = KEPT) -> None:
        self.rate, self.burst, self.kept = rate, burst or max(1.0, rate), kept
        self._clock = clock
        self._levels: OrderedDict[str, tuple[float, float]] = OrderedDict()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._levels)

    def take(self, name: str) -> float:
        """Take one; 0.0 where there was one, else the seconds until there is, and nothing is taken."""
        return self._look(name, 1.0)

    def wait(self, name: str) -> float:
        """The seconds until there is one to take; nothing is taken."""
        return self._look(name, 0.0)

    def _look(self, name: str, cost: float) -> float:
        if not self.rate:
            return 0.0
        with self._lock:
            now = self._clock()
            level, then = self._levels.pop(name, (self.burst, now))
            level = min(self.burst, level + (now - then) * self.rate / 60)
            short = level < 1.0
            level -= 0.0 if short else cost
            if level < self.burst:  # a full bucket need not be remembered
                self._levels[name] = (level, now)
            while len(self._levels) > self.kept:
                self._levels.popitem(last=False)
        return (1.0 - level) * 60 / self.rate if short else 0.0


class Recent:
    """The last `kept` pairs that were noted; no more."""

    def __init__(self, kept: int = KEPT) -> None:
        self.kept = kept
        self._noted: OrderedDict[tuple[str, str], None] = OrderedDict()

    def __contains__(self, pair: tuple[str, str]) -> bool:
        return pair in self._noted

    def note(self, pair: tuple[str, str]) -> None:
        self._noted[pair] = None
        self._noted.move_to_end(pair)
        while len(self._noted) > self.kept:
            self._noted.popitem(last=False)


def neighbourhood(address: str) -> str:
    """An IPv4 address as it is; of IPv6 the /64, for one person commands all of that."""
    try:
        parsed = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address[:64]
    if isinstance(parsed, ipaddress.IPv6Address):
        if parsed.ipv4_mapped is not None:
            return str(parsed.ipv4_mapped)
        return str(ipaddress.ip_network((parsed, 64), strict=False))
    return str(parsed)
