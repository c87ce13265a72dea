"""A filled prompt and a tokenizer go in; the prompt cut in the middle comes out, as LongBench cuts it (THUDM/LongBench, pred.py)."""

from __future__ import annotations

from typing import Any

from .errors import ContextCut
from .records import Record
from .tasks import PROMPTS


def middle(prompt: str, tokenizer: Any, max_length: int) -> str:
    """The first and the last half of `max_length` tokens, decoded apart and joined with nothing between; unchanged where it is no longer.

    The chat template is not in it yet, and tokenising the result again may give a token more or less at the seam: so it is with theirs.
    """
    ids = tokenizer(prompt, truncation=False)["input_ids"]
    half = max_length // 2
    if len(ids) <= max_length:
        return prompt
    # ids[-0:] would be all of them.
    tail = ids[len(ids) - half :]
    head: str = tokenizer.decode(ids[:half], skip_special_tokens=True)
    return head + str(tokenizer.decode(tail, skip_special_tokens=True))


def filled(record: Record) -> str:
    """The official text prompt of a record. `str.format` reads braces of the template alone: those in a context stay."""
    return PROMPTS[record.task].format(context=record.context, input=record.input)


def context_left(record: Record, tokenizer: Any, max_length: int) -> str:
    """What truncation leaves of the context, so that pages are drawn of the very words that a text arm reads.

    Raises ContextCut where the cut reached the words around the context, which `max_length` must hold besides.
    """
    prompt = filled(record)
    cut = middle(prompt, tokenizer, max_length)
    if cut == prompt:
        return record.context
    before, _, behind = PROMPTS[record.task].partition("{context}")
    behind = behind.format(input=record.input)
    if len(cut) < len(before) + len(behind) or not (cut.startswith(before) and cut.endswith(behind)):
        raise ContextCut(
            f"{record.task} {record.id}: a prompt of {max_length} tokens (max_length) leaves no room for the context between "
            "instruction and question; allow more"
        )
    return cut[len(before) : len(cut) - len(behind)]
