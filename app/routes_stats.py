"""What the house holds and does comes out by HTTP, in numbers."""

from __future__ import annotations

from fastapi import APIRouter

from . import bodies
from .deps import HouseDep, SettingsDep

router = APIRouter(tags=["house"])


@router.get("/stats", response_model=bodies.Stats, operation_id="get_stats")
def stats(house: HouseDep, settings: SettingsDep) -> bodies.Stats:
    """Documents, bytes, memory, the lines before the model and the ingest, and how fast answers begin. Bytes may be some seconds old."""
    counts, held, metrics = house.catalogue.counts(), house.holdings.now(), house.watch.metrics
    first = metrics.first_token()
    means = {str(dpi): held.mean(dpi) for dpi in sorted({*held.caches, *house.workshop.dpis})}
    return bodies.Stats(
        documents=counts.documents,
        pages=counts.pages,
        chunks=counts.chunks,
        collections=counts.collections,
        bytes=bodies.Bytes(
            caches=dict.fromkeys(house.workshop.dpis, 0) | dict(held.caches),
            images=held.images,
            patches=held.patches,
            index=held.index,
            catalogue=held.catalogue,
            spool=held.spool,
            total=held.total,
        ),
        limit_bytes=settings.disk_bytes,
        evicted_pages=held.evicted,
        ram=bodies.Ram(bytes=house.store.ram.bytes, limit=house.store.ram.limit, hits=house.store.ram.hits, misses=house.store.ram.misses),
        bytes_per_page={**means, "image": held.mean_image},
        queue=bodies.Waiting(waiting=max(0, house.lane.length - 1), limit=house.lane.waiting),
        jobs=bodies.JobCounts(**counts.jobs),
        questions=bodies.Questions(answered=metrics.answered_count, failed=metrics.failed_count),
        first_token=bodies.Quantiles(p50=first[0], p99=first[1]) if first else None,
        uptime=metrics.uptime,
    )
