"""A backbone goes in; nothing comes out, or `TapMismatch`: what the hook reads must be the key before the model's own rotation."""

from __future__ import annotations

import torch

from .backbone import Backbone
from .errors import TapMismatch


def verify(backbone: Backbone) -> None:
    """Run four tokens at positions 3..6; the captured keys, rotated, must equal what the model put into its cache, bit for bit.

    Position 0 would prove nothing: its rotation is the identity.

    Raises:
        TapMismatch: names the first layer that differs, and by how much.
    """
    ids = torch.tensor([backbone.question_ids("x")[-1:] * 4])
    positions = torch.arange(3, 7).expand(backbone.axes, 1, 4)
    cache = backbone.empty_cache(4)
    try:
        with backbone.capture() as taken:
            backbone.forward(ids, positions, cache)
        # The model rotates with a table in its own dtype; the check does as it does.
        table = backbone.table(positions, backbone.dtype)
        for index, keys in enumerate(taken):
            rotated = backbone.rotate(keys, table)
            native = cache.layers[index].rotary
            if not torch.equal(rotated, native):
                alike = rotated.shape == native.shape
                off = f"largest difference {float((rotated - native).abs().max()):.2e}" if alike else f"{rotated.shape}, not {native.shape}"
                raise TapMismatch(
                    f"{backbone.name}: layer {index}: the hook on {backbone.family.tap!r} does not read the key before rotation "
                    f"({off}); this model is refused"
                )
    except (RuntimeError, AttributeError, TypeError) as error:
        raise TapMismatch(
            f"{backbone.name}: the self-check of the hook on {backbone.family.tap!r} could not run ({error}); this model is refused"
        ) from error
