"""A question's token ids and an assembly go in; the answer's text streams out, piece by piece, with the reason why it ended.

It knows caches and token ids, no documents and no HTTP. The past is never copied: prefill and every decoded token are
appended to the assembly's own slab.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from cache_compiler.backbone import Backbone
from cache_compiler.errors import ContextTooLong
from cache_compiler.types import Assembly

from .types import Finish, Sampling
from .writer import Writer

# A run of this many tokens that repeats this often is a loop, not an answer.
_LOOP_LENGTHS = range(1, 17)
_LOOP_TIMES = 4
_LOOP_LEAST = 12


@dataclass(frozen=True)
class Piece:
    """Text to append (it may be empty while a character is incomplete). The last piece has a `finish`."""

    text: str
    finish: Finish | None = None


class Decode:
    """One answer on its way: iterate it for its pieces; then `finish`, `ids` and `seconds` are known."""

    def __init__(
        self,
        backbone: Backbone,
        assembly: Assembly,
        question_ids: Sequence[int],
        sampling: Sampling,
        cancel: threading.Event | None = None,
    ) -> None:
        self.backbone, self.assembly, self.sampling = backbone, assembly, sampling
        self.cancel = cancel or threading.Event()
        self.question_ids = question_ids
        self.ids: list[int] = []
        self.finish: Finish = "stop"
        self.first_logits: Tensor | None = None  # [vocabulary]
        self.seconds = {"prefill": 0.0, "rest": 0.0}

    def __iter__(self) -> Iterator[Piece]:
        """Prefill the question behind the assembly's rows, then decode until one of: an end token, a stop string, the limit, a loop, a cancel.

        Raises:
            ContextTooLong: question and answer do not fit behind the pages.
        """
        begun = time.perf_counter()
        room = self.backbone.max_positions - self.assembly.next_position - len(self.question_ids)
        if room < 1:
            raise ContextTooLong(
                f"the pages end at position {self.assembly.next_position} and the question has {len(self.question_ids)} tokens, "
                f"of {self.backbone.max_positions} positions: ask a shorter question or take fewer pages"
            )
        generator = torch.Generator().manual_seed(self.sampling.seed) if self.sampling.seed is not None else None
        writer = Writer(self.backbone, self.sampling.stop)
        position = self.assembly.next_position
        ids: Sequence[int] = self.question_ids
        for step in range(min(self.sampling.max_tokens, room)):
            if self.cancel.is_set():
                yield from self._end("cancelled", writer)
                return
            logits = self._forward(ids, position)
            token = choose(logits, self.sampling, generator)
            position, ids = position + len(ids), [token]
            now = time.perf_counter()
            if step == 0:
                self.first_logits, self.seconds["prefill"] = logits, now - begun
            self.seconds["rest"] = now - begun - self.seconds["prefill"]
            if token in self.backbone.stop_ids:
                yield from self._end("stop", writer)
                return
            self.ids.append(token)
            text, stopped = writer.take(token)
            if stopped:
                self.finish = "stop"
                yield Piece(text, "stop")
                return
            if loops(self.ids):
                yield Piece(text)
                yield from self._end("repetition", writer)
                return
            yield Piece(text)
        yield from self._end("length", writer)

    def _forward(self, ids: Sequence[int], position: int) -> Tensor:
        positions = torch.arange(position, position + len(ids)).expand(self.backbone.axes, 1, -1)
        return self.backbone.forward(torch.tensor([list(ids)]), positions, self.assembly.cache)[0, -1].float()

    def _end(self, finish: Finish, writer: Writer) -> Iterator[Piece]:
        self.finish = finish
        yield Piece(writer.rest(), finish)


def choose(logits: Tensor, sampling: Sampling, generator: torch.Generator | None) -> int:
    """The next token from logits [vocabulary]: the largest at temperature 0, else drawn from the smallest set holding `top_p` of the mass."""
    if sampling.temperature <= 0:
        return int(logits.argmax())
    logits = logits.double().cpu()
    # The largest is made 0 first: divided by a temperature near 0 it would be infinite, and its share no number.
    shares = torch.softmax((logits - logits.max()) / sampling.temperature, dim=-1)
    ordered, index = shares.sort(descending=True)
    before = ordered.cumsum(0) - ordered
    ordered = torch.where(before < sampling.top_p, ordered, 0.0)
    return int(index[torch.multinomial(ordered, 1, generator=generator)])


def loops(ids: Sequence[int]) -> bool:
    """Whether the answer ends in one run of tokens, over and over."""
    for length in _LOOP_LENGTHS:
        times = max(_LOOP_TIMES, -(-_LOOP_LEAST // length))
        if len(ids) < length * times:
            continue
        run = ids[-length:]
        if all(ids[-length * (n + 1) : len(ids) - length * n] == run for n in range(1, times)):
            return True
    return False
