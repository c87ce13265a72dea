"""Text of the records world in; a byte-level BPE tokenizer with GLM's marks out, and text as ids with the characters they cover."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from random import Random

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

from eval import records


class Mark(IntEnum):
    """The special tokens' ids; they come first, in this order, and leave room up to 16."""

    PAD = 0
    EOS = 1
    GMASK = 2
    SOP = 3
    USER = 4
    ASSISTANT = 5
    BEGIN_IMAGE = 6
    IMAGE = 7
    END_IMAGE = 8
    END_VIDEO = 13
    BEGIN_VIDEO = 14
    VIDEO = 15


NAMES = {
    Mark.PAD: "<pad>",
    Mark.EOS: "<eos>",
    Mark.GMASK: "[gMASK]",
    Mark.SOP: "<sop>",
    Mark.USER: "<|user|>",
    Mark.ASSISTANT: "<|assistant|>",
    Mark.BEGIN_IMAGE: "<|begin_of_image|>",
    Mark.IMAGE: "<|image|>",
    Mark.END_IMAGE: "<|end_of_image|>",
}
FIRST_WORD = 16


@dataclass(frozen=True)
class Encoded:
    """Ids, and for each the half-open range of characters it covers."""

    ids: list[int]
    spans: list[tuple[int, int]]


class Vocabulary:
    """The tokenizer as training uses it: no special token is ever added or shown."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.tokenizer = tokenizer
        self.newline = self.encode("\n").ids[0]
        # What stands before the pages in every prompt; four tokens, as Glyph's.
        self.prefix: list[int] = [Mark.GMASK, Mark.SOP, Mark.USER, self.newline]

    @classmethod
    def load(cls, path: Path) -> Vocabulary:
        return cls(Tokenizer.from_file(str(path)))

    def save(self, path: Path) -> None:
        self.tokenizer.save(str(path))

    def __len__(self) -> int:
        return int(self.tokenizer.get_vocab_size())

    def encode(self, text: str) -> Encoded:
        found = self.tokenizer.encode(text, add_special_tokens=False)
        return Encoded(found.ids, found.offsets)

    def decode(self, ids: list[int]) -> str:
        return str(self.tokenizer.decode([i for i in ids if i >= FIRST_WORD]))


def train_vocabulary(size: int, contexts: int = 20_000, seed: int = 7) -> Vocabulary:
    """A vocabulary of `size` tokens (at least 272: the marks and all bytes), learnt from that many contexts of records.

    Digits stay single: a piece such as "2389" would have to be read off the page as one, and codes would then need pieces of their own.
    """
    tokenizer = Tokenizer(models.BPE())
    digits, bytes_ = pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([digits, bytes_])
    tokenizer.decoder = decoders.ByteLevel()
    marks = [*NAMES.values(), *(f"<unused{i}>" for i in range(FIRST_WORD - len(NAMES)))]
    trainer = trainers.BpeTrainer(
        vocab_size=size, special_tokens=marks, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False
    )
    tokenizer.train_from_iterator(_texts(contexts, seed), trainer)
    return Vocabulary(tokenizer)


def _texts(contexts: int, seed: int) -> Iterator[str]:
    rng = Random(seed)
    for _ in range(contexts):
        context = records.build(rng, 1, 10, width=44, hops=0.2)
        yield "\n".join(context.pages[0])
        for query in context.queries[:4]:
            yield query.question + "\n" + query.answer
