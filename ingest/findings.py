"""What a check of a home found: values, in a form for machines (`as_dict`); and which word stands for what.

catalogue   SQLite's own checks, or rows that do not fit together         identity    a store's folder that is not what its name says
image       a page's PNG is missing, damaged, or of the wrong size        cache       a cache is damaged, or not its page's
patch       damaged, another's, or not to be found by a deletion          basis       the same of what patches share
orphan      of a page that no document owns                               half        left half-written by a process that died
index       damaged, or with vectors of what is not there                 upload      a job without its upload, or the other way round
pending     a deletion whose files have not all gone                      trace       bytes of a document that should be gone
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

Kind = Literal["catalogue", "identity", "image", "cache", "patch", "basis", "orphan", "half", "index", "upload", "pending", "trace"]


@dataclass(frozen=True)
class Finding:
    """Something that is not as it should be: where (a file, relative to the home, or a key), what, and what puts it right."""

    kind: Kind
    where: str
    says: str
    cure: str


@dataclass(frozen=True)
class Findings:
    """All that a check found. `checked` counts what was looked at, by kind. `evicted`: caches that are not there and are compiled from their
    images when they are needed; `arriving`: page images that nobody owns yet: a file is being taken in, or was just now. Neither is a fault."""

    findings: tuple[Finding, ...]
    checked: Mapping[str, int] = field(default_factory=dict)
    evicted: int = 0
    arriving: int = 0

    @property
    def clean(self) -> bool:
        return not self.findings

    def as_dict(self) -> dict[str, Any]:
        return {"clean": self.clean, **asdict(self)}
