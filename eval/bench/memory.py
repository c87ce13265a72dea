"""An open house goes in; what its pages take on disk comes out, page for page and DPI for DPI, and what the process takes in memory."""

from __future__ import annotations

import os
import resource
import sys
from dataclasses import dataclass
from pathlib import Path

import torch

from app.house import House


@dataclass(frozen=True)
class Stored:
    """All pages at one DPI: cache rows, files of the caches, their PNGs."""

    dpi: int
    pages: int
    rows: int
    cache_bytes: int
    png_bytes: int

    @property
    def bytes_a_page(self) -> float:
        return self.cache_bytes / self.pages

    @property
    def bytes_a_row(self) -> float:
        return self.cache_bytes / self.rows


def stored(house: House) -> list[Stored]:
    """A row a DPI of the store."""
    keys = list(house.store.keys())
    found = []
    for dpi in house.workshop.dpis:
        here = [key for key in keys if key.endswith(f"@{dpi}")]
        found.append(
            Stored(
                dpi,
                len(here),
                sum(house.store.get(key).canonical.length for key in here),
                sum(house.store.path(key).stat().st_size for key in here),
                sum(house.workshop.images.path(key).stat().st_size for key in here),
            )
        )
    return found


def patch_bytes(house: House) -> int:
    """Bytes of all patches in the store."""
    return sum(path.stat().st_size for path in (house.store.folder / "patches").rglob("*.safetensors"))


def peak() -> int:
    """The most memory that the process has held so far, bytes."""
    # Linux counts kilobytes, macOS bytes.
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def device_peak(device: torch.device) -> int | None:
    """The same of a GPU's own memory; None without one."""
    return int(torch.cuda.max_memory_allocated(device)) if device.type == "cuda" else None


def resident() -> int | None:
    """What the process holds now, bytes; None where the system does not say."""
    statm = Path("/proc/self/statm")
    return int(statm.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") if statm.exists() else None
