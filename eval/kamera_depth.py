"""A question over two pages goes in; what each depth of Delta is worth comes out, and how large and of what rank it is at each layer.

Kamera, section 4 ("Deep") and figure 3. Delta is taken whole here, so that depth alone is measured. Layer 0 of Delta is zero.
"""

from __future__ import annotations

from typing import Any

from cache_compiler import baselines
from cache_compiler.condition import deficit

from .divergence import ranks90, relative_norm
from .kamera import Lab
from .records import Sample


def depth(lab: Lab, sample: Sample, number: int) -> dict[str, Any]:
    """At each layer l: Delta on the layers from l, below l, on l alone; a re-prefill of the layers from l; sight of page A below l only."""
    backbone, leaves = lab.bench.backbone, lab.leaves(sample.pages)
    held, canonicals = lab.conditioned(leaves), [leaf.canonical for leaf in leaves]
    encoded = [leaf.encoded for leaf in leaves]
    full, blind = lab.linked(held), lab.linked(canonicals)
    judge = lab.judge(full, sample)
    ends = [{"arm": name, **lab.read(context, judge)[0]} for name, context in (("full", full), ("blind", blind))]
    readings = []
    for layer in range(backbone.layers + 1):
        ways = {
            "from": baselines.injected(backbone, blind, full, range(layer, backbone.layers)),
            "below": baselines.injected(backbone, blind, full, range(layer)),
            "re-prefill from": baselines.deep(backbone, blind, encoded, layer),
        }
        ways["sight below"] = baselines.sighted(backbone, blind, encoded, layer)
        if layer < backbone.layers:
            ways["alone"] = baselines.injected(backbone, blind, full, [layer])
        found = [*ends, *({"arm": name, **lab.read(context, judge)[0]} for name, context in ways.items())]
        readings += [{**reading, "setting": f"{layer}", "unit": layer} for reading in found]
    delta = deficit(held[-1], canonicals[-1])
    return {"readings": readings, "norm": relative_norm(delta, held[-1]), "e90": ranks90(delta), "rows": canonicals[-1].length}
