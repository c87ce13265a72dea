"""A house goes in; how it stands at this moment comes out at every scrape: lines, jobs, memory, bytes on the disk."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

if TYPE_CHECKING:
    from cache_compiler.ram import RamLayer

    from .house import House  # the real one brings torch with it


class Gauges(Collector):
    """Looked up when asked for, so nothing is counted twice; bytes on the disk may be some seconds old (`holdings.py`)."""

    def __init__(self, house: House) -> None:
        self._house = house

    def collect(self) -> Iterable[Metric]:
        house = self._house
        counts, held = house.catalogue.counts(), house.holdings.now()
        yield GaugeMetricFamily("quire_lane_length", "Questions at the model, those that wait included.", house.lane.length)
        yield GaugeMetricFamily("quire_lane_limit", "Questions that may wait.", house.lane.waiting)
        yield _by("quire_jobs", "Jobs of ingest.", "state", counts.jobs)
        yield _by(
            "quire_holdings",
            "What the catalogue knows.",
            "kind",
            {
                "documents": counts.documents,
                "pages": counts.pages,
                "chunks": counts.chunks,
                "collections": counts.collections,
                "conversations": len(house.conversations),
                "pages without a cache": held.evicted,
            },
        )
        kinds = {f"caches at {dpi}": size for dpi, size in sorted(held.caches.items())}
        for kind in ("images", "patches", "index", "catalogue", "spool", "total"):
            kinds[kind] = getattr(held, kind)
        yield _by("quire_disk_bytes", "Bytes of the home on the disk.", "kind", kinds)
        yield GaugeMetricFamily(
            "quire_disk_free_bytes", "Bytes free on the disk of the home.", shutil.disk_usage(house.workshop.home.root).free
        )
        yield from self._memory()

    def _memory(self) -> Iterator[Metric]:
        layers: dict[str, RamLayer[Any]] = {"caches": self._house.store.ram, "patches": self._house.store.patches.ram}
        yield _by("quire_ram_bytes", "Memory of what was read lately.", "kind", {name: ram.bytes for name, ram in layers.items()})
        yield _by("quire_ram_limit_bytes", "Memory that this may take.", "kind", {name: ram.limit for name, ram in layers.items()})
        looked = CounterMetricFamily("quire_ram_lookups", "Lookups in memory.", labels=["kind", "found"])
        for name, ram in layers.items():
            looked.add_metric([name, "yes"], ram.hits)
            looked.add_metric([name, "no"], ram.misses)
        yield looked


def _by(name: str, says: str, label: str, values: Mapping[str, float]) -> Metric:
    family = GaugeMetricFamily(name, says, labels=[label])
    for key, value in values.items():
        family.add_metric([key], value)
    return family
