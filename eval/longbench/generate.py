"""An assembly and the ids behind its pages go in; the answer comes out, greedily, as the benchmark's own runner decodes.

Not the served `Decode`: that one ends an answer that runs in a loop, which is kind to a person and changes a score.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from cache_compiler.backbone import Backbone
from cache_compiler.errors import ContextTooLong
from cache_compiler.types import Assembly


@dataclass(frozen=True)
class Said:
    """`first`: seconds from the call to the first token's choice, and the model's logits [vocabulary] there, before any penalty."""

    text: str
    ids: tuple[int, ...]
    first: float
    logits: Tensor


def generate(backbone: Backbone, assembly: Assembly, ids: Sequence[int], limit: int, penalty: float = 1.0) -> Said:
    """Prefill `ids` behind the assembly's rows, then take the likeliest token until an end token, `limit` tokens, or the last position.

    `penalty` divides the positive logits, and multiplies the negative ones, of every token that the prompt's text or the answer holds
    (CTRL, arXiv 1909.05858, section 4.1; Glyph's evaluation asks for 1.1).
    Raises ContextTooLong where pages and question leave no position for an answer.
    """
    begun = time.perf_counter()
    room = backbone.max_positions - assembly.next_position - len(ids)
    if room < 1:
        raise ContextTooLong(
            f"the pages end at position {assembly.next_position} and the question has {len(ids)} tokens, of {backbone.max_positions} "
            "positions: take a lower DPI or a smaller max_length"
        )
    heard = {*backbone.template.prefix, *ids}
    position, said = assembly.next_position + len(ids), []
    opening = logits = _behind(backbone, assembly, assembly.next_position, ids)
    token = int(penalised(logits, heard, penalty).argmax())
    first = time.perf_counter() - begun
    while token not in backbone.stop_ids:
        said.append(token)
        heard.add(token)
        if len(said) == min(limit, room):
            break
        logits = _behind(backbone, assembly, position, [token])
        position += 1
        token = int(penalised(logits, heard, penalty).argmax())
    return Said(str(backbone.tokenizer.decode(said, skip_special_tokens=True)), tuple(said), first, opening)


def _behind(backbone: Backbone, assembly: Assembly, position: int, ids: Sequence[int]) -> Tensor:
    places = torch.arange(position, position + len(ids)).expand(backbone.axes, 1, -1)
    return backbone.forward(torch.tensor([list(ids)]), places, assembly.cache)[0, -1].float()


def penalised(logits: Tensor, heard: set[int], penalty: float) -> Tensor:
    """Logits [vocabulary] with those of `heard` made less likely; the same tensor where penalty is 1."""
    if penalty == 1.0:
        return logits
    places = torch.tensor(sorted(heard), device=logits.device)
    chosen = logits[places]
    return logits.index_copy(0, places, torch.where(chosen > 0, chosen / penalty, chosen * penalty))
