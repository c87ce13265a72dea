"""Pages, the ids behind them and an arm's first logits go in; KL(full || arm) at the first answer token comes out, in nats.

The judge is full prefill of the same pages: of images at the arm's own DPIs, of text in the same chunks. So the figure is what reuse loses, and
not what a resolution or a medium does.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field

from torch import Tensor

from cache_compiler.probe import probe
from eval.arms import Bench, Page
from eval.divergence import kl

_KEPT = 8


@dataclass
class Judge:
    """Keeps what it said lately: arms over the same pages follow each other on a record, and the slow way is gone once."""

    bench: Bench
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _said: OrderedDict[tuple[tuple[str, ...], tuple[int, ...]], Tensor] = field(default_factory=OrderedDict)

    def kl(self, pages: Sequence[Page], ids: Sequence[int], logits: Tensor) -> float:
        """`logits` [vocabulary] are the arm's, before any penalty."""
        key = (tuple(page.key for page in pages), tuple(ids))
        with self._lock:
            if key not in self._said:
                full = self.bench.prefilled(pages, len(ids))
                self._said[key] = probe(self.bench.backbone, full, ids)[0]
                if len(self._said) > _KEPT:
                    self._said.popitem(last=False)
            said = self._said[key]
        return kl(said[None], logits.float().cpu()[None])[0]
