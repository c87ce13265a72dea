"""A linked context and token ids go in; the model's logits behind it come out, and the context is left as it was.

For judging contexts against each other: the same ids behind two of them, or a greedy answer behind each. What a person reads is
decoded by `app.engine`.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from .backbone import Backbone
from .types import Assembly


@torch.inference_mode()
def probe(backbone: Backbone, context: Assembly, ids: Sequence[int], keep: int = 1) -> Tensor:
    """Logits [keep, vocabulary], fp32 on the CPU, of the last `keep` of `ids` prefilled behind the context."""
    try:
        return _forward(backbone, context, ids, 0, keep)
    finally:
        context.cache.truncate(context.length)


@torch.inference_mode()
def greedy(backbone: Backbone, context: Assembly, question: Sequence[int], max_tokens: int = 24) -> tuple[list[int], Tensor]:
    """(answer ids without the end token, first logits [vocabulary]) by always taking the likeliest token."""
    try:
        logits = _forward(backbone, context, question, 0, 1)[0]
        first = logits
        answer: list[int] = []
        while len(answer) < max_tokens and (token := int(logits.argmax())) not in backbone.stop_ids:
            answer.append(token)
            logits = _forward(backbone, context, [token], len(question) + len(answer) - 1, 1)[0]
        return answer, first
    finally:
        context.cache.truncate(context.length)


def _forward(backbone: Backbone, context: Assembly, ids: Sequence[int], offset: int, keep: int) -> Tensor:
    start = context.next_position + offset
    positions = torch.arange(start, start + len(ids)).expand(backbone.axes, 1, -1)
    return backbone.forward(torch.tensor([list(ids)]), positions, context.cache, keep=keep)[0].float().cpu()
